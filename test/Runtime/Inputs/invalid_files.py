#!/usr/bin/env python3
"""Arrays and weights that a run must refuse, each with what it must say: invalid_files.py FOLDER RONDO-RUN (exit code 1)."""
import io
import json
import os
import struct
import subprocess
import sys

import numpy as np

folder, tool = sys.argv[1:3]
x, labels = np.load(f"{folder}/x.npy"), np.load(f"{folder}/labels.npy")
columns = x.shape[1]
wrong = []


def run(name, *flags, expected, inputs=True):
    given = [f"--input=labels=@{folder}/labels.npy"] if inputs else []
    result = subprocess.run([tool, f"{folder}/toy.rondo", *given, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 1 or any(part not in result.stderr for part in expected) or "step" in result.stdout:
        wrong.append(f"{name}: exit code {result.returncode}, expected {expected}, got:\n{result.stderr}{result.stdout}")


def array(name, content, *expected):
    """`content` as the file of input x."""
    path = f"{folder}/bad.npy"
    with open(path, "wb") as file:
        file.write(content)
    run(name, f"--input=x=@{path}", expected=[f"{path}", *expected])


def saved(value, **flags):
    stream = io.BytesIO()
    np.save(stream, value, **flags)
    return stream.getvalue()


good = saved(x)
array("empty", b"", "does not begin with NumPy's magic bytes")
array("text", b"1.0, 2.0\n", "does not begin with NumPy's magic bytes; write it with numpy.save")
array("cut header", good[:40], "its header is truncated")
array("cut data", good[:-1], f"it is truncated: {x.nbytes - 1} bytes of data instead of {x.nbytes}")
array("no data", good[:128], f"it is truncated: 0 bytes of data instead of {x.nbytes}")
array("doubles", saved(x.astype("f8")), "input 'x'", "holds float64, the program wants float32; convert it with array.astype('float32')")
array("integers", saved(x.astype("i4")), "holds int32, the program wants float32")
array("big-endian", saved(x.astype(">f4")), "holds '>f4', the program wants float32; convert it with array.astype('float32')")
array("bytes", saved(x.astype("u1")), "holds '|u1', the program wants float32")
array("objects", saved(np.array([None, {}]), allow_pickle=True), "holds '|O', the program wants float32")
array("records", saved(np.zeros(3, dtype=[("a", "f4")])), "its element type is not a simple one")
array("Fortran", saved(np.asfortranarray(x)), "it is in Fortran order; write numpy.ascontiguousarray(array)")
array("columns", saved(np.ascontiguousarray(x[:, :-1])), f"has shape [{len(x)}, {columns - 1}], the program wants [samples, {columns}]",
      "in each of 2 micro-batches a step")
array("rank", saved(x.reshape(-1)), f"has shape [{x.size}], the program wants [samples, {columns}]")
array("scalar", saved(np.float32(1)), f"has shape [], the program wants [samples, {columns}]")
array("none", saved(x[:0]), "holds no samples")
run("absent", f"--input=x=@{folder}/absent.npy", expected=["absent.npy: No such file or directory"])
run("folder", f"--input=x=@{folder}", expected=["not a regular file"])
run("unknown", f"--input=y=@{folder}/x.npy", expected=["the program has no input 'y'; its inputs are 'x', 'labels'"])
run("unbound", expected=["no data for input 'x'; give --input=NAME=@FILE.npy for each"])
# Other numbers of samples, and fewer than one step takes.
np.save(f"{folder}/short.npy", x[: len(x) // 3 - 1])
for shuffle in [], ["--shuffle=1"]:
    run("uneven", f"--input=x=@{folder}/short.npy", *shuffle, expected=["inputs must hold the same samples: 'x' holds 7, 'labels' holds 24"])
np.save(f"{folder}/labels.npy", labels[: len(x) // 3 - 1])
run("short", f"--input=x=@{folder}/short.npy", expected=["1 step of ", "need more than the inputs hold: they are enough for 0"])
np.save(f"{folder}/labels.npy", labels)
run("many", f"--input=x=@{folder}/x.npy", "--steps=4", expected=["4 steps of ", "they are enough for 3; give fewer --steps, more samples"])
# One dimension has no order.
np.save(f"{folder}/labels.npy", np.asfortranarray(labels))


def tensors(path, entries, cut=0):
    """A safetensors file of name -> array."""
    header, data = {}, b""
    for name, value in entries.items():
        kind = {"f4": "F32", "f8": "F64", "i8": "I64"}[value.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write((struct.pack("<Q", len(text)) + text + data)[: -cut or None])
    return path


def weights(name, path, *expected, flags=()):
    run(name, f"--weights={path}", "--steps=0", *flags, expected=expected, inputs=False)


square, row = np.zeros((columns, columns), "f4"), np.zeros(columns, "f4")
full = {"val_1": square, "layer0.bias": row, "layer1.weight": square, "val_9": row}
bad = f"{folder}/bad.safetensors"
weights("missing", tensors(bad, {"val_1": square}), "2 parameters have no usable value:", "'layer0.bias': not in the files",
        "'layer1.weight': not in the files")
weights("shape", tensors(bad, full | {"layer0.bias": row[:-1]}), "error: 1 parameter has no usable value:",
        f"'layer0.bias': has shape [{columns - 1}] in the files, the program wants [{columns}]")
weights("type", tensors(bad, full | {"layer0.bias": row.astype("i8")}), "'layer0.bias': is of type I64 in the files, the program wants float32")
weights("prefix", tensors(bad, full), "'layer0.bias': not in the files with the prefix 'model.'", flags=["--weights-prefix=model."])
weights("cut", tensors(bad, full, cut=1), "damaged: tensor '", "does not lie within the file as its shape says")
with open(bad, "wb") as file:
    file.write(b"\x10")
weights("stub", bad, "not a safetensors file: its header is truncated")
with open(bad, "wb") as file:
    file.write(struct.pack("<Q", 2) + b"[]")
weights("list", bad, "not a safetensors file: its header is no JSON object")
weights("absent", f"{folder}/absent.safetensors", "absent.safetensors: No such file or directory")
os.makedirs(f"{folder}/shards", exist_ok=True)
weights("no shards", f"{folder}/shards", "holds no .safetensors files")
with open(f"{folder}/shards/model.safetensors.index.json", "w") as file:
    json.dump({"weight_map": {"val_1": "one.safetensors"}}, file)
weights("shard", f"{folder}/shards", "one.safetensors: No such file or directory")
with open(f"{folder}/shards/model.safetensors.index.json", "w") as file:
    json.dump({"weight_map": {"val_1": "../bad.safetensors"}}, file)
weights("outside", f"{folder}/shards", "the file of 'val_1' is not a name in the same folder")
with open(f"{folder}/other.json", "w") as file:
    json.dump({}, file)
weights("no map", f"{folder}/other.json", "not an index of safetensors files: it has no weight_map")

sys.exit("\n".join(wrong) if wrong else 0)
