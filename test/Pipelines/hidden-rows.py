"""Attention whose rows may be hidden as a whole trains as NumPy says.

    hidden-rows.py FOLDER IMPORT-INPUTS

Builds attention in the ways that exporters mask it, compiles each, runs a step, and compares the loss and the gradients
with those of the graph as it is written, in float64.
"""
import itertools
import json
import os
import struct
import subprocess
import sys

import numpy as np

folder = sys.argv[1]
sys.path.insert(0, sys.argv[2])
from onnx_writer import *

B, S, H, D = 2, 6, 2, 4
WIDTH = H * D
SCALE = 0.5
LOWEST = float(np.finfo("f4").min)
os.makedirs(folder, exist_ok=True)
random = np.random.default_rng(5)
weights = {f"{n}.weight": random.standard_normal((WIDTH, WIDTH)).astype("f4") * 0.5 for n in "qkvo"}
inputs = {
    "x": random.standard_normal((B, S, WIDTH)).astype("f4"),
    "t": random.standard_normal((B, S, WIDTH)).astype("f4"),
    "seen": np.array([[0, 0, 1, 1, 1, 1], [1] * 6]),  # padded on the left
}
for name, data in inputs.items():
    np.save(f"{folder}/{name}.npy", data)

lower = np.tril(np.ones((1, 1, S, S), bool))
MASKS = {
    "padding": lower & (inputs["seen"] != 0)[:, None, None, :],
    "strict": np.tril(lower, -1),
    "causal": lower,
}


def write(mask, form, fill, guard):
    """The graph's bytes."""
    nodes, constants = [], []

    def add(op, *operands, out=None, **attributes):
        out = out or f"n{len(nodes)}"
        nodes.append(node(op, operands, [out], f"{op}_{len(nodes)}", **attributes))
        return out

    def constant(dtype, dims, values):
        constants.append(tensor(f"c{len(constants)}", dtype, dims, values))
        return f"c{len(constants) - 1}"

    def split(letter, order):
        rows = add("Reshape", add("MatMul", "x", f"{letter}.weight"), constant(INT64, [4], [B, S, H, D]))
        return add("Transpose", rows, perm=order)

    query, key, values = split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1]), split("v", [0, 2, 1, 3])
    scores = add("Mul", add("MatMul", query, key), constant(FLOAT, [], [SCALE]))
    used = MASKS["causal" if mask == "padding" else mask]
    shown = constant(BOOL, [1, 1, S, S], used.tolist())
    if mask == "padding":
        tokens = add("Unsqueeze", add("Cast", "seen", to=BOOL), constant(INT64, [2], [1, 2]))
        shown = add("And", shown, tokens)
    hidden = constant(FLOAT, [], [fill])
    if form == "where":
        scores = add("Where", shown, scores, hidden)
    elif form == "wherenot":
        scores = add("Where", add("Not", shown), hidden, scores)
    else:
        scores = add("Add", scores, add("Where", shown, constant(FLOAT, [], [0.0]), hidden))
    weight = add("Softmax", scores, axis=-1)
    if guard:
        weight = add("Where", add("IsNaN", weight), constant(FLOAT, [], [0.0]), weight)
    rows = add("Transpose", add("MatMul", weight, values), perm=[0, 2, 1, 3])
    rows = add("MatMul", add("Reshape", rows, constant(INT64, [3], [B, S, WIDTH])), "o.weight")
    error = add("Sub", rows, "t")
    add("ReduceMean", add("Mul", error, error), keepdims=0, out="loss")
    own = [tensor(n, FLOAT, [WIDTH, WIDTH], w.tolist()) for n, w in weights.items()]
    kinds = {"x": (FLOAT, [B, S, WIDTH]), "t": (FLOAT, [B, S, WIDTH]), "seen": (INT64, [B, S])}
    taken = [n for n in kinds if n != "seen" or mask == "padding"]
    return model(graph(nodes, own + constants, [value(n, *kinds[n]) for n in taken], [value("loss", FLOAT, [])])), taken


def reference(mask, form, fill):
    """Loss and gradients; a guard stands behind rows of nothing but -inf."""
    w = {name: weight.astype("f8") for name, weight in weights.items()}
    x, t, shown = inputs["x"].astype("f8"), inputs["t"].astype("f8"), MASKS[mask]

    def split(rows):
        return rows.reshape(B, S, H, D).transpose(0, 2, 1, 3)

    def join(heads):
        return heads.transpose(0, 2, 1, 3).reshape(B, S, WIDTH)

    q, k, v = (split(x @ w[f"{n}.weight"]) for n in "qkv")
    scores = SCALE * q @ k.swapaxes(2, 3)
    scores = scores + np.where(shown, 0, fill) if form == "add" else np.where(shown, scores, fill)
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    sums = powers.sum(-1, keepdims=True)
    p = powers / np.where(sums == 0, 1, sums)
    rows = join(p @ v)
    error = rows @ w["o.weight"] - t
    d_out = 2 * error / error.size
    d_rows = split(d_out @ w["o.weight"].T)
    d_p = d_rows @ v.swapaxes(2, 3)
    d_scores = p * (d_p - (p * d_p).sum(-1, keepdims=True))
    if form != "add":  # a selection passes nothing on to what it does not take
        d_scores = np.where(shown, d_scores, 0)
    heads = {"q": SCALE * d_scores @ k, "k": SCALE * d_scores.swapaxes(2, 3) @ q, "v": p.swapaxes(2, 3) @ d_rows}
    gradients = {f"{n}.weight": np.einsum("bsi,bsj->ij", x, join(d)) for n, d in heads.items()}
    gradients["o.weight"] = np.einsum("bsi,bsj->ij", rows, d_out)
    return (error**2).mean(), gradients


def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], "f4").reshape(v["shape"]) for k, v in header.items()}


def train(path, content, taken, flags):
    with open(path + ".onnx", "wb") as file:
        file.write(content)
    subprocess.run(["rondo-compile", path + ".onnx", "-o", path + ".rondo", *flags], check=True)
    return subprocess.run(
        ["rondo-run", path + ".rondo", "--steps=1", f"--losses={path}.csv", f"--save-grads={path}.safetensors"]
        + [f"--input={i}=@{folder}/{i}.npy" for i in taken],
        stderr=subprocess.PIPE,
        text=True,
    )


def compare(name, mask, form, fill, guard, flags=(), tolerance=2e-5):
    path = f"{folder}/{name.replace(' ', '-')}"
    done = train(path, *write(mask, form, fill, guard), flags)
    assert done.returncode == 0, (name, done.stderr)
    loss, expected = reference(mask, form, fill)
    with open(path + ".csv") as file:
        actual = float(file.read().split(",")[-1])
    assert np.isclose(actual, loss, rtol=tolerance), (name, actual, loss)
    gradients = read(path + ".safetensors")
    assert set(gradients) == set(expected)
    for weight, wanted in expected.items():
        difference = np.linalg.norm(gradients[weight] - wanted)
        assert difference < 10 * tolerance * np.linalg.norm(wanted), (name, weight, difference, np.linalg.norm(wanted))
    print(f"{name}: as NumPy says")


INFINITE = -np.inf
for mask, form in itertools.product(MASKS, ("where", "wherenot", "add")):
    # With a finite value no row is empty, so that a guard changes nothing.
    compare(f"{mask} {form} lowest", mask, form, LOWEST, form == "wherenot")
    compare(f"{mask} {form} infinite", mask, form, INFINITE, mask != "causal")
# A value that a selection may give, but that is too near to be sure that nothing outweighs it.
compare("padding where -1e9", "padding", "where", -1e9, False)
for form in ("where", "add"):
    compare(f"padding {form} lowest bf16", "padding", form, LOWEST, False, ["--precision=bf16"], 1e-2)

# Without a guard the graph's loss is NaN, and that is what a user has to see.
for mask, form in itertools.product(("padding", "strict"), ("where", "wherenot", "add")):
    done = train(f"{folder}/nan", *write(mask, form, INFINITE, False), [])
    print(f"{mask} {form} unguarded: {done.returncode}: {done.stderr.strip()}")
