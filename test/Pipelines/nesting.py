#!/usr/bin/env python3
"""IR that is nested too deep for MLIR's parser and printer is refused before they see it: nesting.py FOLDER RONDO-COMPILE RONDO-OPT."""
import os
import subprocess
import sys

folder, compiler, optimizer = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
path = f"{folder}/x.mlir"
wrong = []


UNWANTED = ("nested", "no IR of Rondo's")


def run(name, *command, expected=""):
    """`expected`: what is printed, with exit code 1; empty: whatever is printed, it is nothing UNWANTED."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    printed = result.stderr.decode(errors="replace")
    good = result.returncode == 1 and expected in printed if expected else result.returncode in (0, 1) and not any(u in printed for u in UNWANTED)
    if not good:
        wrong.append(f"{name}: {os.path.basename(command[0])} ended with {result.returncode}, expected '{expected}', printed:\n{printed[-2000:]}")


def check(name, text, expected="", optimized=True):
    with open(path, "w") as file:
        file.write(text)
    where = f"{path}:{expected}" if expected[:1].isdigit() else expected
    run(name, compiler, path, "--from=raise", "--compile-to=grad", "-o", f"{folder}/out.mlir", expected=where)
    if optimized:
        run(name, optimizer, path, "-o", f"{folder}/out.mlir", expected=where)


DEEP = "brackets are nested more than 256 deep"
check("attribute", "module attributes {nn.a = " + "[" * 100000, f"1: {DEEP}")
check("dictionary", "module attributes\n{" + "nn.a = {" * 100000, f"2: {DEEP}")
check("regions", "module {\n" * 20000, f"257: {DEEP}")
check("types", "module attributes {nn.a = " + "tuple<" * 100000, f"1: {DEEP}")
check("locations", "module {} loc(" + "callsite(" * 100000, f"1: {DEEP}")
# No closing bracket of one kind makes up for another's opening one.
check("kinds", "module attributes {nn.a = " + "[>" * 1000, f"1: {DEEP}")
check("arrows", "module attributes {nn.a = " + "[->" * 1000, f"1: {DEEP}")
check("quote", 'module attributes {nn.a = "\\"", nn.b = ' + "[" * 1000, f"1: {DEEP}")
check("comment", '// "\nmodule attributes {nn.a = ' + "[" * 1000, f"2: {DEEP}")
# A mark for -split-input-file is only a comment without that flag.
check("split", "module {\n// -----\n" * 1000, f"513: {DEEP}")
# Expressions nest without brackets; no IR has any.
for kind, rest in (("map", " <(-> (" + "-" * 100000 + "d0)>"), ("set", "<(d0) : (d0" + " + d0" * 100000 + " == 0)>")):
    check(f"affine {kind}", f"module attributes {{nn.a = affine_{kind}{rest}}} {{}}", f"1: affine_{kind}: no IR of Rondo's has maps or sets")

# Brackets that nest nothing.
check("strings", 'module attributes {nn.a = "' + "[" * 1000 + '\\"[{"} {}')
check("comments", "// " + "[" * 1000 + "\nmodule {}")
check("words", 'module attributes {nn.a = "affine_map"} {}', optimized=False)
check("names", "module @affine_map { module @x.affine_set {} module @affine_map.weight {} }", optimized=False)
check("siblings", "module attributes {nn.a = [" + ", ".join(["[]"] * 1000) + "]} {}")
check("nested", "module attributes {nn.a = " + "[" * 200 + "]" * 200 + "} {}")
with open(path, "w") as file:
    file.write("module {\n// -----\n" * 3 + "// -----\n".join(["module {}\n"] * 300))
run("split file", optimizer, path, "-split-input-file")

# Aliases nest without brackets. They are seen after parsing, by the compiler alone.
HELD = "error: attributes, types or locations are nested more than 256 deep"
for name, first, more in (("aliases", "#a0 = [unit]\n", "#a{1} = [#a{0}]\n"), ("types", "!a0 = tuple<i1>\n", "!a{1} = tuple<!a{0}>\n"),
                          ("callers", '#a0 = loc("x")\n', "#a{1} = loc(callsite(#a{0} at #a0))\n")):
    use = "loc(#a20000)" if name == "callers" else ""
    attributes = "" if use else f"attributes {{nn.a = {first[0]}a20000}} "
    check(name, first + "".join(more.format(i, i + 1) for i in range(20000)) + f"module {attributes}{{}} {use}\n", HELD, optimized=False)

# Bytecode holds what its text would, and cannot be looked at.
with open(path, "w") as file:
    file.write("module {}\n")
subprocess.run([optimizer, path, "--emit-bytecode", "-o", f"{folder}/code.mlir"], check=True)
to_grad = [compiler, "--from=raise", "-o", f"{folder}/out.mlir", "--compile-to=grad"]
run("bytecode", *to_grad, f"{folder}/code.mlir", expected=f"{folder}/code.mlir:1: this is MLIR's bytecode, not its text")
run("own bytecode", optimizer, "-o", f"{folder}/out.mlir", f"{folder}/code.mlir")

if wrong:
    sys.exit("\n".join(wrong))
print("everything is refused as it should be")
