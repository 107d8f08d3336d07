"""``python -m boxpen`` is ``boxpen``."""

from boxpen.cli import main

main()
