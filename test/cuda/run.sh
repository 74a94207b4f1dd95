#!/usr/bin/env bash
# On a machine with GPUs: builds the runtime without LLVM and runs the runtime's tests on the host and on all GPUs.
# build-cuda/needs.tar.gz is test/cuda/build.sh's.
#
#   test/cuda/run.sh [GoogleTest's arguments...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
needs=build-cuda/needs
[[ -d $needs && $needs -nt build-cuda/needs.tar.gz ]] || { tar -C build-cuda -xzf build-cuda/needs.tar.gz && touch $needs; }
needs=$PWD/$needs
export PATH=$needs/bin:$PATH
# After the machine's own: only what it lacks is taken from there.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$needs/lib
cmake -S . -B build-cuda/runtime -G Ninja -DRONDO_RUNTIME_ONLY=ON -DCMAKE_PREFIX_PATH="$needs" -DGTEST_ROOT="$needs" \
  -DCMAKE_BUILD_TYPE=Release >build-cuda/configure.log || { cat build-cuda/configure.log; exit 1; }
ninja -C build-cuda/runtime >build-cuda/build.log || { tail -60 build-cuda/build.log; exit 1; }
gpus=$(nvidia-smi -L | grep -c '^GPU')
build-cuda/runtime/bin/rondo-run --list-devices
RONDO_TEST_CUDA=$gpus OPENBLAS_NUM_THREADS=1 build-cuda/runtime/bin/RondoRuntimeTests "$@"
