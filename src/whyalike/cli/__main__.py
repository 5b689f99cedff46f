"""``python -m whyalike.cli``"""

from whyalike.cli import main

main()
