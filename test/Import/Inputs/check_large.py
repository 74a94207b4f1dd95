"""Imports a gzipped full-size graph and checks what that takes.

    check_large.py MODEL.onnx.gz OUTPUT RONDO-COMPILE MAX_MIB
"""
import gzip
import resource
import shutil
import subprocess
import sys


def main():
    archive, output, compiler, limit = sys.argv[1:5]
    with gzip.open(archive) as source, open(output + ".onnx", "wb") as target:
        shutil.copyfileobj(source, target)
    run = subprocess.run([compiler, output + ".onnx", "--compile-to=import", "-o", output])
    mebibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if run.returncode or mebibytes > int(limit):
        print(f"exit code {run.returncode}, {mebibytes:.0f} MiB; at most {limit} are allowed")
        return 1
    # Tables are long; FileCheck sees the beginning of each line.
    with open(output) as full:
        for line in full:
            print(line.rstrip("\n")[:400])
    return 0


sys.exit(main())
