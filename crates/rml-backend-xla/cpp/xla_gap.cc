// Fills what libtensorflow_cc does not export but the `xla` crate's shim needs
// (the PJRT plugin registry), and adds StableHLO-text import.
#include <dlfcn.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/pjrt_client.h"
#include "xla/service/hlo.pb.h"

namespace {
struct Entry { const PJRT_Api* api; bool initialized; };
std::mutex mu;
std::map<std::string, Entry>& reg() { static auto* m = new std::map<std::string, Entry>; return *m; }
std::string key(absl::string_view s) { std::string r(s); for (auto& c : r) c = std::tolower((unsigned char)c); return r; }
}  // namespace

namespace pjrt {
absl::StatusOr<const PJRT_Api*> PjrtApi(absl::string_view t) {
  std::lock_guard<std::mutex> l(mu);
  auto it = reg().find(key(t));
  if (it == reg().end()) return absl::NotFoundError("PJRT_Api not found for " + std::string(t));
  return it->second.api;
}
absl::StatusOr<const PJRT_Api*> LoadPjrtPlugin(absl::string_view t, absl::string_view path) {
  std::string p(path);
  void* h = dlopen(p.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (h == nullptr) return absl::InternalError("failed to open " + p + ": " + dlerror());
  auto f = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(h, "GetPjrtApi"));
  if (f == nullptr) return absl::NotFoundError("no GetPjrtApi in " + p);
  const PJRT_Api* api = f();
  if (api == nullptr) return absl::InternalError("GetPjrtApi returned null");
  if (api->pjrt_api_version.major_version != PJRT_API_MAJOR)
    return absl::FailedPreconditionError("PJRT major version mismatch");
  std::lock_guard<std::mutex> l(mu);
  reg()[key(t)] = Entry{api, false};
  return api;
}
absl::StatusOr<bool> IsPjrtPluginInitialized(absl::string_view t) {
  std::lock_guard<std::mutex> l(mu);
  auto it = reg().find(key(t));
  if (it == reg().end()) return absl::NotFoundError("PJRT_Api not found for " + std::string(t));
  return it->second.initialized;
}
absl::Status InitializePjrtPlugin(absl::string_view t) {
  std::lock_guard<std::mutex> l(mu);
  auto it = reg().find(key(t));
  if (it == reg().end()) return absl::NotFoundError("PJRT_Api not found for " + std::string(t));
  if (it->second.initialized) return absl::OkStatus();
  const PJRT_Api* api = it->second.api;
  PJRT_Plugin_Initialize_Args a;
  std::memset(&a, 0, sizeof a);
  a.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE;
  if (PJRT_Error* e = api->PJRT_Plugin_Initialize(&a)) {
    PJRT_Error_Message_Args m;
    std::memset(&m, 0, sizeof m);
    m.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
    m.error = e;
    api->PJRT_Error_Message(&m);
    std::string msg(m.message, m.message_size);
    PJRT_Error_Destroy_Args d;
    std::memset(&d, 0, sizeof d);
    d.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
    d.error = e;
    api->PJRT_Error_Destroy(&d);
    return absl::InternalError("PJRT_Plugin_Initialize: " + msg);
  }
  it->second.initialized = true;
  return absl::OkStatus();
}
}  // namespace pjrt

namespace xla {
absl::StatusOr<std::unique_ptr<PjRtClient>> WrapClientAroundCApi(
    const PJRT_Api*, const absl::flat_hash_map<std::string, PjRtValueType>&,
    std::shared_ptr<KeyValueStoreInterface>);
// Interposes libtensorflow_cc's version, which consults its own (hidden)
// plugin registry.
absl::StatusOr<std::unique_ptr<PjRtClient>> GetCApiClient(
    absl::string_view device_type,
    const absl::flat_hash_map<std::string, PjRtValueType>& create_options,
    std::shared_ptr<KeyValueStoreInterface> kv_store) {
  auto api = pjrt::PjrtApi(device_type);
  if (!api.ok()) return api.status();
  return WrapClientAroundCApi(*api, create_options, std::move(kv_store));
}
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(
    absl::string_view, XlaComputation&, bool, bool);
}  // namespace xla

// StableHLO (or MHLO/CHLO; text or bytecode) -> serialised HloModuleProto.
// 0: *out/*n hold the proto; 1: *out/*n hold the error message. free() *out.
extern "C" int xla_gap_stablehlo_to_hlo_proto(const char* text, size_t len, int return_tuple,
                                              char** out, size_t* n) {
  xla::XlaComputation comp;
  absl::Status s = xla::ParseMlirModuleStringAndConvertToXlaComputation(
      absl::string_view(text, len), comp, /*use_tuple_args=*/false, return_tuple != 0);
  std::string r;
  if (s.ok()) comp.proto().SerializeToString(&r);
  else r = s.ToString();
  *out = static_cast<char*>(std::malloc(r.size() + 1));
  std::memcpy(*out, r.data(), r.size());
  (*out)[r.size()] = 0;
  *n = r.size();
  return s.ok() ? 0 : 1;
}
