#!/usr/bin/env python3
"""Trains golden cases with updates on devices: no bit may differ from updates on the host.

    updates.py CASE SCRATCH [--devices=1,2,3] [--shapes=1x4,2x2] [--kinds=...]

Each kind of step is trained with updates on the host of one device, then on each number of devices with the state streamed in
one piece a block and in many: losses, saved weights and saved gradients must be equal byte for byte.
"""
import argparse
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from train import Run, digest  # noqa: E402

# Trajectory of train.py, flags.
KINDS = {
    "loss": ("loss", []),
    "late": ("late_", []),
    "token": ("token_", []),
    "clip": ("clip_", []),
    "late-clip": ("late_", ["--clip-grad-norm=0.5"]),
    "bf16": ("late_", ["--precision=bf16"]),
    "narrow": ("loss", ["--precision=bf16", "--grad-transfer=bf16"]),
    "groups": ("loss", ["--param-group=.*norm.*,weight-decay=0,lr=0.01"]),
    "frozen": ("late_", ["--freeze=.*layers[.]1[.].*"]),
    # A scale that overflows at first: steps are skipped.
    "fp16": ("loss", ["--precision=fp16", "--loss-scale=16777216"]),
    "fp16-late": ("late_", ["--precision=fp16", "--loss-scale=16777216"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case")
    parser.add_argument("scratch")
    parser.add_argument("--devices", default="1,2,3")
    parser.add_argument("--shapes", default="1x4,2x2")
    parser.add_argument("--kinds", default="loss,late,token,clip")
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    misses = 0
    for kind in options.kinds.split(","):
        trajectory, flags = KINDS[kind]
        run = Run(options.case, trajectory, options.scratch, "host", flags)
        steps, inputs = run.facts["steps"], []
        for name in run.facts["inputs"]:
            data = np.load(os.path.join(options.case, "inputs", name + ".npy"))
            path = os.path.join(options.scratch, name + ".npy")
            np.save(path, data)
            inputs.append(f"--input={name}=@{path}")
        losses, weights, gradients, log = (os.path.join(options.scratch, name)
                                           for name in ("l.csv", "w.safetensors", "g.safetensors", "log.jsonl"))
        epochs = 3 if kind.startswith("fp16") else 1
        for shape in options.shapes.split(","):
            rounds = int(shape.split("x")[0])

            def train(devices, *extra):
                program = run.compile(devices, rounds, list(extra))
                run.call("rondo-run", program, f"--device=host:{devices}", f"--epochs={epochs}", *inputs, f"--losses={losses}",
                         f"--save={weights}", f"--save-grads={gradients}", f"--log={log}")
                with open(log) as file:
                    rows = [json.loads(line) for line in file]
                assert len(rows) == steps * epochs
                pieces = run.call("rondo-dump", program).count(" DeviceUpdate ")
                return (digest(losses), digest(weights), digest(gradients)), pieces, sum(row.get("skipped", False) for row in rows)

            exact, none, skipped = train(1)
            if none or (skipped > 0) != kind.startswith("fp16"):
                print(f"MISS {kind} {shape}: {none} updates on devices, {skipped} steps skipped")
                misses += 1
            for devices in map(int, options.devices.split(",")):
                counts = []
                for memory in ("256MiB", "16KiB"):
                    found, pieces, _ = train(devices, "--optimizer-device=gpu", f"--optimizer-memory={memory}")
                    counts.append(pieces)
                    wrong = [what for what, a, b in zip(("losses", "weights", "gradients"), found, exact) if a != b]
                    misses += bool(wrong)
                    print(f"{'MISS' if wrong else 'ok'} {kind} {shape} on {devices}, {pieces} pieces, {skipped} skipped {' '.join(wrong)}",
                          flush=True)
                if not 0 < counts[0] < counts[1]:
                    print(f"MISS {kind} {shape}: {counts} pieces")
                    misses += 1
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
