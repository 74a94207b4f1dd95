#!/usr/bin/env bash
# Collects what a GPU machine with CMake, ninja, a C++ compiler and nothing of Rondo's other needs lacks for building the
# runtime: flatc, and the headers and libraries of FlatBuffers, xxHash, nlohmann-json, OpenBLAS and GoogleTest, all from
# this machine's packages, and cudnn-frontend's headers (./rondo-dev setup; those of cuDNN and CUDA too after ./rondo-dev setup cuda).
# What a compiler is needed for is made here, too: the golden cases' programs, and the kernels that the compiler's tests
# record with the host's results.
#
#   test/cuda/build.sh [BUILD-FOLDER]      default: build, with rondo-compile, rondo-dump and RondoTargetTests
#
# writes build-cuda/needs.tar.gz. Carry the repository and that file to the GPU machine, and there run test/cuda/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build-cuda
build=${1:-build}
rm -rf "$out/needs" && mkdir -p "$out/needs/"{bin,include,lib,cases}
libraries=/usr/lib/$(gcc -dumpmachine)

cp "$(command -v flatc)" "$out/needs/bin/"
cp -rL /usr/include/{flatbuffers,nlohmann,gtest,xxhash.h} "$out/needs/include/"
cp -L "/usr/include/$(gcc -dumpmachine)/openblas-pthread/"*.h "$out/needs/include/"
cp -L "$libraries"/libgtest{,_main}.a "$out/needs/lib/"
if [[ -d build/cuda-headers/include ]]; then
  cp -rL build/cuda-headers/include/. "$out/needs/include/"
fi
# With the names that linkers look for, and what it is linked to.
cp -L "$libraries/openblas-pthread/libopenblas.so.0" "$libraries"/lib{gfortran.so.5,quadmath.so.0} "$out/needs/lib/"
ln -s libopenblas.so.0 "$out/needs/lib/libopenblas.so"
RONDO_BIN=$build/bin python3 test/cuda/golden.py compile "$out/needs/golden"
RONDO_BIN=$build/bin python3 test/cuda/precision.py compile "$out/needs/precision"
RONDO_GPU_CASES=$out/needs/cases "$build/bin/RondoTargetTests" >"$out/cases.log" || { tail -40 "$out/cases.log"; exit 1; }
tar -C "$out" -czf "$out/needs.tar.gz" needs
ls -l "$out/needs.tar.gz"
