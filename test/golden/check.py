#!/usr/bin/env python3
"""Compares a training run with PyTorch's trajectory of a golden case.

    check.py CASE --trajectory=loss|late_|token_|clip_ [--losses=FILE.csv]
             [--weights=FILE.safetensors] [--grads=FILE.safetensors] [--names=onnx|source]

CASE is a folder with case.json, model.onnx and expected.npz (see README.md).
The files are those of rondo-run: --losses, --save and --save-grads. Gradients
are compared with those of step 0, so --grads must come from a run of one step.

Tolerances, of README.md and not to be loosened to pass:
  each step's loss          1e-6 relative
  each gradient             1e-4 of its 2-norm + 1e-6 of the whole gradient's 2-norm
  change of all parameters  3e-4 of the exact change's 2-norm

Exit status: 0 all within tolerance, 1 something misses (a table says what),
2 the files could not be read. Needs NumPy only.
"""
import argparse
import json
import math
import os
import struct
import sys

import numpy as np

LOSS_TOLERANCE = 1e-6
GRADIENT_TOLERANCE, GRADIENT_FLOOR = 1e-4, 1e-6
CHANGE_TOLERANCE = 3e-4


class Unreadable(Exception):
    """An input file is damaged, incomplete or not what it should be."""


# --- ONNX: just enough of protobuf's wire format to read float initializers.


def fields(buffer):
    """Yields (field number, wire type, value) of one message."""
    position = 0

    def varint():
        nonlocal position
        value = shift = 0
        while True:
            if position >= len(buffer) or shift > 63:
                raise Unreadable("the protobuf message is truncated")
            byte = buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7

    while position < len(buffer):
        tag = varint()
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            yield number, wire, varint()
            continue
        if wire not in (1, 2, 5):
            raise Unreadable(f"protobuf wire type {wire} of field {number} is unknown")
        length = varint() if wire == 2 else 8 if wire == 1 else 4
        if position + length > len(buffer):
            raise Unreadable("the protobuf message is truncated")
        yield number, wire, buffer[position:position + length]
        position += length


def varints(buffer):
    """The values of a packed field of varints."""
    values, value, shift = [], 0, 0
    for byte in buffer:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            values.append(value)
            value = shift = 0
    return values


def initializer(tensor):
    """(name, float64 array) of a TensorProto, (name, None) if it is not float32."""
    dims, data_type, floats, name, raw = [], 0, [], "", None
    for number, wire, value in fields(tensor):
        if number == 1:
            dims += [value] if wire == 0 else varints(value)
        elif number == 2:
            data_type = value
        elif number == 4:
            floats.append(np.frombuffer(value, "<f4"))
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    if data_type != 1:
        return name, None
    data = np.frombuffer(raw, "<f4") if raw is not None else np.concatenate(floats or [np.zeros(0, "<f4")])
    if data.size != math.prod(dims):
        raise Unreadable(f"initializer '{name}' has {data.size} elements, its shape {dims} needs {math.prod(dims)}")
    return name, data.reshape(dims).astype(np.float64)


def read_initializers(path):
    with open(path, "rb") as file:
        model = memoryview(file.read())
    found = {}
    for number, _, graph in fields(model):
        if number != 7:
            continue
        for number, _, value in fields(graph):
            if number == 5:
                name, array = initializer(value)
                if array is not None:
                    found[name] = array
    return found


# --- safetensors


def widen(data, dtype, name):
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    numpy_type = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}.get(dtype)
    if numpy_type is None:
        raise Unreadable(f"tensor '{name}' is of type {dtype}, not a float type")
    return np.frombuffer(data, numpy_type).astype(np.float64)


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 8:
        raise Unreadable(f"{path}: {len(content)} bytes are no safetensors file")
    (length,) = struct.unpack("<Q", content[:8])
    if 8 + length > len(content):
        raise Unreadable(f"{path}: header of {length} bytes in a file of {len(content)}")
    body, tensors = memoryview(content)[8 + length:], {}
    for name, entry in json.loads(content[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if not 0 <= begin <= end <= len(body):
            raise Unreadable(f"{path}: tensor '{name}' lies outside of the file")
        array = widen(body[begin:end], entry["dtype"], name)
        if array.size != math.prod(entry["shape"]):
            raise Unreadable(f"{path}: tensor '{name}' has {array.size} elements, shape {entry['shape']}")
        tensors[name] = array.reshape(entry["shape"])
    return tensors


# --- comparison


def read_losses(path):
    with open(path) as file:
        lines = [line.strip() for line in file if line.strip()]
    if not lines or lines[0] != "step,loss":
        raise Unreadable(f"{path}: the first line must be 'step,loss'")
    losses = []
    for row, line in enumerate(lines[1:]):
        step, loss = line.split(",")
        if int(step) != row:
            raise Unreadable(f"{path}: row {row} is of step {step}")
        losses.append(float(loss))
    return losses


def to_parameter(array, place, shape, name):
    """The array of an initializer in its parameter's layout."""
    array = array.T if place["transposed"] else array
    if place.get("reshaped") and array.size == math.prod(shape):
        array = array.reshape(shape)
    if array.shape != shape:
        raise Unreadable(f"'{place['initializer']}' has shape {list(array.shape)} where {name} has {list(shape)}")
    return array


class Table:
    """What was compared; rows that miss are remembered."""

    def __init__(self):
        self.misses = 0

    def row(self, what, error, bound, note=""):
        # Not "error > bound": a NaN must miss.
        within = error <= bound
        self.misses += not within
        print(f"{'ok  ' if within else 'MISS'}  {what:58s} {error:10.3e}  allowed {bound:10.3e}  {note}".rstrip())

    def miss(self, what, why):
        self.misses += 1
        print(f"MISS  {what:58s} {why}")


class Case:
    def __init__(self, folder):
        with open(os.path.join(folder, "case.json")) as file:
            self.json = json.load(file)
        self.expected = np.load(os.path.join(folder, "expected.npz"))
        self.model = os.path.join(folder, "model.onnx")
        self.trainable = self.json["trainable"]
        unmapped = [name for name in self.trainable if name not in self.json["param_map"]]
        if unmapped:
            raise Unreadable(f"{folder}: no initializer holds {', '.join(unmapped)}; such a case cannot be checked")

    def places(self, name, names):
        """Where a run's file may hold the parameter: all its initializers."""
        if names == "source":
            return [{"initializer": name, "transposed": False}]
        place = self.json["param_map"][name]
        return [place] + place.get("copies", [])

    def lookup(self, tensors, name, names, shape):
        """All values that a file gives the parameter."""
        return [to_parameter(tensors[place["initializer"]], place, shape, name)
                for place in self.places(name, names) if place["initializer"] in tensors]


def check_losses(case, prefix, path, table):
    expected, losses = case.expected[prefix + "loss"], read_losses(path)
    if len(losses) != len(expected):
        table.miss("losses", f"{len(losses)} steps, PyTorch has {len(expected)}")
    for step, (loss, exact) in enumerate(zip(losses, expected)):
        table.row(f"loss of step {step}", abs(loss - exact) / abs(exact), LOSS_TOLERANCE,
                  f"{loss:.9f}, PyTorch {exact:.9f}")


def check_grads(case, prefix, path, names, table):
    if prefix == "token_":
        raise Unreadable("a golden case holds no gradients of the trajectory token_")
    tensors = read_safetensors(path)
    exact = {name: case.expected["grad/" + name].astype(np.float64) for name in case.trainable}
    whole = math.sqrt(sum(float((value ** 2).sum()) for value in exact.values()))
    for name, value in exact.items():
        found = case.lookup(tensors, name, names, value.shape)
        if not found:
            table.miss("gradient of " + name, "is not in " + path)
        bound = GRADIENT_TOLERANCE * float(np.linalg.norm(value)) + GRADIENT_FLOOR * whole
        for array in found:
            table.row("gradient of " + name, float(np.linalg.norm(array - value)), bound)


def check_weights(case, prefix, path, names, table):
    tensors, initial = read_safetensors(path), read_initializers(case.model)
    error = change = 0.0
    for name in case.trainable:
        exact = case.expected[prefix + "after/" + name].astype(np.float64)
        start = case.lookup(initial, name, "onnx", exact.shape)
        if not start:
            raise Unreadable(f"{case.model} holds no float initializer of {name}")
        found = case.lookup(tensors, name, names, exact.shape)
        if not found:
            table.miss("parameter " + name, "is not in " + path)
            continue
        if any(not np.array_equal(found[0], other) for other in found[1:]):
            table.miss("parameter " + name, "its copies in the file differ")
        error += float(((found[0] - exact) ** 2).sum())
        change += float(((exact - start[0]) ** 2).sum())
    table.row("change of all parameters", math.sqrt(error), CHANGE_TOLERANCE * math.sqrt(change),
              f"{math.sqrt(error) / math.sqrt(change) if change else math.inf:.2e} of the exact change")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--trajectory", choices=["loss", "late_", "token_", "clip_"], default="loss")
    parser.add_argument("--losses")
    parser.add_argument("--weights")
    parser.add_argument("--grads")
    parser.add_argument("--names", choices=["onnx", "source"], default="onnx")
    args = parser.parse_args()
    if not (args.losses or args.weights or args.grads):
        parser.error("nothing to compare: give --losses, --weights or --grads")
    prefix, table = "" if args.trajectory == "loss" else args.trajectory, Table()
    try:
        case = Case(args.case)
        if args.losses:
            check_losses(case, prefix, args.losses, table)
        if args.grads:
            check_grads(case, prefix, args.grads, args.names, table)
        if args.weights:
            check_weights(case, prefix, args.weights, args.names, table)
    except (Unreadable, OSError, KeyError, ValueError) as error:
        print(f"check.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print("all within tolerance" if not table.misses else f"{table.misses} beyond tolerance")
    return 1 if table.misses else 0


if __name__ == "__main__":
    sys.exit(main())
