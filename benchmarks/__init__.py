"""Speed, measured as ratios in one run; see README.md beside this file."""
