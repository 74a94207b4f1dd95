#!/usr/bin/env python3
"""Runs recorded kernels on a GPU and compares with what the host computed.

RondoTargetTests writes the folder where RONDO_GPU_CASES names one. Needs NumPy
and the driver alone. Kernels that add in the host's order must give its bits,
the others its values within rounding; each is run twice and must give the same
bits, leave everything but its outputs alone, and report indices out of range.
"""

import ctypes
import glob
import os
import sys

import numpy as np

# Relative to the larger of 1 and the value: sums of up to 40,000 elements around
# 0 in f32, and two roundings after one another in bf16 and f16.
TOLERANCE = {"f32": 1e-4, "f64": 1e-5, "bf16": 2.0**-6, "f16": 2.0**-8}
INTEGERS = {"i64": np.int64, "i32": np.int32, "i1": np.uint8}


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else result}")

    def load(self, ptx):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer

    def write(self, pointer, array):
        self.call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))

    def read(self, pointer, size):
        array = np.empty(size, np.uint8)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(size))
        return array

    def launch(self, function, grid, block, pointers):
        values = [ctypes.c_uint64(p) for p in pointers]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        self.call("cuLaunchKernel", function, *grid, *block, 0, None, parameters, None)
        self.call("cuCtxSynchronize")


class Case:
    def __init__(self, words):
        self.function, self.symbol = words[0], words[1]
        self.exact, self.status = words[2] == "1", int(words[3])
        self.grid, self.block = [int(w) for w in words[4:7]], [int(w) for w in words[7:10]]
        self.addresses, self.memory, self.outputs = [], {}, []


def read_cases(path):
    cases = []
    with open(path) as lines:
        for line in lines:
            kind, *words = line.split()
            if kind == "call":
                cases.append(Case(words))
            elif kind == "address":
                cases[-1].addresses.append((int(words[0]), int(words[1])))
            elif kind == "memory":
                cases[-1].memory[int(words[0])] = [int(w) for w in words[1:]]
            elif kind == "output":
                cases[-1].outputs.append((int(words[0]), int(words[1]), int(words[2]), words[3]))
    return cases


def decode(raw, element):
    if element in INTEGERS:
        return raw.view(INTEGERS[element])
    if element == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return raw.view({"f32": np.float32, "f64": np.float64, "f16": np.float16}[element]).astype(np.float64)


def differs(actual, expected, element, exact):
    """Which elements differ by more than they may."""
    x, y = decode(actual, element), decode(expected, element)
    if element in INTEGERS:
        return x != y
    with np.errstate(invalid="ignore", over="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if not exact:
            same |= np.abs(x - y) <= TOLERANCE[element] * np.maximum(1, np.abs(y))
    return ~same


def check(driver, function, case, data):
    """None, or what is wrong."""
    blank = lambda number, at: data[at : at + case.memory[number][0]]
    runs, status = [], None
    device = {number: driver.allocate(size) for number, (size, _, _) in case.memory.items()}
    word = driver.allocate(4)
    for _ in range(2):
        for number, (_, before, _) in case.memory.items():
            driver.write(device[number], blank(number, before))
        driver.write(word, np.zeros(4, np.uint8))
        # A kernel without indices leaves the last one alone.
        driver.launch(function, case.grid, case.block,
                      [device[n].value + offset for n, offset in case.addresses] + [word.value])
        runs.append({number: driver.read(device[number], case.memory[number][0]) for number in device})
        status = int(driver.read(word, 4).view(np.int32)[0])
    for pointer in [*device.values(), word]:
        driver.call("cuMemFree_v2", pointer)
    if status != case.status:
        return f"status {status}, on the host {case.status}"
    for number, (size, _, after) in case.memory.items():
        if not np.array_equal(runs[0][number], runs[1][number]):
            return f"argument {number} differs from run to run"
        actual, expected = runs[0][number].copy(), blank(number, after).copy()
        for argument, offset, length, element in case.outputs:
            if argument != number:
                continue
            a, e = actual[offset : offset + length], expected[offset : offset + length]
            # Calls that stop at an index leave their outputs unfinished.
            wrong = differs(a, e, element, case.exact) if case.status == 0 else np.zeros(1, bool)
            if wrong.any():
                at = int(np.argmax(wrong))
                return (f"argument {number} {element} element {at} ({int(wrong.sum())} of {wrong.size}): "
                        f"{decode(a, element)[at]!r}, on the host {decode(e, element)[at]!r}")
            a[:], e[:] = 0, 0
        if not np.array_equal(actual, expected):
            return f"argument {number} is written beside the outputs, at byte {int(np.argmax(actual != expected))}"
    return None


def main():
    driver = Driver()
    failures = count = exact = 0
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.index")), key=lambda p: int(os.path.basename(p)[:-6]))
    for path in paths:
        prefix = path[: -len(".index")]
        with open(prefix + ".ptx", "rb") as file:
            module = driver.load(file.read())
        data = np.fromfile(prefix + ".data", np.uint8)
        for case in read_cases(path):
            problem = check(driver, driver.function(module, case.symbol), case, data)
            count += 1
            exact += case.exact
            if problem:
                failures += 1
                print(f"{prefix} @{case.function} {case.symbol} grid {case.grid} block {case.block}: {problem}")
        driver.call("cuModuleUnload", module)
    print(f"{count} kernel runs, {exact} of them bit for bit: {failures} wrong")
    return 1 if failures or count == 0 else 0


sys.exit(main())
