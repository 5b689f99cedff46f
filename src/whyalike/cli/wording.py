"""Errors in the words of the command line: what the API calls ``truncate=True`` is ``--truncate`` here."""

from __future__ import annotations

from whyalike.errors import reword

OPTIONS = (  # what the API's messages say, and the option it is
    (r"\btruncate=True", "--truncate"),
    (r"\baligned=True", "--aligned"),
    (r"\bunit='(\w+)'", r"--by \1"),
    (r"\blayer=(\d+)", r"--layer \1"),
    (r"\bpooling='(\w+)'", r"--pooling \1"),
    (r"\b(biases|reference|reference_positions|normalize|tolerance|steps|top_k)=('?)([\w.]+)\2", r"--set \1=\3"),
    (r"\bcolumns=\('question', 'answer'\)", "--column left=question"),
    (
        r"which runs only if you pass trust_remote_code\b",
        "which no command runs; load_encoder does, in Python, with trust_remote_code",
    ),
    (r"\bpass similarity='cosine' or similarity='dot'", "use load_encoder(similarity='cosine') or 'dot' in Python"),
    (r"\bcolumns=\{'(\w+)': '([^']+)'\}", r"--column \1=\2"),
)


def in_command_line_words(message: str) -> str:
    """A message with options in place of keyword arguments."""
    return reword(message, OPTIONS)
