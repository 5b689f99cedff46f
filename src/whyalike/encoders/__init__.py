"""Encoders: the models, read and run in a way that can be explained."""
