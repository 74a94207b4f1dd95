#!/usr/bin/env python3
"""Signals rondo-run while it trains: interrupt.py FOLDER RONDO-RUN.

The first signal ends a run after the steps in flight: all outputs are those of a run of so many steps, bit for bit, and the exit
status is 128 and the signal. The second ends the process at once.
"""
import json
import os
import signal
import subprocess
import sys
import time

folder, tool = sys.argv[1:3]
SAMPLES = [f"--input={name}=@{folder}/{name}.npy" for name in ("x", "labels")]
MANY = ["--epochs=1000000", "--shuffle=3"]


def outputs(name):
    files = {option: f"{folder}/{name}.{option}" for option in ("losses", "log", "save", "save-grads", "trace")}
    return files, [f"--{option}={path}" for option, path in files.items()]


def spawn(flags):
    # A shell may have its children ignore SIGINT.
    return subprocess.Popen([tool, f"{folder}/toy.rondo", *SAMPLES, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def interrupted(number, extra):
    files, flags = outputs("cut")
    process = spawn(MANY + flags + extra)
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(number)
    rest, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number, (process.returncode, errors)
    steps = len("".join(lines).splitlines()) + len(rest.splitlines())
    assert errors == f"rondo-run: {number.name}: stopped after {steps} of 3000000 steps\n", errors
    assert read(files["losses"]).count(b"\n") == steps + 1
    assert [json.loads(line)["step"] for line in open(files["log"])] == list(range(steps))
    assert {event["args"]["step"] for event in json.load(open(files["trace"]))["traceEvents"] if event["ph"] == "X"} == set(range(steps))
    whole, flags = outputs("whole")
    process = spawn(MANY + flags + [f"--steps={steps}"])
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    for option in ("losses", "save", "save-grads"):
        assert read(files[option]) == read(whole[option]), option


def killed():
    before = sorted(os.listdir(folder))
    process = spawn(MANY + ["--delay-us=2000000", f"--save={folder}/never"])
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert process.poll() is None, process.communicate()
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, process.returncode
    assert time.monotonic() - start < 10
    assert sorted(os.listdir(folder)) == before


def ignored():
    """nohup and the like: what is ignored stays so."""
    process = subprocess.Popen([tool, f"{folder}/toy.rondo", *SAMPLES, "--steps=3", "--delay-us=20000"], stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and len(rest.splitlines()) == 2, (process.returncode, rest)


interrupted(signal.SIGINT, [])
interrupted(signal.SIGTERM, ["--delay-us=2000"])
killed()
ignored()
