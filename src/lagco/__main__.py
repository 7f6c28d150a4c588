"""``python -m lagco``."""

from lagco.cli import main

main()
