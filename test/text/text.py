"""Real text by bytes, and a small GPT's initial weights: both made anew, equal to the bit everywhere.

The text is the English of the free software licences that Debian's base-files installs in /usr/share/common-licenses.
"""
import hashlib
import json
import os
import struct

import numpy as np

FOLDER = "/usr/share/common-licenses"
FILES = ["GPL-3", "LGPL-2.1", "GFDL-1.2", "MPL-1.1", "GPL-2", "GPL-1", "Apache-2.0", "Artistic"]
DIGEST = "1e6912f61661fb05c44b636ef64694f6a232378271f91f8c6b31f1e1fdf3026c"
VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS = 256, 128, 192, 4, 6
STEPS, MICRO_BATCHES, BATCH = 200, 2, 8
OPTIMIZER = {"lr": 5e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}


def read():
    """The text's bytes, or None where this machine has another text."""
    try:
        data = b"".join(open(os.path.join(FOLDER, name), "rb").read() for name in FILES)
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == DIGEST else None


def samples(text, steps=STEPS):
    """ids and labels of all steps: windows that begin anywhere, in a fixed random order."""
    count = steps * MICRO_BATCHES * BATCH
    starts = np.random.RandomState(3).randint(0, len(text) - LENGTH - 1, STEPS * MICRO_BATCHES * BATCH)[:count]
    data = np.frombuffer(text, np.uint8).astype(np.int64)
    windows = np.stack([data[s : s + LENGTH + 1] for s in starts])
    return windows[:, :-1].copy(), windows[:, 1:].copy()


def shapes():
    """Name and shape of every parameter, in PyTorch's order."""
    result = {"tokens.weight": (VOCABULARY, WIDTH), "positions.weight": (LENGTH, WIDTH)}
    for l in range(LAYERS):
        p = f"blocks.{l}."
        result |= {p + "before.weight": (WIDTH,), p + "before.bias": (WIDTH,), p + "qkv.weight": (3 * WIDTH, WIDTH), p + "qkv.bias": (3 * WIDTH,),
                   p + "out.weight": (WIDTH, WIDTH), p + "out.bias": (WIDTH,), p + "after.weight": (WIDTH,), p + "after.bias": (WIDTH,),
                   p + "up.weight": (4 * WIDTH, WIDTH), p + "up.bias": (4 * WIDTH,), p + "down.weight": (WIDTH, 4 * WIDTH), p + "down.bias": (WIDTH,)}
    return result | {"last.weight": (WIDTH,), "last.bias": (WIDTH,), "head.weight": (VOCABULARY, WIDTH)}


def weights():
    """Normal, with 0.02; scales around 1. No two are equal, since exporters merge equal tensors."""
    random = np.random.RandomState(7)
    result = {}
    for name, shape in shapes().items():
        value = random.standard_normal(shape) * 0.02
        if name.split(".")[-2] in ("before", "after", "last") and name.endswith("weight"):
            value += 1
        result[name] = value.astype(np.float32)
    return result


def save(path, tensors):
    """A .safetensors file."""
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.tobytes())
