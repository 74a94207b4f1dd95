#!/usr/bin/env python3
"""Prints how long rondo-compile takes and how much memory it needs on the full-size graphs, beside what it must keep.

Use: python3 benchmark/compile.py [BUILD_DIRECTORY]     (default: build)

Each line is one run of the program: wall time and peak resident memory of the process and its children.
"""
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# graph, arguments, seconds, gigabytes (None: no bound on this figure)
RUNS = [
    ("qwen3_1_7b_s74752_opset23", ["--compile-to=raise"], None, 1.0),
    ("qwen3_32b_s4096_opset23", ["--compile-to=grad"], 30.0, 1.5),
    ("qwen3_1_7b_s4096_opset23",
     ["--target=host", "--devices=8", "--device-memory=24GiB", "--micro-batches=8"], 60.0, None),
]


def run(command):
    """Wall seconds, peak bytes of this child alone, and its exit status."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return time.monotonic() - start, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")
    compiler = os.path.join(build, "bin", "rondo-compile")
    missed = 0
    print(f"{'graph':28} {'arguments':70} {'seconds':>8} {'bound':>6} {'peak GB':>8} {'bound':>6}")
    with tempfile.TemporaryDirectory() as scratch:
        for graph, arguments, seconds, gigabytes in RUNS:
            model = os.path.join(scratch, graph + ".onnx")
            with gzip.open(os.path.join(ROOT, "test", "graphs", graph + ".onnx.gz")) as source, open(model, "wb") as target:
                target.write(source.read())
            wall, peak, status = run([compiler, model, "-o", os.path.join(scratch, "out"), *arguments])
            bad = bool(status != 0 or (seconds and wall > seconds) or (gigabytes and peak > gigabytes * 1e9))
            missed += bad
            print(f"{graph:28} {' '.join(arguments):70} {wall:8.2f} {seconds or '-':>6} {peak / 1e9:8.3f} {gigabytes or '-':>6}"
                  + (f"  exit status {status}" if status else "") + ("  MISSED" if bad else ""), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
