#!/usr/bin/env python3
"""Prints where the time of steps goes: rondo-run's --trace by lane and kind of operation.

Use: trace_table.py TRACE.json [--skip=N] [--lines=N]     (--skip: steps at the start that do not count, default 1)

Layers, micro-batches, rounds and slots are put together; ms are a step's, on all devices. What a lane does not do it waits for:
the last table says before which operations devices were idle, and which other operation ended just before these began.
"""
import argparse
import bisect
import json
import re
from collections import defaultdict


def stem(name):
    name = re.sub(r" (mb|round|for slot) \d+", "", name)
    return re.sub(r"\d+", "#", name)


def print_gaps(spans, first, steps, name, lines):
    """Pauses of compute lanes of 0.1 ms or more, from step `first` on."""
    kinds = defaultdict(lambda: [0.0, 0])
    ended = sorted((event["ts"] + event["dur"], index) for index, event in enumerate(spans))
    times = [end for end, _ in ended]
    lanes = defaultdict(list)
    for event in spans:
        if "Compute" in name((event["pid"], event["tid"])):
            lanes[event["pid"], event["tid"]].append(event)
    for key, lane in lanes.items():
        lane.sort(key=lambda event: event["ts"])
        for before, event in zip(lane, lane[1:]):
            gap = event["ts"] - before["ts"] - before["dur"]
            if gap < 100 or event["args"]["step"] < first:
                continue
            # Clocks of the host and of devices agree to some tens of microseconds.
            at = bisect.bisect_right(times, event["ts"] + 30)
            cause = next((spans[ended[i][1]] for i in range(at - 1, -1, -1)
                          if (spans[ended[i][1]]["pid"], spans[ended[i][1]]["tid"]) != key), None)
            late = event["ts"] - cause["ts"] - cause["dur"] if cause else 1e9
            what = f"{name((cause['pid'], cause['tid']))} {stem(cause['name'])}" if late < 200 else ""
            entry = kinds[name(key), stem(event["name"]), what]
            entry[0] += gap
            entry[1] += 1
    print("\n| idle lane | before | and after | number a step | ms a step |\n|---|---|---|--:|--:|")
    for (lane, what, cause), (time, count) in sorted(kinds.items(), key=lambda item: -item[1][0])[:lines]:
        print(f"| {lane} | {what} | {cause} | {count / steps:.1f} | {time / steps / 1e3:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("--skip", type=int, default=1)
    parser.add_argument("--lines", type=int, default=40)
    options = parser.parse_args()
    with open(options.trace) as file:
        events = json.load(file)["traceEvents"]
    processes, lanes = {}, {}
    for event in events:
        if event["ph"] == "M":
            (processes if event["name"] == "process_name" else lanes)[event["pid"], event["tid"]] = event["args"]["name"]
    spans = [event for event in events if event["ph"] == "X"]
    ends = defaultdict(float)  # By step: when its last operation ended.
    for event in spans:
        step = event["args"]["step"]
        ends[step] = max(ends[step], event["ts"] + event["dur"])
    last = max(ends)
    steps = last - options.skip + 1
    if options.skip < 1 or steps < 1:
        parser.error(f"the trace has {last + 1} steps: nothing is left of them without the first {options.skip}")
    wall = (ends[last] - ends[options.skip - 1]) / steps / 1e3
    print(f"{steps} steps of {wall:.2f} ms\n")
    busy, kinds = defaultdict(float), defaultdict(lambda: [0.0, 0, 0])
    for event in spans:
        if event["args"]["step"] < options.skip:
            continue
        key = event["pid"], event["tid"]
        busy[key] += event["dur"]
        entry = kinds[key, stem(event["name"])]
        entry[0] += event["dur"]
        entry[1] += 1
        entry[2] += event["args"].get("bytes", 0)
    name = lambda key: processes.get((key[0], 0), "host") + " " + lanes.get(key, str(key[1]))
    print("| lane | busy ms a step | share |\n|---|--:|--:|")
    for key in sorted(busy):
        print(f"| {name(key)} | {busy[key] / steps / 1e3:.2f} | {busy[key] / steps / 10 / wall:.1f} % |")
    # What a device's launches wait for: nothing runs, then this does.
    gaps = defaultdict(lambda: [0.0, 0])
    for key in busy:
        if lanes.get(key) != "Compute":
            continue
        now = None
        for event in sorted((e for e in spans if (e["pid"], e["tid"]) == key), key=lambda e: e["ts"]):
            if event["args"]["step"] < options.skip:
                now = event["ts"] + event["dur"]
                continue
            if now is not None and event["ts"] > now:
                entry = gaps[key, stem(event["name"])]
                entry[0] += event["ts"] - now
                entry[1] += 1
            now = event["ts"] + event["dur"]
    print("\n| idle before | ms a step | gaps a step | share |\n|---|--:|--:|--:|")
    for (key, what), (time, count) in sorted(gaps.items(), key=lambda item: -item[1][0])[:10]:
        print(f"| {name(key)}: {what} | {time / steps / 1e3:.2f} | {count / steps:.0f} | {time / steps / 10 / wall:.1f} % |")
    print("\n| lane | operation | number a step | ms a step | share | GB/s |\n|---|---|--:|--:|--:|--:|")
    for (key, what), (time, count, size) in sorted(kinds.items(), key=lambda item: -item[1][0])[: options.lines]:
        rate = f"{size / time / 1e3:.1f}" if size and time else ""
        print(f"| {name(key)} | {what} | {count / steps:.0f} | {time / steps / 1e3:.2f} | {time / steps / 10 / wall:.1f} % | {rate} |")
    print_gaps(spans, options.skip, steps, name, options.lines)


if __name__ == "__main__":
    main()
