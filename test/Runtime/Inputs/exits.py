#!/usr/bin/env python3
"""exits.py CODE COMMAND...: runs the command; fails unless it ends with exactly that status."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit(f"exits.py: status {status}, expected {sys.argv[1]}: {' '.join(sys.argv[2:])}")
