#!/usr/bin/env python3
"""Trains a golden case in every way that must give PyTorch's trajectory, and the same bits.

    train.py CASE TRAJECTORY SCRATCH [--devices=1,2,3,4] [--shapes=1x4,2x2] [--device=host]

TRAJECTORY is that of check.py. For each shape (rounds x micro-batches) the case is compiled for each number of
devices, under a memory limit that forces many small stages, one that makes a fused stage rebuild layers, and with each way to recompute; each is trained and compared
with PyTorch by check.py; losses and saved weights of one shape must be equal byte for byte, and so must
`rondo-dump --arithmetic`. Gradients of step 0 are compared too (a run of one step).

Exit status 0 if all holds; otherwise every miss has a line. rondo-compile, rondo-run and rondo-dump are found on PATH or in
the folder that RONDO_BIN names.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = {
    "loss": [],
    "late_": ["--staleness=1"],
    "token_": ["--loss-reduction=step"],
    "clip_": None,  # the case says how much
}


class Run:
    """One way to train, and what it gave."""

    def __init__(self, case, trajectory, folder, device, flags=()):
        self.case, self.trajectory, self.folder, self.device, self.flags = case, trajectory, folder, device, flags
        with open(os.path.join(case, "case.json")) as file:
            self.facts = json.load(file)

    def tool(self, name):
        return os.path.join(os.environ.get("RONDO_BIN", ""), name)

    def call(self, name, *arguments):
        result = subprocess.run([self.tool(name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"{name} {' '.join(arguments)} ended with {result.returncode}:\n{result.stderr}")
        return result.stdout

    def compile(self, devices, rounds, extra):
        optimizer = self.facts["optimizer"]
        trajectory = FLAGS[self.trajectory]
        if trajectory is None:
            trajectory = [f"--clip-grad-norm={self.facts['clip_grad_norm']}"]
        program = os.path.join(self.folder, "program.rondo")
        self.call("rondo-compile", os.path.join(self.case, "model.onnx"), "-o", program, f"--devices={devices}", f"--rounds={rounds}",
                  f"--micro-batches={self.facts['micro_batches'] // rounds}",
                  "--optimizer=adamw,lr={lr},beta1={betas[0]},beta2={betas[1]},eps={eps},weight-decay={weight_decay}".format(**optimizer),
                  *trajectory, *self.flags, *extra)
        return program

    def train(self, program, devices, steps, extra=()):
        inputs = [f"--input={name}=@{os.path.join(self.case, 'inputs', name + '.npy')}" for name in self.facts["inputs"]]
        return self.call("rondo-run", program, f"--device={self.device}:{devices}", f"--steps={steps}", *inputs, *extra)

    def bits(self, program, devices):
        """Trains a program and returns digests of what it gave."""
        losses, weights = os.path.join(self.folder, "losses.csv"), os.path.join(self.folder, "weights.safetensors")
        self.train(program, devices, self.facts["steps"], [f"--losses={losses}", f"--save={weights}"])
        return {"losses": digest(losses), "weights": digest(weights)}

    def measure(self, program, devices):
        """The same, and checks it."""
        result = self.bits(program, devices)
        losses, weights, gradients = (os.path.join(self.folder, name) for name in ("losses.csv", "weights.safetensors", "gradients.safetensors"))
        self.check([f"--losses={losses}", f"--weights={weights}"])
        if self.trajectory != "token_":  # its step 0 has other gradients than expected.npz holds
            self.train(program, devices, 1, [f"--save-grads={gradients}"])
            self.check([f"--grads={gradients}"])
        return result

    def way(self, devices, rounds, extra):
        """Compiles, trains and checks; returns what must not depend on the way."""
        program = self.compile(devices, rounds, extra)
        return {**self.measure(program, devices), "arithmetic": self.call("rondo-dump", "--arithmetic", program).strip()}

    def check(self, arguments):
        result = subprocess.run([sys.executable, os.path.join(HERE, "check.py"), self.case, f"--trajectory={self.trajectory}", *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            raise RuntimeError(result.stdout)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def smallest_memory(run, devices, rounds, extra=()):
    """The least device memory, within 5 %, that some plan fits: it forces many small stages."""
    low, high = 0, json.loads(run.call("rondo-dump", "--json", run.compile(devices, rounds, ["--recompute=full", *extra])))["device_bytes"]
    while high - low > high / 20:
        middle = (low + high) // 2
        try:
            run.compile(devices, rounds, ["--recompute=full", f"--device-memory={middle}", *extra])
            high = middle
        except RuntimeError as error:
            if "ended with 3" not in str(error):
                raise
            low = middle
    return high


def rebuilding_memory(run, devices, rounds):
    """Device memory with which everything stays in one fused stage that rebuilds some layers."""
    memory = json.loads(run.call("rondo-dump", "--json", run.compile(devices, rounds, ["--recompute=full"])))["device_bytes"]
    for _ in range(60):
        try:
            program = run.compile(devices, rounds, ["--recompute=full", f"--device-memory={memory}"])
        except RuntimeError:
            return None
        if "that rebuilds" in json.loads(run.call("rondo-dump", "--json", program))["plan"]:
            return memory
        memory = memory * 97 // 100
    return None


def count_stages(run, program):
    """Forward, fused and backward stages of a program's plan."""
    forward, backward = re.match(r"(\d+) forward stages?, .* and (\d+) backward stage", json.loads(run.call("rondo-dump", "--json", program))["plan"]).groups()
    return int(forward) + 1 + int(backward)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case")
    parser.add_argument("trajectory", choices=FLAGS)
    parser.add_argument("scratch")
    parser.add_argument("--devices", default="1,2,3,4")
    parser.add_argument("--shapes", default="1x4,2x2")
    parser.add_argument("--device", default="host")
    parser.add_argument("--rebuilds", action="store_true", help="some memory limit must make a fused stage rebuild layers")
    parser.add_argument("--flag", action="append", default=[], help="of rondo-compile, each time")
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    run = Run(options.case, options.trajectory, options.scratch, options.device, options.flag)
    misses = rebuilds = 0
    for shape in options.shapes.split(","):
        rounds = int(shape.split("x")[0])
        devices = [int(d) for d in options.devices.split(",")]
        ways = [(d, []) for d in devices]
        for d in (devices[-1], devices[0]):
            extra = ["--recompute=full", f"--device-memory={smallest_memory(run, d, rounds)}"]
            if (stages := count_stages(run, run.compile(d, rounds, extra))) < 9:
                print(f"MISS {shape} on {d} {' '.join(extra)}: only {stages} stages")
                misses += 1
            ways.append((d, extra))
        if memory := rebuilding_memory(run, devices[0], rounds):
            ways.append((devices[0], ["--recompute=full", f"--device-memory={memory}"]))
            rebuilds += 1
        ways += [(devices[min(1, len(devices) - 1)], [f"--recompute={how}"]) for how in ("full", "elementwise", "none")]
        first = None
        for count, extra in ways:
            name = f"{shape} on {count} {' '.join(extra)}"
            try:
                result = run.way(count, rounds, extra)
            except RuntimeError as error:
                print(f"MISS {name}: {error}")
                misses += 1
                continue
            first = first or (name, result)
            for what, value in result.items():
                if value != first[1][what]:
                    print(f"MISS {name}: {what} differ from those of {first[0]}")
                    misses += 1
            print(f"ok {name}", flush=True)
    if options.rebuilds and not rebuilds:
        print("MISS no memory limit makes a fused stage rebuild layers")
        misses += 1
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
