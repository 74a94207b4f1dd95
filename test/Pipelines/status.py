#!/usr/bin/env python3
"""Runs a command and checks its exit status: status.py CODE COMMAND... (standard error goes through)."""
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
got = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
if got != wanted:
    sys.exit(f"{' '.join(command)} ended with {got}, not {wanted}")
