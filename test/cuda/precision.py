#!/usr/bin/env python3
"""Trains golden cases in low precision on one GPU and compares them with themselves in fp32 there.

    precision.py compile FOLDER [--cases=llama,...] [--target=a800]    where rondo-compile is
    precision.py run FOLDER [--device=cuda:1]                          where the GPU is

`compile` writes programs, plans.json, and copies of the cases into FOLDER, which may be carried as golden.py's. `run` trains
each program twice, with the same bits; gradients of step 0 and losses must be as near to those of fp32 as test/golden/precision.py
wants; plans of one precision must have the same bits, and those of different ones other bits.

Exit status 0 if all holds; otherwise every miss has a line.
"""
import argparse
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import check  # noqa: E402
import precision  # noqa: E402
import train  # noqa: E402

CASES = ["llama", "llama_opset23", "qwen3"]
# Name, trajectory, flags; the part of the name before the dot says whose bits are the same.
WAYS = [
    ("fp32", "loss", []),
    ("tf32", "loss", ["--allow-tf32"]),
    ("fp32_transfer", "loss", ["--grad-transfer=bf16"]),
    ("bf16", "loss", ["--precision=bf16"]),
    ("bf16.smallest", "loss", ["--precision=bf16", "--recompute=full"]),
    ("bf16.none", "loss", ["--precision=bf16", "--recompute=none"]),
    ("bf16_late", "late_", ["--precision=bf16", "--grad-transfer=bf16"]),
    ("fp16", "loss", ["--precision=fp16"]),
    ("fp16.smallest", "loss", ["--precision=fp16", "--recompute=full"]),
    ("fp16_late", "late_", ["--precision=fp16"]),
    ("fp16_overflow", "loss", ["--precision=fp16", "--loss-scale=16777216"]),
]


def compile_all(options):
    plans = []
    os.makedirs(options.folder, exist_ok=True)
    for case in options.cases.split(","):
        source, copy = os.path.join(HERE, "..", "golden", case), os.path.join(options.folder, case)
        shutil.copytree(source, copy, dirs_exist_ok=True)
        for name, trajectory, flags in WAYS:
            run = train.Run(copy, trajectory, options.folder, None)
            flags = [f"--target={options.target}", *flags]
            if name.endswith(".smallest"):
                flags.append(f"--device-memory={train.smallest_memory(run, 1, 1, flags)}")
            file = f"{case}-{name}.rondo"
            os.rename(run.compile(1, 1, flags), os.path.join(options.folder, file))
            plans.append({"case": case, "name": name, "trajectory": trajectory, "program": file})
    with open(os.path.join(options.folder, "plans.json"), "w") as file:
        json.dump(plans, file, indent=1)
    print(f"{len(plans)} programs")
    return 0


class Outcome:
    """What one program gave: step 0's gradients, losses, digests, steps that were skipped."""

    def __init__(self, options, plan):
        scratch = os.path.join(options.folder, "scratch")
        os.makedirs(scratch, exist_ok=True)
        device, count = options.device.split(":")
        run = train.Run(os.path.join(options.folder, plan["case"]), plan["trajectory"], scratch, device)
        program = os.path.join(options.folder, plan["program"])
        losses, weights, grads, log = (os.path.join(scratch, name) for name in ("l.csv", "w.safetensors", "g.safetensors", "log.jsonl"))
        digests = []
        for _ in range(2):
            run.train(program, int(count), run.facts["steps"], [f"--losses={losses}", f"--save={weights}", f"--log={log}"])
            digests.append((train.digest(losses), train.digest(weights)))
        self.repeats, self.digests = digests[0] == digests[1], digests[0]
        self.losses = check.read_losses(losses)
        with open(log) as file:
            self.skipped = sum(json.loads(line).get("skipped", False) for line in file)
        run.train(program, int(count), 1, [f"--save-grads={grads}"])
        self.grads = check.read_safetensors(grads)


def run_all(options):
    with open(os.path.join(options.folder, "plans.json")) as file:
        plans = json.load(file)
    misses, known = [], {}
    for plan in plans:
        case, name = plan["case"], plan["name"]
        try:
            outcome = known[case, name] = Outcome(options, plan)
        except RuntimeError as error:
            misses.append(f"{case} {name}: {error}")
            continue
        if not outcome.repeats:
            misses.append(f"{case} {name}: other bits when run again")
        base = known.get((case, name.split(".")[0]))
        if base is None or base.digests != outcome.digests:
            misses.append(f"{case} {name}: other bits than with another plan")
        full = known.get((case, "fp32"))
        if full is None:
            continue
        if (outcome.digests == full.digests) != (name == "fp32"):
            misses.append(f"{case} {name}: the bits of fp32")
        exact = check.Case(os.path.join(options.folder, case)).expected[plan["trajectory"].replace("loss", "") + "loss"]
        error = max(abs(a - b) / abs(b) for a, b in zip(outcome.losses, exact))
        print(f"{case} {name}: losses at most {error:.2e} off, {outcome.skipped} skipped", flush=True)
        if not error <= precision.LOSS:
            misses.append(f"{case} {name}: losses are off by {error}")
        if (outcome.skipped > 0) != (name == "fp16_overflow"):
            misses.append(f"{case} {name}: {outcome.skipped} steps are skipped")
        # An overflowing gradient is no gradient.
        if name != "fp16_overflow":
            misses += [f"{case} {name}: {miss}" for miss in precision.compare_gradients(full.grads, outcome.grads)]
    print("\n".join("MISS " + miss for miss in misses))
    print(f"{len(plans)} plans, {len(misses)} misses")
    return 1 if misses or not plans else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["compile", "run"])
    parser.add_argument("folder")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--target", default="a800")
    parser.add_argument("--device", default="cuda:1")
    options = parser.parse_args()
    return (compile_all if options.action == "compile" else run_all)(options)


if __name__ == "__main__":
    sys.exit(main())
