#!/usr/bin/env python3
"""Trains the small GPT on real text and compares its losses with PyTorch's (losses.csv).

    train.py SCRATCH [--steps=200] [--device=host] [--target=host] [--precision=fp32] [--csv=FILE]

In fp32 the first 50 losses must be within 1e-3 of PyTorch's, and in any precision the mean of the last 20 of 200 steps within 1 % of
fp32 PyTorch's. Exit status 0 if they are, 3 where this machine has another text. rondo-compile and rondo-run are found on PATH or in the
folder that RONDO_BIN names.
"""
import argparse
import csv
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import text as case


def call(name, *arguments):
    subprocess.run([os.path.join(os.environ.get("RONDO_BIN", ""), name), *arguments], check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path) as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scratch")
    parser.add_argument("--steps", type=int, default=case.STEPS)
    parser.add_argument("--device", default="host")
    parser.add_argument("--target", default="host")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--program", help="compiled already")
    parser.add_argument("--csv", help="write the losses there")
    options = parser.parse_args()
    text = case.read()
    if text is None:
        print(f"{case.FOLDER} does not hold the text that PyTorch was trained on")
        return 3
    os.makedirs(options.scratch, exist_ok=True)
    path = lambda name: os.path.join(options.scratch, name)
    program = options.program or path("gpt.rondo")
    if not options.program:
        o = case.OPTIMIZER
        call("rondo-compile", os.path.join(HERE, "model.onnx"), "-o", program, f"--target={options.target}", f"--precision={options.precision}",
             "--devices=1", f"--micro-batches={case.MICRO_BATCHES}", "--recompute=none",
             f"--optimizer=adamw,lr={o['lr']},beta1={o['betas'][0]},beta2={o['betas'][1]},eps={o['eps']},weight-decay={o['weight_decay']}")
    case.save(path("weights.safetensors"), case.weights())
    for name, array in zip(("input_ids", "labels"), case.samples(text, options.steps)):
        np.save(path(name + ".npy"), array)
    losses = options.csv or path("losses.csv")
    call("rondo-run", program, f"--device={options.device}:1", f"--steps={options.steps}", f"--weights={path('weights.safetensors')}",
         f"--losses={losses}", *(f"--input={name}=@{path(name)}.npy" for name in ("input_ids", "labels")))
    ours = np.array([row["loss"] for row in read(losses)])
    theirs = np.array([row["fp32"] for row in read(os.path.join(HERE, "losses.csv"))])[: options.steps]
    missed = 0
    if len(ours) != options.steps or not np.isfinite(ours).all():
        print(f"MISS {len(ours)} losses, {int((~np.isfinite(ours)).sum())} of them not finite")
        return 1
    difference = np.abs(ours - theirs)[:50].max()
    print(f"loss {ours[0]:.4f} to {ours[-1]:.4f}, PyTorch's {theirs[0]:.4f} to {theirs[-1]:.4f}; the first {min(50, options.steps)} differ by at most {difference:.2e}")
    if options.precision == "fp32" and difference > 1e-3:
        print("MISS more than 1e-3")
        missed += 1
    if options.steps == case.STEPS:
        ratio = ours[-20:].mean() / theirs[-20:].mean()
        print(f"mean of the last 20: {ours[-20:].mean():.5f}, PyTorch's {theirs[-20:].mean():.5f}, ratio {ratio:.5f}")
        if abs(ratio - 1) > 0.01:
            print("MISS more than 1 %")
            missed += 1
    elif ours[-1] >= ours[0]:
        print("MISS the loss does not fall")
        missed += 1
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
