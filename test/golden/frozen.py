#!/usr/bin/env python3
"""Trains a golden language model with its lower layers frozen: step 0's gradients of what trains must be PyTorch's, and
frozen weights must not change.

    frozen.py CASE SCRATCH
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
from train import Run, digest  # noqa: E402

# What is frozen, by source name.
FROZEN = [".*embed.*", r".*(embed_tokens|layers\.0\.).*", r".*(embed_tokens|layers\.).*"]


def main():
    folder, scratch = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    run, case = Run(folder, "loss", scratch, "host"), check.Case(folder)
    weights, gradients = (os.path.join(scratch, name) for name in ("w.safetensors", "g.safetensors"))
    wrong = []
    for pattern in FROZEN:
        bits = set()
        for devices, rounds in ((1, 1), (3, 1), (3, 2)):
            name = f"{pattern} on {devices}, {rounds} rounds"
            program = run.compile(devices, rounds, [f"--freeze={pattern}"])
            run.train(program, devices, 1, [f"--save-grads={gradients}", f"--save={weights}"])
            found = check.read_safetensors(gradients)
            total = np.sqrt(sum((case.expected["grad/" + n].astype(np.float64) ** 2).sum() for n in case.trainable))
            trained = 0
            for parameter in case.trainable:
                exact = case.expected["grad/" + parameter].astype(np.float64)
                got = case.lookup(found, parameter, "onnx", exact.shape)
                if not got:
                    continue
                trained += 1
                if np.sqrt(((got[0] - exact) ** 2).sum()) > check.GRADIENT_TOLERANCE * np.sqrt((exact ** 2).sum()) + check.GRADIENT_FLOOR * total:
                    wrong.append(f"{name}: gradient of {parameter}")
            if not 0 < trained < len(case.trainable):
                wrong.append(f"{name}: {trained} of {len(case.trainable)} parameters have gradients")
            if rounds == 1:
                bits.add((digest(gradients), digest(weights)))
        if len(bits) != 1:
            wrong.append(f"{pattern}: other bits on three devices than on one")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
