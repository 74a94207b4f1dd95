#!/usr/bin/env python3
"""Compiles a model twice, and once through the printed IR of every phase: all programs must be equal, byte for byte.

    continue.py COMPILER MODEL SCRATCH [FLAG...]
"""
import filecmp
import os
import subprocess
import sys

PHASES = ["import", "raise", "layers", "grad", "kernels", "stages", "slots", "transfers", "fences", "memory"]


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr}")


def main():
    compiler, model, scratch, *flags = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    first = os.path.join(scratch, "first.rondo")
    run(compiler, model, "-o", first, *flags)
    ways = [("again", lambda out: run(compiler, model, "-o", out, *flags))]
    for phase in PHASES:
        def through(out, phase=phase):
            ir = os.path.join(scratch, phase + ".mlir")
            run(compiler, model, f"--compile-to={phase}", "-o", ir, *flags)
            # No flag: what was asked for is in the IR.
            run(compiler, f"--from={phase}", ir, "-o", out)
        ways.append((phase, through))

    def step_by_step(out):
        def ir(phase):
            return os.path.join(scratch, f"step-{phase}.mlir")
        run(compiler, model, f"--compile-to={PHASES[0]}", "-o", ir(PHASES[0]), *flags)
        for before, after in zip(PHASES, PHASES[1:]):
            run(compiler, f"--from={before}", ir(before), f"--compile-to={after}", "-o", ir(after))
        run(compiler, f"--from={PHASES[-1]}", ir(PHASES[-1]), "-o", out)
    ways.append(("step by step", step_by_step))
    different = [name for name, way in ways if way(os.path.join(scratch, "other.rondo")) or
                 not filecmp.cmp(first, os.path.join(scratch, "other.rondo"), shallow=False)]
    if different:
        sys.exit("other bytes: " + ", ".join(different))


if __name__ == "__main__":
    main()
