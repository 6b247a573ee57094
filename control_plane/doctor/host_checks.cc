// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/host_checks.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/config/role_device.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/quantities.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kFewDescriptors = 4096;
constexpr absl::Duration kLoaderLimit = absl::Seconds(30);
constexpr size_t kMaxLoaderWords = 500;
constexpr absl::string_view kElfMark = "\177ELF";

// Of GPUs that a role names, the highest number; -1: none.
int HighestGpu(const std::string& device) {
  absl::string_view text = device;
  if (!absl::ConsumePrefix(&text, "cuda")) return -1;
  int number = 0;
  if (absl::ConsumePrefix(&text, ":") && !absl::SimpleAtoi(text, &number)) {
    return -1;
  }
  return number;
}

int GpusOf(const std::string& device_folder) {
  const auto names = ListDirectory(device_folder);
  if (!names.ok()) return 0;
  return static_cast<int>(
      std::ranges::count_if(*names, [](const std::string& name) {
        absl::string_view number = name;
        return absl::ConsumePrefix(&number, "nvidia") && !number.empty() &&
               std::ranges::all_of(number, absl::ascii_isdigit);
      }));
}

// Anything else would run, whatever its environment says of the loader.
absl::Status CheckIsElf(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  std::string mark(kElfMark.size(), ' ');
  file.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  if (file && mark == kElfMark) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", program, "' is no program that can be looked into"));
}

// The host with the most, by the plan; bytes of all its workers, but for those
// on GPUs, of which the GPU's memory was predicted.
int64_t LargestHost(const Candidate& plan) {
  std::map<std::string, int64_t> hosts;
  for (const PlacedWorker& worker : plan.placement().workers()) {
    const Prediction& prediction = plan.prediction();
    const bool is_generator = worker.role() == GENERATOR;
    const RoleConfig& role = is_generator ? plan.config().generator()
                                          : plan.config().discriminator();
    if (IsOnGpu(role)) continue;
    hosts[worker.host()] += is_generator ? prediction.generator_bytes()
                                         : prediction.discriminator_bytes();
  }
  int64_t most = 0;
  for (const auto& [host, bytes] : hosts) most = std::max(most, bytes);
  return most;
}

}  // namespace

Finding CheckPrograms(const std::string& folder) {
  std::vector<std::string> missing;
  for (const char* const name :
       {"generator_worker", "discriminator_worker", "colocated_worker"}) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), X_OK) != 0) missing.push_back(name);
  }
  if (missing.empty()) {
    return Fine("programs", "the workers are in " + folder);
  }
  return Fault("programs",
               absl::StrCat("there is no ", absl::StrJoin(missing, ", "),
                            " that can be run in ", folder),
               "gandem starts what is beside itself: install all programs of "
               "one build there");
}

Finding CheckMemory(const Candidate* plan, int64_t free_bytes) {
  const std::string free = BytesText(free_bytes) + " of memory are free";
  const int64_t needed = plan == nullptr ? 0 : LargestHost(*plan);
  if (needed == 0)
    return Fine("memory", free + "; no plan says what is needed");
  if (needed <= free_bytes) {
    return Fine("memory", absl::StrCat(free, ", the plan's fullest host needs ",
                                       BytesText(needed)));
  }
  return Fault("memory",
               absl::StrCat(free, ", but the plan's fullest host needs ",
                            BytesText(needed)),
               "end what else runs here, plan with --memory, or take smaller "
               "micro-batches");
}

Finding CheckCores(const RunConfig& config, int allowed, int usable) {
  const std::string text =
      usable < allowed
          ? absl::StrCat("the CPU quota of this control group grants ", usable,
                         " of ", allowed, " cores")
          : absl::StrCat(usable, " cores");
  const int threads =
      std::max(config.generator().threads(), config.discriminator().threads());
  if (threads <= usable) return Fine("cores", text);
  return Warning(
      "cores",
      absl::StrCat(text, ", and a worker has ", threads, " compute threads"),
      "set generator.threads and discriminator.threads to no more "
      "than the cores, or raise the quota");
}

Finding CheckGpus(const RunConfig& config, const std::string& device_folder) {
  const int highest = std::max(HighestGpu(config.generator().device()),
                               HighestGpu(config.discriminator().device()));
  const int gpus = GpusOf(device_folder);
  if (highest < 0) return Fine("GPUs", "none is asked for");
  if (highest < gpus) {
    return Fine("GPUs", absl::StrCat("cuda:", highest, " is one of ", gpus));
  }
  return Fault("GPUs",
               absl::StrCat("the recipe asks for cuda:", highest, ", but ",
                            device_folder, " has ", gpus, " GPUs"),
               "load the driver (nvidia-smi lists its GPUs), give the "
               "container or job its GPUs, or set device to cpu");
}

Finding CheckNccl(const RunConfig& config, bool is_built_in,
                  const absl::StatusOr<std::string>& library) {
  const auto asks = [](const RoleConfig& role) {
    return role.sync().collective() == SyncConfig::NCCL;
  };
  if (!asks(config.generator()) && !asks(config.discriminator())) {
    return Fine("NCCL", "none is asked for");
  }
  if (!is_built_in) {
    return Fault("NCCL",
                 "the recipe asks for it (sync.collective), but this gandem "
                 "was built without",
                 "build it with GANDEM_CUDA=ON where a CUDA toolkit and nccl.h "
                 "are installed, or set sync.collective to RING");
  }
  if (library.ok()) return Fine("NCCL", "the workers load " + *library);
  return Fault("NCCL", std::string(library.status().message()),
               "install it where it was when gandem was built, or add its "
               "folder to LD_LIBRARY_PATH of all workers");
}

absl::StatusOr<std::string> FindLibrary(const std::string& program,
                                        const std::string& library) {
  GANDEM_RETURN_IF_ERROR(CheckIsElf(program));
  GANDEM_ASSIGN_OR_RETURN(
      const ProcessOutput said,
      RunToEnd({.arguments = {program},
                .environment = {"LD_TRACE_LOADED_OBJECTS=1"}},
               MonotonicNow() + kLoaderLimit));
  const std::string name = library + " => ";
  for (const absl::string_view line : absl::StrSplit(said.text, '\n')) {
    absl::string_view path = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&path, name)) continue;
    if (path == "not found") {
      return absl::NotFoundError(
          absl::StrCat("the loader finds no ", library, " for ", program));
    }
    return std::string(path.substr(0, path.rfind(" (")));
  }
  if (said.end.exit_code != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        program, " cannot be loaded: ",
        Printable(absl::StripAsciiWhitespace(said.text), kMaxLoaderWords)));
  }
  return absl::NotFoundError(
      absl::StrCat(program, " is not linked with ", library));
}

Finding CheckDescriptors(int64_t limit) {
  const std::string text =
      absl::StrCat("a process may have ", limit, " files and connections open");
  if (limit >= kFewDescriptors) return Fine("descriptors", text);
  return Warning(
      "descriptors", text,
      absl::StrCat("raise the hard limit (ulimit -Hn) to ", kFewDescriptors,
                   " where fleets or data folders are large"));
}

}  // namespace gandem
