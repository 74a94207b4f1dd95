"""Writes small ONNX files without the onnx package.

Every function returns the bytes of one protobuf message (field numbers as in
schema/onnx.proto); tests put them together, also in ways that are wrong.
"""
import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9
FLOAT16, DOUBLE, BFLOAT16, INT4 = 10, 11, 16, 22


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(value)


def blob(number, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def pack(dtype, values):
    """Little-endian elements."""
    if dtype == BFLOAT16:
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    code = {FLOAT: "f", DOUBLE: "d", FLOAT16: "e", INT64: "q", INT32: "i", BOOL: "?", UINT8: "B", INT8: "b"}[dtype]
    return struct.pack(f"<{len(values)}{code}", *values)


def flatten(values):
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def tensor(name, dtype, dims, values=None, *, raw=None, typed=None, external=None):
    """`values` become raw data; `typed` is (field number, payload)."""
    out = b"".join(integer(1, d) for d in dims) + integer(2, dtype)
    if typed:
        out += typed
    if name:
        out += blob(8, name)
    if values is not None:
        raw = pack(dtype, list(flatten(values)))
    if raw is not None:
        out += blob(9, raw)
    for key, value in (external or {}).items():
        out += blob(13, entry(key, str(value)))
    return out + (integer(14, 1) if external else b"")


def entry(key, value):
    return blob(1, key) + blob(2, value)


def attribute(name, value):
    out = blob(1, name)
    if isinstance(value, bytes):  # a tensor
        return out + blob(5, value) + integer(20, 4)
    if isinstance(value, bool):
        return out + integer(3, value) + integer(20, 2)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return out + integer(3, value) + integer(20, 2)
    if isinstance(value, str):
        return out + blob(4, value) + integer(20, 3)
    if value and isinstance(value[0], float):
        return out + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + integer(20, 6)
    return out + b"".join(integer(8, v) for v in value) + integer(20, 7)


def node(op, inputs, outputs, name="", domain="", scope=None, raw_attributes=b"", **attributes):
    """`scope`: list of (path, class) pairs, as PyTorch's exporter writes it."""
    out = b"".join(blob(1, i) for i in inputs) + b"".join(blob(2, o) for o in outputs)
    if name:
        out += blob(3, name)
    out += blob(4, op)
    out += b"".join(blob(5, attribute(k, v)) for k, v in attributes.items()) + raw_attributes
    if domain:
        out += blob(7, domain)
    if scope:
        out += blob(9, entry("namespace", "/".join(f"{path}: {kind}" for path, kind in scope)))
    return out


def tensor_type(dtype, dims):
    """A dimension is a number, a name, or None."""
    shape = b""
    for dim in dims if dims is not None else []:
        shape += blob(1, b"" if dim is None else integer(1, dim) if isinstance(dim, int) else blob(2, dim))
    return blob(1, integer(1, dtype) + (blob(2, shape) if dims is not None else b""))


def value(name, dtype, dims):
    return blob(1, name) + blob(2, tensor_type(dtype, dims))


def graph(nodes, initializers=(), inputs=(), outputs=(), values=(), metadata=()):
    out = b"".join(blob(1, n) for n in nodes) + blob(2, "g")
    out += b"".join(blob(5, t) for t in initializers)
    out += b"".join(blob(11, v) for v in inputs) + b"".join(blob(12, v) for v in outputs)
    out += b"".join(blob(13, v) for v in values)
    return out + b"".join(blob(16, entry(k, v)) for k, v in metadata)


def model(graph_bytes, opset=20, ir=10, domains=(), extra=b""):
    out = integer(1, ir) + blob(2, "test") + blob(7, graph_bytes)
    for domain, version in [("", opset), *domains]:
        if version is not None:
            out += blob(8, (blob(1, domain) if domain else b"") + integer(2, version))
    return out + extra
