"""Errors in the words of the page: what the API calls ``truncate=True`` is a tick box there."""

from __future__ import annotations

from whyalike.errors import reword

CONTROLS = (  # what the API's messages say, and the control it is
    (r"[Pp]ass truncate=True", "tick “cut long texts”"),
    (r"\btruncate=True", "“cut long texts”"),
    (r"[Ll]eave out aligned=True", "untick “align words”"),
    (r"\baligned=True", "“align words”"),
    (r"[Uu]se unit='(\w+)'", r"choose \1 under Units"),
    (r"\bunit='(\w+)'", r"Units: \1"),
    (r"\blayer=(\d+)", r"Layer \1"),
)


def in_page_words(message: str) -> str:
    """A message with the page's controls in place of keyword arguments."""
    return reword(message, CONTROLS)
