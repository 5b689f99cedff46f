"""What is made and read: frozen values in numpy, without torch."""
