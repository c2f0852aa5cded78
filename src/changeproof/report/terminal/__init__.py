"""What the command line prints."""

from changeproof.report.terminal.status import print_inventory, print_names, print_timings
from changeproof.report.terminal.tables import print_table, print_tables

__all__ = ["print_inventory", "print_names", "print_table", "print_tables", "print_timings"]
