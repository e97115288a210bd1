#pragma once
#include "mlir/IR/BuiltinOps.h"
