"""``python -m lagco``."""

import sys

# Python puts the working directory first for -m. It holds the user's data: a file beside them must
# not take the place of a module (lagco.runtime.user_modules).
if not sys.flags.safe_path:
    del sys.path[0]

from lagco.cli import main

main()
