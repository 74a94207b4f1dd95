#!/usr/bin/env bash
# On a machine with GPUs: builds the runtime without LLVM, and runs the runtime's tests on the host and on all GPUs, the
# recorded kernels, the golden cases (also in low precision), and one of these under compute-sanitizer where it is installed.
# build-cuda/needs.tar.gz is test/cuda/build.sh's.
#
#   test/cuda/run.sh [GoogleTest's arguments...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
needs=build-cuda/needs
[[ -d $needs && $needs -nt build-cuda/needs.tar.gz ]] || { tar -C build-cuda -xzf build-cuda/needs.tar.gz && touch $needs; }
needs=$PWD/$needs
export PATH=$needs/bin:$PATH:/usr/local/cuda/bin OPENBLAS_NUM_THREADS=1
# After the machine's own: only what it lacks is taken from there.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$needs/lib
cmake -S . -B build-cuda/runtime -G Ninja -DRONDO_RUNTIME_ONLY=ON -DCMAKE_PREFIX_PATH="$needs" -DGTEST_ROOT="$needs" \
  -DCMAKE_BUILD_TYPE=Release >build-cuda/configure.log || { cat build-cuda/configure.log; exit 1; }
ninja -C build-cuda/runtime >build-cuda/build.log || { tail -60 build-cuda/build.log; exit 1; }
bin=$PWD/build-cuda/runtime/bin
gpus=$(nvidia-smi -L | grep -c '^GPU')
"$bin/rondo-run" --list-devices
failed=0
RONDO_TEST_CUDA=$gpus "$bin/RondoRuntimeTests" "$@" || failed=1
python3 test/cuda/replay.py "$needs/cases" || failed=1
RONDO_BIN=$bin python3 test/cuda/golden.py run "$needs/golden" --jobs=8 || failed=1
RONDO_BIN=$bin python3 test/cuda/precision.py run "$needs/precision" || failed=1
if command -v compute-sanitizer >/dev/null; then
  llama=$needs/golden/llama
  for tool in memcheck racecheck initcheck; do
    echo "compute-sanitizer --tool $tool"
    compute-sanitizer --tool $tool --error-exitcode 1 "$bin/rondo-run" "$needs/golden/llama-loss-1-smallest.rondo" --device=cuda:1 \
      --steps=1 --input=input_ids=@"$llama/inputs/input_ids.npy" --input=labels=@"$llama/inputs/labels.npy" || failed=1
  done
fi
exit $failed
