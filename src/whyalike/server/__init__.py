"""The web explorer and its JSON API."""
