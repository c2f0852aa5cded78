"""Speed, measured as ratios in one run; see README.md beside this file."""

import os

# Every model that is timed is trained.
os.environ.setdefault("CHANGEPROOF_MODELS", "off")
