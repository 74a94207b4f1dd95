#!/usr/bin/env python3
"""A label that is no class stops a run, naming the node, and so does a token that is none; ignored labels do not, unless all
of a micro-batch are: labels.py CASE SCRATCH CLASSES."""
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
    inputs = {name: np.load(os.path.join(folder, "inputs", name + ".npy")) for name in ("labels", "input_ids")}
    tokens = inputs["labels"].shape[1]
    wrong = []

    def check(what, name, change, status, *expected):
        changed = inputs[name].copy()
        change(changed)
        path = os.path.join(scratch, name + ".npy")
        np.save(path, changed)
        files = {key: os.path.join(folder, "inputs", key + ".npy") for key in inputs} | {name: path}
        result = subprocess.run([run.tool("rondo-run"), program, "--device=host:2", "--steps=1",
                                 *(f"--input={key}=@{value}" for key, value in files.items())],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != status or any(part not in result.stderr for part in expected):
            wrong.append(f"{what}: exit status {result.returncode}, {result.stderr.strip()}, not {expected}")

    def put(value):
        def change(array):
            array[3, 4] = value
        return change

    # Sample 3 is the second of micro-batch 1. Labels are shifted by one.
    place = f"at place {tokens + 3} of {2 * tokens}, lies outside [-{classes}, {classes})"
    node = "error: step 0, micro-batch 1: node 'node_cross_entropy_loss': index "
    check("too large", "labels", put(classes), 1, f"{node}{classes}, {place} (as a label it stands for any negative one too)")
    check("negative", "labels", put(-1), 1, f"{node}{classes}, {place} (as a label it stands for any negative one too)")
    check("huge", "labels", put(2**62), 1, f"{node}{2**62}, {place}")
    check("ignored", "labels", put(-100), 0)
    check("token", "input_ids", put(classes + 7), 1, "error: step 0, micro-batch 1: node 'node_embedding': index "
          f"{classes + 7}, at place {tokens + 4} of {2 * tokens}, lies outside [-{classes}, {classes}); look for ids or labels")

    def ignore(array):
        array[2:4] = -100
    check("all ignored", "labels", ignore, 1, "error: step 0, micro-batch 1: the loss is undefined, because none of its labels is valid: "
          "stopped before the update, with the initial parameters (", "compile with --loss-reduction=step")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
