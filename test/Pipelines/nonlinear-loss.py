"""Losses that are not linear in a cross entropy train as NumPy says.

    nonlinear-loss.py FOLDER IMPORT-INPUTS

Compiles each, runs a step, and compares the loss and the gradients with central differences in float64.
"""
import json
import os
import struct
import subprocess
import sys

import numpy as np

folder = sys.argv[1]
sys.path.insert(0, sys.argv[2])
from onnx_writer import *

os.makedirs(folder, exist_ok=True)
random = np.random.default_rng(3)
x = random.standard_normal((6, 7)).astype("f4")
labels = random.integers(0, 5, 6)
weights = {name: random.standard_normal((7, 5)).astype("f4") for name in ("head.weight", "other.weight")}
inputs = {"x": x, "labels": labels}
for name, data in inputs.items():
    np.save(f"{folder}/{name}.npy", data)


def cross_entropy(weight):
    rows = x.astype("f8") @ weight
    rows -= rows.max(1, keepdims=True)
    return (np.log(np.exp(rows).sum(1)) - rows[np.arange(6), labels]).mean()


head = [node("MatMul", ["x", "head.weight"], ["h"]), node("SoftmaxCrossEntropyLoss", ["h", "labels"], ["c"])]
other = [node("MatMul", ["x", "other.weight"], ["g"]), node("SoftmaxCrossEntropyLoss", ["g", "labels"], ["d"])]
CASES = {
    "square": ([*head, node("Mul", ["c", "c"], ["loss"])], lambda c, d: c * c),
    "sum": ([*head, node("Mul", ["c", "c"], ["q"]), node("Add", ["q", "c"], ["loss"])], lambda c, d: c * c + c),
    "exponential": (
        [*head, node("Neg", ["c"], ["n"]), node("Exp", ["n"], ["p"]), node("Mul", ["p", "c"], ["loss"])],
        lambda c, d: np.exp(-c) * c,
    ),
    # Each cotangent depends on the other head's loss.
    "product": ([*head, *other, node("Mul", ["c", "d"], ["loss"])], lambda c, d: c * d),
}


def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], "f4").reshape(v["shape"]) for k, v in header.items()}


for name, (nodes, loss) in CASES.items():
    used = list(weights) if name == "product" else ["head.weight"]
    path = f"{folder}/{name}"
    content = model(
        graph(
            nodes,
            [tensor(w, FLOAT, [7, 5], weights[w].tolist()) for w in used],
            [value("x", FLOAT, [6, 7]), value("labels", INT64, [6])],
            [value("loss", FLOAT, [])],
        )
    )
    with open(path + ".onnx", "wb") as file:
        file.write(content)
    subprocess.run(["rondo-compile", path + ".onnx", "-o", path + ".rondo"], check=True)
    subprocess.run(
        ["rondo-run", path + ".rondo", "--steps=1", f"--losses={path}.csv", f"--save-grads={path}.safetensors"]
        + [f"--input={i}=@{folder}/{i}.npy" for i in inputs],
        check=True,
    )

    def evaluate(changed):
        values = [cross_entropy(changed.get(w, weights[w].astype("f8"))) for w in weights]
        return loss(*values)

    with open(path + ".csv") as file:
        actual = float(file.read().split(",")[-1])
    assert np.isclose(actual, evaluate({}), rtol=1e-5), (name, actual, evaluate({}))
    gradients = read(path + ".safetensors")
    for weight in used:
        expected = np.zeros((7, 5))
        for at in np.ndindex(7, 5):
            above, below = weights[weight].astype("f8"), weights[weight].astype("f8")
            above[at] += 1e-5
            below[at] -= 1e-5
            expected[at] = (evaluate({weight: above}) - evaluate({weight: below})) / 2e-5
        assert np.allclose(gradients[weight], expected, rtol=1e-4, atol=1e-5), (name, gradients[weight] - expected)
    print(f"{name}: as NumPy says")
