#!/usr/bin/env bash
# Collects what a GPU machine with CMake, ninja, a C++ compiler and nothing of Rondo's other needs lacks for building the
# runtime: flatc, and the headers and libraries of FlatBuffers, xxHash, nlohmann-json, OpenBLAS and GoogleTest, all from
# this machine's packages, and cudnn-frontend's headers (./rondo-dev setup; those of cuDNN and CUDA too after ./rondo-dev setup cuda).
# Programs are compiled here, too, for machines without LLVM.
#
#   test/cuda/build.sh [PROGRAM.rondo...]
#
# writes build-cuda/needs.tar.gz. Carry the repository and that file to the GPU machine, and there run test/cuda/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build-cuda
rm -rf "$out/needs" && mkdir -p "$out/needs/"{bin,include,lib,programs}
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
for program in "$@"; do
  cp "$program" "$out/needs/programs/"
done
tar -C "$out" -czf "$out/needs.tar.gz" needs
ls -l "$out/needs.tar.gz"
