#!/usr/bin/env python3
"""A label that is no class stops a run, naming the node; the ignored label does not: labels.py CASE SCRATCH CLASSES."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from train import Run  # noqa: E402


def main():
    folder, scratch, classes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.makedirs(scratch, exist_ok=True)
    run = Run(folder, "loss", scratch, "host")
    program = run.compile(2, 1, [])
    labels = np.load(os.path.join(folder, "inputs", "labels.npy"))
    path = os.path.join(scratch, "labels.npy")
    wrong = []
    for label in (classes, -1, 2**62, -100):
        changed = labels.copy()
        changed[3, 4] = label
        np.save(path, changed)
        result = subprocess.run([run.tool("rondo-run"), program, "--device=host:2", "--steps=1",
                                 f"--input=labels=@{path}", f"--input=input_ids=@{folder}/inputs/input_ids.npy"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        named = "'node_cross_entropy_loss': an index is out of range" in result.stderr
        if (result.returncode, named) != ((0, False) if label == -100 else (1, True)):
            wrong.append(f"label {label}: exit status {result.returncode}, {result.stderr.strip()}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
