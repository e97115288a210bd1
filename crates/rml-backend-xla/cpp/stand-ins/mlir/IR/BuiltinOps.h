#pragma once
// Minimal declarations of the MLIR types that appear in XLA's public headers.
// Same mangled names, same size, same calling convention as the real ones
// (ModuleOp is one pointer, MLIRContext is one unique_ptr).
#include <memory>
#include <string>
#include <utility>
#include "llvm/Support/raw_ostream.h"
namespace mlir {
class Operation { public: void erase(); };
class MLIRContextImpl;
class DialectRegistry;
class MLIRContext {
 public:
  enum class Threading { DISABLED, ENABLED };
  explicit MLIRContext(Threading multithreading = Threading::ENABLED);
  ~MLIRContext();
 private:
  void* impl_;
};
}
namespace mlir { class ModuleOp; }
namespace xla { std::string PrintModule(mlir::ModuleOp); }
namespace mlir {
class ModuleOp {
 public:
  ModuleOp(Operation* s = nullptr) : state(s) {}
  explicit operator bool() const { return state != nullptr; }
  void erase() { if (state) state->erase(); }
  Operation* getOperation() const { return state; }
  void print(llvm::raw_string_ostream& os) { os.out = xla::PrintModule(*this); }
 private:
  Operation* state;
};
template <typename OpTy>
class OwningOpRef {
 public:
  OwningOpRef() = default;
  OwningOpRef(OpTy o) : op(o) {}
  OwningOpRef(OwningOpRef&& o) : op(o.release()) {}
  ~OwningOpRef() { if (op) op.erase(); }
  OwningOpRef& operator=(OwningOpRef&& o) { if (op) op.erase(); op = o.release(); return *this; }
  OpTy get() const { return op; }
  OpTy operator*() const { return op; }
  OpTy* operator->() { return &op; }
  explicit operator bool() const { return bool(op); }
  OpTy release() { OpTy r = op; op = OpTy(); return r; }
 private:
  OpTy op;
};
}
