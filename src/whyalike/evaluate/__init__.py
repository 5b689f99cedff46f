"""Are models and explanations right? Measures and their significance."""
