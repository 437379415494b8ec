"""`python -m engram` is `engram`."""

import sys

from engram.cli.main import main

sys.exit(main())
