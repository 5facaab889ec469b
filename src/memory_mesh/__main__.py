"""`python -m memory_mesh`: the command line."""

import sys

from memory_mesh.cli.main import main

sys.exit(main())
