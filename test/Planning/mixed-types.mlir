// Matrices that train in bf16 beside norm weights that train in f32: each is
// uploaded in its own type, from f32 masters. One device and three give the
// same bits.
// REQUIRES: python
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as np; r = np.random.RandomState(7); ids = r.randint(0, 16, (24, 6)); np.save('ids.npy', ids.astype(np.int64)); np.save('labels.npy', (ids * 3 % 16).astype(np.int64))"
// RUN: rondo-compile --from=raise %s -o one.rondo
// RUN: rondo-run one.rondo --weights=random:1 --input=ids=@ids.npy --input=labels=@labels.npy --epochs=5 --losses=one.csv --save=one.safetensors
// RUN: sed s/devices.=.1/devices=3/ %s > three.mlir && rondo-compile --from=raise three.mlir -o three.rondo
// RUN: rondo-run three.rondo --weights=random:1 --input=ids=@ids.npy --input=labels=@labels.npy --epochs=5 --losses=three.csv --save=three.safetensors
// RUN: cmp one.csv three.csv && cmp one.safetensors three.safetensors
// RUN: rondo-dump one.rondo | FileCheck %s --check-prefix=TYPES
// TYPES-DAG: gain{{.*}}float32
// TYPES-DAG: table{{.*}}bfloat16
// The loss of guessing is log 16 = 2.77; the labels are a function of the ids.
// RUN: %python -c "rows = open('one.csv').read().split()[1:]; first, last = (float(r.split(',')[1]) for r in (rows[0], rows[-1])); assert 2.7 < first < 2.85 and last < 2.0, (first, last)"

module attributes {rondo.config = {devices = 1 : i64, micro_batches = 2 : i64, learning_rate = 0.05 : f64}} {
  nn.parameter @table trainable : tensor<16x8xbf16>
  nn.parameter @gain trainable : tensor<8xf32>
  nn.parameter @head trainable : tensor<8x16xbf16>
  func.func @loss(%ids: tensor<2x6xi64> {nn.name = "ids"}, %labels: tensor<2x6xi64> {nn.name = "labels"}) -> (tensor<f32> {nn.name = "loss"}) attributes {nn.loss} {
    %table = nn.read @table : tensor<16x8xbf16>
    %x = nn.gather %table, %ids axis 0 : tensor<16x8xbf16>, tensor<2x6xi64>
    %gain = nn.read @gain : tensor<8xf32>
    %wide = nn.cast %x : tensor<2x6x8xbf16> to tensor<2x6x8xf32>
    %n = nn.rms_norm %wide, %gain epsilon 1.0e-6 : tensor<2x6x8xf32>, tensor<8xf32>
    %narrow = nn.cast %n : tensor<2x6x8xf32> to tensor<2x6x8xbf16>
    %head = nn.read @head : tensor<8x16xbf16>
    %logits = nn.matmul %narrow, %head : tensor<2x6x8xbf16>, tensor<8x16xbf16> -> tensor<2x6x16xbf16>
    %rows = nn.reshape %logits : tensor<2x6x16xbf16> -> tensor<12x16xbf16>
    %flat = nn.reshape %labels : tensor<2x6xi64> -> tensor<12xi64>
    %loss = nn.cross_entropy %rows, %flat : tensor<12x16xbf16>, tensor<12xi64>
    return %loss : tensor<f32>
  }
}
