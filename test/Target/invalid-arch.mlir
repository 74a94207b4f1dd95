// RUN: not rondo-opt %s --rondo-print-ptx=arch=sm_8 -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: unknown GPU architecture 'sm_8'; write sm_80, sm_90 or the like

kern.func @empty() attributes {inputs = 0 : i64} {
  kern.return
}
