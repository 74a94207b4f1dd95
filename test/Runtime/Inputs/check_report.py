"""A JSON report of 4 steps on 2 host devices, measured from step 1 on, agrees with itself."""

import json
import sys

with open(sys.argv[1]) as file:
    report = json.load(file)
assert report["steps"] == len(report["losses"]) == 4, report["steps"]
assert report["measured_steps"] == {"first": 1, "count": 3}, report["measured_steps"]
step = report["step_seconds"]["measured"]
assert abs(3 * step - report["seconds"]) < 1e-9, report["seconds"]
assert 0 <= report["bubble"]["measured"] <= 1, report["bubble"]
assert abs(report["samples_per_second"] * step - 16) < 1e-6, report["samples_per_second"]
flops = report["product_flops_per_step"]
assert flops > 0 and abs(report["product_flops_per_second_and_device"] * 2 * step / flops - 1) < 1e-9, flops
assert 0 < report["issue_seconds_per_step"] < report["seconds"], report["issue_seconds_per_step"]
busy = {lane["name"]: lane for lane in report["lanes"]}
computing = sum(busy[f"device {d} Compute"]["busy_share"] for d in range(2))
assert abs(1 - computing / 2 - report["bubble"]["measured"]) < 1e-9, computing
# Of the measured steps alone, as are the bytes.
copied = sum(lane["copied_bytes"] for lane in report["lanes"])
assert copied == report["bytes"]["uploaded"] + report["bytes"]["downloaded"], copied
for lane in report["lanes"]:
    if lane["copied_bytes"]:
        rate = lane["copied_bytes"] / lane["busy_seconds"] / 1e9
        assert abs(lane["gigabytes_per_second"] / rate - 1) < 1e-9, lane
for device in report["devices"]:
    assert device["name"] == "host" and device["taken"] == device["planned"] == report["planned_memory"]["device"], device
