"""Training of encoders that can be explained: `similarity`, `nouns`, `catalog`, `student`."""
