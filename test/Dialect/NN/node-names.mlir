// A diagnostic names the ONNX node that an op comes from: its location does.
// RUN: not rondo-opt %s 2>&1 | FileCheck %s

// CHECK: error: loc("/model/layers.3/Cast_2"("::Cast")): 'nn.cast' op changes the shape from [2, 3] to [3, 2]
func.func @names_the_node(%x: tensor<2x3xf32>) {
  %0 = nn.cast %x : tensor<2x3xf32> to tensor<3x2xf16> loc("/model/layers.3/Cast_2"("::Cast"))
  return
}
