#!/usr/bin/env python3
"""full.py COMMAND...: runs it with a standard output that is full; fails unless it ends with status 1."""
import subprocess
import sys

with open("/dev/full", "w") as full:
    status = subprocess.run(sys.argv[1:], stdout=full).returncode
if status != 1:
    sys.exit(f"full.py: status {status}, expected 1: {' '.join(sys.argv[1:])}")
