#!/usr/bin/env python3
"""Trains models whose layers have one label: same_labels.py SCRATCH.

Four products whose weights lie in one module must train to the same bits as four in modules of their own. One product
that is applied three times must have the gradient that NumPy finds in float64.
"""
import itertools
import json
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Import", "Inputs"))
import onnx_writer as onnx  # noqa: E402

SIZE, ROWS, STEPS = 16, 4, 4


def write(path, names, weights):
    nodes, x = [], "x"
    for i, name in enumerate(names):
        nodes += [onnx.node("MatMul", [x, name], [f"h{i}"]), onnx.node("Tanh", [f"h{i}"], [f"t{i}"])]
        x = f"t{i}"
    nodes += [onnx.node("Mul", [x, x], ["q"]), onnx.node("ReduceMean", ["q"], ["loss"], keepdims=0)]
    tensors = [onnx.tensor(name, onnx.FLOAT, [SIZE, SIZE], weight.ravel().tolist()) for name, weight in weights.items()]
    graph = onnx.graph(nodes, tensors, [onnx.value("x", onnx.FLOAT, [ROWS, SIZE])], [onnx.value("loss", onnx.FLOAT, [])])
    with open(path, "wb") as file:
        file.write(onnx.model(graph))


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr}")


def read(path):
    """Tensors of a safetensors file, in order of their names."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return [np.frombuffer(data[8 + size:][slice(*header[name]["data_offsets"])], np.float32).reshape(header[name]["shape"])
            for name in sorted(header)]


def train(folder, name, devices, rounds, staleness, steps=STEPS):
    """Weights after `steps` steps, and the last one's gradients."""
    program = f"{folder}/{name}.{devices}.{rounds}.{staleness}.rondo"
    # So little that the layers are cut into several stages.
    run("rondo-compile", f"{folder}/{name}.onnx", "-o", program, f"--devices={devices}", f"--rounds={rounds}", "--micro-batches=2",
        f"--staleness={staleness}", "--clip-grad-norm=1", "--recompute=full", "--device-memory=11KiB")
    run("rondo-run", program, f"--device=host:{devices}", f"--steps={steps}", f"--input=x=@{folder}/x.npy",
        f"--save={folder}/w.safetensors", f"--save-grads={folder}/g.safetensors")
    return read(f"{folder}/w.safetensors"), read(f"{folder}/g.safetensors")


def gradient(weight, batches):
    """Of the mean over micro-batches, of the weight applied three times."""
    total = np.zeros_like(weight)
    for x in batches:
        values = [x]
        for _ in range(3):
            values.append(np.tanh(values[-1] @ weight))
        cotangent = 2 * values[-1] / values[-1].size
        for before, after in zip(reversed(values[:-1]), reversed(values[1:])):
            inner = cotangent * (1 - after * after)
            total += before.T @ inner
            cotangent = inner @ weight.T
    return total / len(batches)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(0)
    weights = [(random.standard_normal((SIZE, SIZE)) * 0.3).astype(np.float32) for _ in range(4)]
    x = random.standard_normal((STEPS * 6 * ROWS, SIZE)).astype(np.float32)
    np.save(f"{folder}/x.npy", x)
    for name, pattern in (("alike", "net.w{}"), ("apart", "l{}.w")):
        names = [pattern.format(i) for i in range(4)]
        write(f"{folder}/{name}.onnx", names, dict(zip(names, weights)))
    write(f"{folder}/shared.onnx", ["m.fc.weight"] * 3, {"m.fc.weight": weights[0]})
    for devices, rounds, staleness in itertools.product((1, 2, 3), (1, 2), (0, 1)):
        where = f"on {devices} devices, {rounds} rounds, staleness {staleness}"
        alike, apart = (train(folder, name, devices, rounds, staleness) for name in ("alike", "apart"))
        for a, b in zip(alike[0] + alike[1], apart[0] + apart[1], strict=True):
            if a.tobytes() != b.tobytes():
                sys.exit(f"{where}: other bits than with labels of their own")
        _, (found,) = train(folder, "shared", devices, rounds, staleness, steps=1)
        batches = x[:2 * rounds * ROWS].astype(np.float64).reshape(-1, ROWS, SIZE)
        wanted = gradient(weights[0].astype(np.float64), batches)
        if not np.allclose(found, wanted, rtol=1e-4, atol=1e-6 * np.abs(wanted).max()):
            sys.exit(f"{where}: gradient off by {np.abs(found - wanted).max()}")


if __name__ == "__main__":
    main()
