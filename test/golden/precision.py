#!/usr/bin/env python3
"""Compares a golden case in low precision with itself in fp32, and with itself on other machines.

    precision.py CASE PRECISION SCRATCH [--device=host] [--devices=1,2,3,4] [--rounds=1] [--also=FLAG]

Gradients of step 0: the difference of all is at most 3 % of the fp32 gradient's 2-norm, their cosine at least 0.999, and the
difference of each parameter that holds more than 1 % of that norm at most 5 % of its own. Losses of all steps follow PyTorch's within 1 %.
Losses, weights and arithmetic are the same to the bit on any number of devices, under a memory limit that
forces many stages, and however backward recomputes; fp32 has another arithmetic.

PRECISION is bf16, fp16, or fp32; the last must give the same bits as no flag at all, unless FLAG (of rondo-compile) changes them.

Exit status 0 if all holds; otherwise every miss has a line.
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
from train import Run, digest, smallest_memory  # noqa: E402

WHOLE, COSINE, SHARE, EACH, LOSS = 0.03, 0.999, 0.01, 0.05, 0.01


def gradients(run, rounds, extra):
    file = os.path.join(run.folder, "gradients.safetensors")
    run.train(run.compile(1, rounds, extra), 1, 1, [f"--save-grads={file}"])
    return check.read_safetensors(file)


def norm(arrays):
    return np.sqrt(sum((a.astype(np.float64) ** 2).sum() for a in arrays))


def compare_gradients(full, low):
    """Lines of what misses; prints what was measured."""
    names = sorted(full)
    if names != sorted(low):
        return ["gradients of other parameters"]
    total = norm(full.values())
    whole = norm([low[n] - full[n] for n in names]) / total
    cosine = sum((full[n] * low[n]).sum() for n in names) / (total * norm(low.values()))
    worst = ("", 0.0)
    misses = []
    for n in names:
        own = norm([full[n]])
        error = norm([low[n] - full[n]]) / own if own > SHARE * total else 0
        if not error <= EACH:
            misses.append(f"gradient of {n}: {error:.4f}")
        worst = max(worst, (n, error), key=lambda pair: pair[1])
    print(f"gradients: {whole:.5f} of the norm, cosine {cosine:.7f}, worst {worst[0]} {worst[1]:.5f}", flush=True)
    if not whole <= WHOLE:
        misses.append(f"gradients: {whole:.4f} of the norm")
    if not cosine >= COSINE:
        misses.append(f"gradients: cosine {cosine:.6f}")
    return misses


def train(run, devices, rounds, extra):
    """Trains all steps; losses, and what must not depend on the way."""
    program = run.compile(devices, rounds, extra)
    losses, weights = (os.path.join(run.folder, name) for name in ("losses.csv", "weights.safetensors"))
    run.train(program, devices, run.facts["steps"], [f"--losses={losses}", f"--save={weights}"])
    return check.read_losses(losses), (digest(losses), digest(weights), run.call("rondo-dump", "--arithmetic", program).strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case")
    parser.add_argument("precision", choices=["fp32", "bf16", "fp16"])
    parser.add_argument("scratch")
    parser.add_argument("--device", default="host")
    parser.add_argument("--devices", default="1,2,3,4")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--also")
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    flag = [f"--precision={options.precision}"] + ([options.also] if options.also else [])
    rounds = options.rounds
    misses = []
    for trajectory in ("loss", "late_"):
        run = Run(options.case, trajectory, options.scratch, options.device)
        exact = check.Case(options.case).expected[trajectory.replace("loss", "") + "loss"]
        if trajectory == "loss":
            misses += compare_gradients(gradients(run, rounds, []), gradients(run, rounds, flag))
        plain, first = train(run, 1, rounds, []), train(run, 1, rounds, flag)
        error = max(abs(a - b) / abs(b) for a, b in zip(first[0], exact))
        print(f"{trajectory}: losses {first[0]}, at most {error:.6f} off", flush=True)
        if not error <= LOSS:
            misses.append(f"{trajectory}: losses are off by {error:.4f}")
        if (plain[1] == first[1]) != (options.precision == "fp32" and not options.also):
            misses.append(f"{trajectory}: the same bits as fp32 where others are due, or others where the same are")
        devices = [int(d) for d in options.devices.split(",")]
        ways = [(d, []) for d in devices[1:]]
        ways += [(d, ["--recompute=full", f"--device-memory={smallest_memory(run, d, rounds, flag)}"]) for d in (devices[-1], devices[0])]
        ways += [(devices[0], [f"--recompute={how}"]) for how in ("elementwise", "none")]
        for count, extra in ways:
            if train(run, count, rounds, flag + extra)[1] != first[1]:
                misses.append(f"{trajectory} on {count} {' '.join(extra)}: other bits than on one device")
    print("\n".join("MISS " + miss for miss in misses))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
