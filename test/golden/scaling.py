#!/usr/bin/env python3
"""Trains a golden case in fp16 with a loss scale that overflows, on one batch over and over.

    scaling.py CASE SCRATCH

With staleness s, the scale that step t's overflow leads to is used from step t + 1 + s on; until then overflows cut no further. A
skipped step leaves the state as it is: after all of them, losses and weights must be those of a run that begins with the
scale that fits. Bits must not depend on the number of devices. `--log` and `--report` must tell.

Exit status 0 if all holds; otherwise every miss has a line.
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
from train import Run, digest  # noqa: E402

HIGH, STEPS = 2.0**24, 12


def main():
    folder, scratch = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    losses, weights, log = (os.path.join(scratch, name) for name in ("l.csv", "w.safetensors", "log.jsonl"))
    misses = []
    for staleness, trajectory in enumerate(("loss", "late_")):
        run = Run(folder, trajectory, scratch, "host")
        inputs = []
        for name in run.facts["inputs"]:
            data = np.load(os.path.join(folder, "inputs", name + ".npy"))
            # One step's samples.
            np.save(os.path.join(scratch, name + ".npy"), data[: len(data) // run.facts["steps"]])
            inputs.append(f"--input={name}=@{os.path.join(scratch, name + '.npy')}")

        def train(devices, scale, steps):
            program = run.compile(devices, 1, ["--precision=fp16", f"--loss-scale={int(scale)}"])
            report = run.call("rondo-run", program, f"--device=host:{devices}", *inputs, f"--epochs={steps}", f"--losses={losses}",
                              f"--save={weights}", f"--log={log}", "--report=json")
            with open(log) as file:
                rows = [json.loads(line) for line in file]
            return rows, check.read_losses(losses), digest(weights), json.loads(report)["loss_scale"]

        rows, first, saved, report = train(1, HIGH, STEPS)
        skipped = sum(row["skipped"] for row in rows)
        print(f"staleness {staleness}: scales {[row['loss_scale'] for row in rows]}, {skipped} skipped", flush=True)
        # What each step must have used, from what overflowed.
        used, scale = [HIGH] * (1 + staleness), HIGH
        for row in rows:
            if row["loss_scale"] != used[row["step"]]:
                misses.append(f"staleness {staleness}: step {row['step']} uses {row['loss_scale']}, not {used[row['step']]}")
            if row["skipped"]:
                scale = min(scale, used[row["step"]] / 2)
            if row["skipped"] != (row["gradient_norm"] is None):
                misses.append(f"staleness {staleness}: step {row['step']} is skipped for a gradient norm of {row['gradient_norm']}")
            used.append(scale)
        if not 2 <= skipped < STEPS - 2 or any(row["skipped"] for row in rows[skipped:]):
            misses.append(f"staleness {staleness}: {skipped} of {STEPS} steps are skipped")
        if report != {"last": rows[-1]["loss_scale"], "skipped_steps": skipped}:
            misses.append(f"staleness {staleness}: the report says {report}")
        if len(set(first[: skipped + 1])) != 1:
            misses.append(f"staleness {staleness}: the loss changes while steps are skipped: {first}")
        _, fitting, other, report = train(1, scale, STEPS - skipped)
        if report["skipped_steps"] or fitting != first[skipped:] or other != saved:
            misses.append(f"staleness {staleness}: other losses or weights than with a scale of {scale} from the beginning")
        for devices in (2, 3):
            if train(devices, HIGH, STEPS)[1:3] != (first, saved):
                misses.append(f"staleness {staleness}: other bits on {devices} devices")
    print("\n".join("MISS " + miss for miss in misses))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
