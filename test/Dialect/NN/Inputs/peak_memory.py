"""Runs a command on an unpacked model and checks its peak memory.

Usage: peak_memory.py MEGABYTES PROGRAM ARGUMENT...

An argument that ends in .gz stands for the unpacked file. Fails when the
program does, or when its peak resident memory exceeds MEGABYTES (of 10^6
bytes).
"""
import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile


def main():
    limit = int(sys.argv[1]) * 10**6
    with tempfile.TemporaryDirectory() as folder:
        command = []
        for argument in sys.argv[2:]:
            if argument.endswith(".gz"):
                plain = os.path.join(folder, os.path.basename(argument)[: -len(".gz")])
                with gzip.open(argument) as packed, open(plain, "wb") as file:
                    shutil.copyfileobj(packed, file)
                argument = plain
            command.append(argument)
        code = subprocess.run(command).returncode
    if code != 0:
        sys.exit(f"{command[0]} failed with exit code {code}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"peak memory: {peak / 10**6:.0f} MB of {limit / 10**6:.0f}")
    if peak > limit:
        sys.exit("too much memory")


if __name__ == "__main__":
    main()
