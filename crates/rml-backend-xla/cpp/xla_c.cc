// What the backend calls of XLA, as C functions: the C++ of TensorFlow's wheel has no other stable way in. `src/ffi.rs` declares them.
// What may fail returns its message, to be freed, or null.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/pjrt_client.h"
#include "xla/pjrt/pjrt_executable.h"
#include "xla/pjrt/plugin/xla_cpu/cpu_client_options.h"
#include "xla/xla_data.pb.h"

namespace xla {
absl::StatusOr<std::unique_ptr<PjRtClient>> GetXlaPjrtCpuClient(CpuClientOptions);
absl::StatusOr<std::unique_ptr<PjRtClient>> WrapClientAroundCApi(
    const PJRT_Api*, const absl::flat_hash_map<std::string, PjRtValueType>&,
    std::shared_ptr<KeyValueStoreInterface>);
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(absl::string_view, XlaComputation&, bool,
                                                             bool);
}  // namespace xla

namespace {

char* said(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* said(const absl::Status& status) { return said(status.ToString()); }

// A value out of what may have none, or the return of its message.
#define TAKE(name, from)                         \
  auto name##_or = (from);                       \
  if (!name##_or.ok()) return said(name##_or.status()); \
  auto name = *std::move(name##_or)

// The plugin in a file, initialised. A file is loaded once.
absl::StatusOr<const PJRT_Api*> plugin(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::InternalError(std::string("failed to open ") + file + ": " + dlerror());
  auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  const PJRT_Api* api = get == nullptr ? nullptr : get();
  if (api == nullptr) return absl::NotFoundError(std::string("no plugin in ") + file);
  if (api->pjrt_api_version.major_version != PJRT_API_MAJOR)
    return absl::FailedPreconditionError(
        std::string(file) + " is a plugin for version " + std::to_string(api->pjrt_api_version.major_version) +
        " of the interface, and this is version " + std::to_string(PJRT_API_MAJOR));
  PJRT_Plugin_Initialize_Args args;
  std::memset(&args, 0, sizeof args);
  args.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE;
  PJRT_Error* error = api->PJRT_Plugin_Initialize(&args);
  if (error == nullptr) return api;
  PJRT_Error_Message_Args message;
  std::memset(&message, 0, sizeof message);
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api->PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  PJRT_Error_Destroy_Args destroy;
  std::memset(&destroy, 0, sizeof destroy);
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return absl::InternalError(text);
}

}  // namespace

extern "C" {

void rml_xla_quiet() { absl::SetMinLogLevel(absl::LogSeverityAtLeast::kFatal); }

// The cpu, on which calls run on the thread that makes them.
char* rml_xla_cpu(xla::PjRtClient** out) {
  xla::CpuClientOptions options;
  options.asynchronous = false;
  TAKE(client, xla::GetXlaPjrtCpuClient(options));
  *out = client.release();
  return nullptr;
}

// The devices of a plugin; only one of them where its number is not negative. No memory is taken beforehand.
char* rml_xla_plugin(const char* file, int64_t number, xla::PjRtClient** out) {
  TAKE(api, plugin(file));
  absl::flat_hash_map<std::string, xla::PjRtValueType> options;
  options["preallocate"] = false;
  if (number >= 0) options["visible_devices"] = std::vector<int64_t>{number};
  TAKE(client, xla::WrapClientAroundCApi(api, options, nullptr));
  *out = client.release();
  return nullptr;
}

size_t rml_xla_devices(xla::PjRtClient* client) { return client->device_count(); }

void rml_xla_close(xla::PjRtClient* client) { delete client; }

// Compiles a module in StableHLO text.
char* rml_xla_compile(xla::PjRtClient* client, const char* text, size_t len,
                      xla::PjRtLoadedExecutable** out) {
  xla::XlaComputation computation;
  absl::Status read = xla::ParseMlirModuleStringAndConvertToXlaComputation(
      absl::string_view(text, len), computation, /*use_tuple_args=*/false, /*return_tuple=*/false);
  if (!read.ok()) return said(read);
  TAKE(program, client->CompileAndLoad(computation, xla::CompileOptions()));
  *out = program.release();
  return nullptr;
}

// A program as bytes, to be freed, from which `rml_xla_load` makes it again.
char* rml_xla_serialize(xla::PjRtLoadedExecutable* program, char** out, size_t* len) {
  TAKE(bytes, program->SerializeExecutable());
  *len = bytes.size();
  *out = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (*out == nullptr) return said("out of memory");
  std::memcpy(*out, bytes.data(), bytes.size());
  return nullptr;
}

// Makes a program of such bytes of a client of the same version on the same device.
char* rml_xla_load(xla::PjRtClient* client, const char* bytes, size_t len, xla::PjRtLoadedExecutable** out) {
  TAKE(program, client->LoadSerializedExecutable(absl::string_view(bytes, len), xla::CompileOptions(), xla::LoadOptions()));
  *out = program.release();
  return nullptr;
}

// What programs depend on beside their text, as bytes to be freed: the platform, its version, and the devices with what they can do.
char* rml_xla_platform(xla::PjRtClient* client, char** out, size_t* len) {
  TAKE(topology, client->GetTopologyDescription());
  TAKE(devices, topology->Serialize());
  std::string text(client->platform_name());
  text.append("\n").append(client->platform_version()).append("\n").append(devices);
  *len = text.size();
  *out = static_cast<char*>(std::malloc(text.size() + 1));
  if (*out == nullptr) return said("out of memory");
  std::memcpy(*out, text.data(), text.size());
  return nullptr;
}

// The bytes of the device's memory that a program has in use while it runs, arguments and results included; 0 if that is not known.
uint64_t rml_xla_needs(xla::PjRtLoadedExecutable* program) {
  auto stats = program->GetCompiledMemoryStats();
  if (!stats.ok()) return 0;
  int64_t bytes = stats->argument_size_in_bytes + stats->output_size_in_bytes + stats->temp_size_in_bytes -
                  stats->alias_size_in_bytes;
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// The bytes of memory that the device lends; 0 if that is not known.
uint64_t rml_xla_memory(xla::PjRtClient* client) {
  auto stats = client->addressable_devices()[0]->GetAllocatorStats();
  return stats.ok() ? static_cast<uint64_t>(stats->bytes_limit.value_or(0)) : 0;
}

void rml_xla_drop_program(xla::PjRtLoadedExecutable* program) { delete program; }

// Runs a program. The arguments stay; the list of results is to be freed.
char* rml_xla_run(xla::PjRtLoadedExecutable* program, xla::PjRtBuffer* const* args, size_t count,
                  xla::PjRtBuffer*** out, size_t* results) {
  xla::ExecuteOptions options;
  options.strict_shape_checking = false;
  std::vector<std::vector<xla::PjRtBuffer*>> all = {std::vector<xla::PjRtBuffer*>(args, args + count)};
  TAKE(made, program->Execute(all, options));
  if (made.size() != 1) return said("a program ran on several devices");
  *results = made[0].size();
  *out = static_cast<xla::PjRtBuffer**>(std::malloc((*results + 1) * sizeof(xla::PjRtBuffer*)));
  if (*out == nullptr) return said("out of memory");
  for (size_t i = 0; i < *results; ++i) (*out)[i] = made[0][i].release();
  return nullptr;
}

// Copies elements to a device.
char* rml_xla_upload(xla::PjRtClient* client, const void* data, int type, const int64_t* dims, size_t rank,
                     xla::PjRtBuffer** out) {
  TAKE(memory, client->addressable_devices()[0]->default_memory_space());
  TAKE(buffer,
       client->BufferFromHostBuffer(data, static_cast<xla::PrimitiveType>(type),
                                    absl::Span<const int64_t>(dims, rank), std::nullopt,
                                    xla::PjRtClient::HostBufferSemantics::kImmutableOnlyDuringCall, nullptr,
                                    memory, /*device_layout=*/nullptr));
  *out = buffer.release();
  return nullptr;
}

// Copies elements to the host. What is there is copied on this thread: XLA's own way of it wakes another one, and waits for that.
char* rml_xla_download(xla::PjRtBuffer* buffer, bool is_host, void* to, size_t bytes) {
  if (!is_host) {
    absl::Status done = buffer->CopyRawToHost(to, 0, bytes).Await();
    return done.ok() ? nullptr : said(done);
  }
  absl::Status ready = buffer->GetReadyFuture().Await();
  if (!ready.ok()) return said(ready);
  TAKE(size, buffer->GetOnDeviceSizeInBytes());
  if (size < bytes) return said("a buffer is smaller than its type");
  TAKE(elements, buffer->AcquireExternalReference());
  std::memcpy(to, elements->OpaqueDeviceMemoryDataPointer(), bytes);
  return nullptr;
}

void rml_xla_drop_buffer(xla::PjRtBuffer* buffer) { delete buffer; }

}  // extern "C"
