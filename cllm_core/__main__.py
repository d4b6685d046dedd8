"""`python -m cllm_core`."""

import sys

from cllm_core.cli import main

sys.exit(main())
