#!/usr/bin/env python3
"""Inputs whose names hold what separates a name from its file: names.py FOLDER IMPORT-INPUTS."""
import os
import subprocess
import sys

import numpy as np

folder = sys.argv[1]
sys.path.insert(0, sys.argv[2])
from onnx_writer import *

os.makedirs(folder, exist_ok=True)
os.chdir(folder)
names = ["a", "a=@b", "a=@b=@c", "a=b", "=@d"]
# Each weighs another power of ten, so that the loss tells which file went where.
nodes, total = [], None
for i, name in enumerate(names):
    nodes.append(node("Mul", [name, f"k{i}"], [f"m{i}"]))
    nodes += [node("Add", [total, f"m{i}"], [f"s{i}"])] if total else []
    total = f"s{i}" if total else f"m{i}"
nodes += [node("MatMul", [total, "p.weight"], ["y"]), node("ReduceMean", ["y"], ["loss"], keepdims=0)]
constants = [tensor(f"k{i}", FLOAT, [], [10.0**i]) for i in range(len(names))] + [tensor("p.weight", FLOAT, [1, 1], [1.0])]
with open("m.onnx", "wb") as file:
    file.write(model(graph(nodes, constants, [value(name, FLOAT, [2, 1]) for name in names], [value("loss", FLOAT, [])])))
subprocess.run(["rondo-compile", "m.onnx", "-o", "m.rondo"], check=True)
for i in range(len(names)):
    np.save(f"{i}.npy", np.full((2, 1), i + 1, "f4"))
given = [f"--input={name}=@{i}.npy" for i, name in enumerate(names)]
subprocess.run(["rondo-run", "m.rondo", "--steps=1", "--losses=l.csv", *given], check=True)
with open("l.csv") as file:
    loss = float(file.read().split(",")[-1])
assert loss == 54321, loss


def fails(code, message, *flags):
    result = subprocess.run(["rondo-run", "m.rondo", "--steps=1", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result.returncode == code and message in result.stderr, (result, message)


fails(2, "--input=a=@b=@0.npy: names an input that has a file already", *given, "--input=a=@b=@0.npy")
fails(1, "the program has no input 'z'", *given, "--input=z=@b=@0.npy")
# Whichever it means: it is not lost.
fails(2, "--save=4.npy: is also the file of input", *given, "--save=4.npy")
print("every file went to its input")
