# Configuration of the lit tests. Substitutions beyond lit's own:
#   %golden   folder of the golden cases        %python   Python with NumPy
#   %src      source root                       %check    test/golden/check.py
#   %obj      build folder
# Features: python (NumPy is there), text (and the text of test/text), cuda (an NVIDIA device answers), ptxas (it
# is on PATH; tests find it there).

import ctypes
import os
import shutil
import subprocess

import lit.formats
import lit.util
from lit.llvm import llvm_config

config.name = "Rondo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.rondo_obj_root, "test")

golden = os.path.join(config.test_source_root, "golden")
config.substitutions.append(("%golden", golden))
config.substitutions.append(("%src", config.rondo_src_root))
config.substitutions.append(("%obj", config.rondo_obj_root))
config.substitutions.append(("%python", config.rondo_python))
config.substitutions.append(("%check", config.rondo_python + " " + os.path.join(golden, "check.py")))

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.rondo_tools_dir, append_path=True)
llvm_config.with_system_environment(["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"])
llvm_config.use_default_substitutions()
for tool in ("rondo-opt", "rondo-compile", "rondo-run", "rondo-dump"):
    # By full path, so that a tool that was not built is an error and never
    # one that happens to be installed.
    path = os.path.join(config.rondo_tools_dir, tool)
    config.substitutions.append((r"(?<![-./\w])%s(?![-\w.])" % tool, path))

# A product must give the same bits whatever the number of cores.
config.environment["OPENBLAS_NUM_THREADS"] = "1"


def has_numpy():
    probe = [config.rondo_python, "-c", "import numpy"]
    return subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0


def has_cuda_device():
    """Asks the driver itself; cuInit fails where there is no device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def has_text():
    probe = "import sys; sys.path.insert(0, sys.argv[1]); import text; sys.exit(text.read() is None)"
    return subprocess.run([config.rondo_python, "-B", "-c", probe, os.path.join(config.test_source_root, "text")]).returncode == 0


if has_numpy():
    config.available_features.add("python")
    if has_text():
        config.available_features.add("text")
if ptxas := shutil.which("ptxas"):
    config.available_features.add("ptxas")
    llvm_config.with_environment("PATH", os.path.dirname(ptxas), append_path=True)
# Off unless asked for: a test run never takes a device by surprise.
if lit_config.params.get("cuda") == "1":
    if has_cuda_device():
        config.available_features.add("cuda")
    else:
        lit_config.fatal("--param cuda=1 was given, but no CUDA device answers")
