#!/usr/bin/env python3
"""Trains a golden case many times, with random pauses before operations and without: no bit may change.

    delays.py CASE SCRATCH [--seeds=200] [--plain=50]

The program has two rounds on three devices under staleness 1, so that rounds, iterations and devices overlap.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from train import Run, digest  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case")
    parser.add_argument("scratch")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--plain", type=int, default=50)
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    run = Run(options.case, "late_", options.scratch, "host")
    program = run.compile(3, 2, [])
    losses, weights = (os.path.join(options.scratch, name) for name in ("losses.csv", "weights.safetensors"))

    def train(*extra):
        run.train(program, 3, run.facts["steps"], [f"--losses={losses}", f"--save={weights}", *extra])
        return digest(losses), digest(weights)

    first = train()
    run.check([f"--losses={losses}", f"--weights={weights}"])
    wrong = [f"plain run {i}" for i in range(options.plain) if train() != first]
    wrong += [f"seed {seed}" for seed in range(options.seeds) if train("--delay-us=100", f"--delay-seed={seed}") != first]
    print(f"{options.plain} plain runs, {options.seeds} seeds, {len(wrong)} with other bits")
    if wrong:
        sys.exit("other bits: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
