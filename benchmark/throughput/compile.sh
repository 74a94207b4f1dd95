#!/usr/bin/env bash
# Compiles Qwen3-1.7B for the speed run: 4 micro-batches of 2 sequences of 4096 tokens a round, 1 and 4 rounds for each GPU.
#
#   benchmark/throughput/compile.sh BUILD OUT [--devices=1,2] [rondo-compile's options...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1 out=$2 devices=1
shift 2
if [[ ${1:-} == --devices=* ]]; then
  devices=${1#--devices=}
  shift
fi
mkdir -p "$out"
gzip -dc test/graphs/qwen3_1_7b_sdynamic_opset23.onnx.gz >"$out/model.onnx"
for count in ${devices//,/ }; do
  for share in 1 4; do
    rounds=$((share * count)) on=
    ((count == 1)) || on=_on_$count
    "$build/bin/rondo-compile" "$out/model.onnx" -o "$out/qwen3_1_7b_$((8 * rounds))$on.rondo" --dim batch=2 --dim sequence=4096 \
      --target=h200 --devices="$count" --device-memory=23.2GiB --micro-batches=4 --rounds=$rounds --staleness=1 --precision=bf16 \
      --optimizer=adamw,lr=1e-5,weight-decay=0.01 --report=text "$@"
  done
done
rm "$out/model.onnx"
