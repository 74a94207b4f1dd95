"""Compiles damaged copies of a model: cut off, or with bytes changed.

    damage.py MODEL FOLDER RONDO-COMPILE [COUNT [SEED]]

The exit code must be 0 (the damage hit a weight, say) or 1, with a message.
"""
import os
import random
import subprocess
import sys


def damage(content, choice):
    content = bytearray(content)
    kind = choice.randrange(4)
    if kind == 0:
        return content[: choice.randrange(len(content))]
    if kind == 1:
        start = choice.randrange(len(content))
        del content[start : start + choice.randrange(1, 64)]
        return content
    for _ in range(choice.randrange(1, 8)):
        # Half of the changes hit the first bytes: nodes and their attributes
        # come before the weights.
        limit = len(content) if kind == 2 else min(len(content), 40000)
        content[choice.randrange(limit)] = choice.choice([0, 1, 0x7F, 0x80, 0xFF, choice.randrange(256)])
    return content


def main():
    path, folder, compiler = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 60
    choice = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    with open(path, "rb") as file:
        content = file.read()
    os.makedirs(folder, exist_ok=True)
    refused = wrong = 0
    for i in range(count):
        name = os.path.join(folder, f"damaged{i}.onnx")
        with open(name, "wb") as file:
            file.write(damage(content, choice))
        run = subprocess.run(
            [compiler, name, "--compile-to=import", "-o", os.devnull], capture_output=True, text=True, errors="replace"
        )
        refused += run.returncode == 1
        if run.returncode in (0, 1) and (run.returncode == 0) != ("error: " in run.stderr) and "bug in Rondo" not in run.stderr:
            os.remove(name)
            continue
        wrong += 1
        print(f"{name}: exit code {run.returncode}\n{run.stderr[:2000]}")
    print(f"{count} damaged models, {refused} refused, {wrong} handled wrongly")
    # If none was refused, nothing was tested.
    return wrong != 0 or refused == 0


sys.exit(main())
