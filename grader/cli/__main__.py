"""``python -m grader.cli``: the same as the command ``grade``."""

import sys

from grader.cli import main

sys.exit(main())
