"""What encoders attend to, over a corpus."""
