"""Writes what a run of a golden case would save, right or wrong on purpose:

    fabricate.py CASE OUT TRAJECTORY [SPOIL[=NUMBER]]

Writes OUT/{losses.csv,weights.safetensors,grads.safetensors} from PyTorch's
results in the exported initializers' layout. It shares no code with check.py.
"""
import json
import os
import struct
import sys

import numpy as np

case_dir, out, trajectory = sys.argv[1:4]
spoil, _, number = (sys.argv[4] if len(sys.argv) > 4 else "none").partition("=")
number = float(number or 0)
prefix = "" if trajectory == "loss" else trajectory
case = json.load(open(os.path.join(case_dir, "case.json")))
expected = np.load(os.path.join(case_dir, "expected.npz"))
losses = expected[prefix + "loss"].copy()
weights, grads = {}, {}


def store(tensors, name, value):
    place = case["param_map"][name]
    for p in [place] + place.get("copies", []):
        tensors[p["initializer"]] = np.ascontiguousarray(value.T if p["transposed"] else value)


norm = lambda arrays: np.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for a in arrays))
for name in case["trainable"]:
    store(weights, name, expected[prefix + "after/" + name])
    store(grads, name, expected["grad/" + name])
first = next(n for n in case["trainable"] if expected["grad/" + n].ndim == 2 and "embed" not in n)
key = case["param_map"][first]["initializer"]

if spoil == "loss":  # relative error of the last loss
    losses[-1] *= 1 + number
elif spoil == "steps":
    losses = losses[:-1]
elif spoil == "nan-loss":
    losses[1] = np.nan
elif spoil == "weight":  # one parameter off by that share of a typical change: 4 steps of 1e-3 an element
    after = [expected[prefix + "after/" + n] for n in case["trainable"]]
    whole = 4e-3 * np.sqrt(sum(a.size for a in after))
    weights[key] = weights[key] + np.float32(number * whole / np.sqrt(weights[key].size))
elif spoil == "nan-weight":
    weights[key].flat[3] = np.nan
elif spoil == "missing":
    del weights[key], grads[key]
elif spoil == "transposed":
    weights[key], grads[key] = weights[key].T.copy(), grads[key].T.copy()
elif spoil == "grad":  # relative error of one gradient
    grads[key] = grads[key] * np.float32(1 + number)
elif spoil == "copy":  # the tied weight's copy is stale
    place = case["param_map"]["m.model.embed_tokens.weight"]
    weights[place["copies"][0]["initializer"]] = weights[place["copies"][0]["initializer"]] + np.float32(1e-3)
elif spoil != "none":
    sys.exit(f"unknown spoil {spoil}")


def save(path, tensors):
    header, position = {}, 0
    for n, a in tensors.items():
        header[n] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [position, position + a.nbytes]}
        position += a.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(a.astype("<f4").tobytes() for a in tensors.values()))


os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "losses.csv"), "w") as file:
    file.write("step,loss\n" + "".join(f"{i},{l!r}\n" for i, l in enumerate(map(float, losses))))
save(os.path.join(out, "weights.safetensors"), weights)
save(os.path.join(out, "grads.safetensors"), grads)
