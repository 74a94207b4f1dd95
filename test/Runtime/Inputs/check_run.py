#!/usr/bin/env python3
"""check_run.py FOLDER STEPS: what rondo-run wrote there agrees with itself and with the reference losses."""
import json
import struct
import sys

folder, steps = sys.argv[1], int(sys.argv[2])
reference = [float(line) for line in open(folder + "/reference.txt")]

lines = open(folder + "/losses.csv").read().split("\n")
assert lines[0] == "step,loss" and lines[-1] == "", lines
rows = [line.split(",") for line in lines[1:-1]]
assert [int(row[0]) for row in rows] == list(range(steps)), rows
losses = [float(row[1]) for row in rows]
for loss, exact in zip(losses, reference, strict=True):
    assert abs(loss - exact) < 1e-5 * exact, (loss, exact)

log = [json.loads(line) for line in open(folder + "/log.jsonl")]
assert [entry["loss"] for entry in log] == losses, log
assert all(entry["gradient_norm"] > 0 and entry["learning_rate"] == 0.01 and entry["seconds"] > 0 for entry in log), log


def safetensors(name):
    data = open(folder + "/" + name, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0, length
    header = json.loads(data[8:8 + length])
    del header["__metadata__"]
    ends = sorted(entry["data_offsets"] for entry in header.values())
    assert ends[0][0] == 0 and ends[-1][1] == len(data) - 8 - length, ends
    assert all(a[1] == b[0] for a, b in zip(ends, ends[1:])), ends
    return header


names = {"val_1": [264, 264], "layer0.bias": [264], "layer1.weight": [264, 264], "val_9": [264, 264]}
for file in ("w.safetensors", "g.safetensors"):
    assert {name: entry["shape"] for name, entry in safetensors(file).items()} == names, safetensors(file)

trace = json.load(open(folder + "/trace.json"))["traceEvents"]
spans = [event for event in trace if event["ph"] == "X"]
assert {event["args"]["step"] for event in spans} == set(range(steps))
assert all(event["dur"] >= 0 for event in spans)
# A lane runs one operation at a time, in the order of time.
lanes = {}
for event in spans:
    lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
assert len(lanes) == 12, lanes.keys()
for lane in lanes.values():
    lane.sort()
    assert all(a[1] <= b[0] + 0.002 for a, b in zip(lane, lane[1:]))
named = {(event["pid"], event["tid"]) for event in trace if event["name"] == "thread_name"}
assert named >= set(lanes), (named, lanes.keys())
