"""``python -m whyalike``: the command line."""

from whyalike.cli import main

main()
