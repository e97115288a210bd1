#pragma once
#include <string>
namespace llvm {
// Opaque stand-in: only ever handed to mlir::ModuleOp::print below.
class raw_string_ostream {
 public:
  explicit raw_string_ostream(std::string& s) : out(s) {}
  void flush() {}
  std::string& out;
};
}
