"""What the processes of `command_line` start with: everything imported, and kernels loaded."""

from __future__ import annotations

import changeproof.cli
import changeproof.front_door
import changeproof.report.print.write
import changeproof.workflow  # noqa: F401
from changeproof.workers.warm_up import NETWORKS, compile_kernels

compile_kernels((NETWORKS, False))
