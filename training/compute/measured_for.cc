// SPDX-License-Identifier: Apache-2.0
#include "training/compute/measured_for.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/sha256.h"

namespace gandem {
namespace {

constexpr char kProcessors[] = "/proc/cpuinfo";
constexpr char kGpus[] = "/proc/driver/nvidia/gpus";
constexpr int64_t kMostBytes = 16 << 20;  // of many processors

// The lines of a file that begin so, each once; none where there is no file.
void AddLines(const std::string& path, absl::string_view begin,
              std::set<std::string>& lines) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostBytes);
  if (!text.ok()) return;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, begin)) lines.emplace(line);
  }
}

std::set<std::string> MachineKind(const std::string& device) {
  std::set<std::string> lines;
  AddLines(kProcessors, "model name", lines);
  AddLines(kProcessors, "flags", lines);  // which vectors it has
  if (!absl::StartsWith(device, "cuda")) return lines;
  const auto gpus = ListDirectory(kGpus);
  if (!gpus.ok()) return lines;
  for (const std::string& gpu : *gpus) {
    AddLines(absl::StrCat(kGpus, "/", gpu, "/information"), "Model", lines);
  }
  return lines;
}

}  // namespace

std::string MeasuredFor(const NetworkPlan& plan) {
  Sha256 digest;
  digest.Update(plan.network.SerializeAsString());
  digest.Update(absl::StrCat(
      "|", plan.role, "|", plan.data.image.channels, "|",
      plan.data.image.height, "|", plan.data.image.width, "|",
      plan.data.num_classes, "|", plan.batch_size, "|", plan.micro_batch, "|",
      plan.device, "|", plan.threads, "|", plan.precision, "|", plan.layout,
      "|", plan.may_be_float16, "|", plan.recompute_blocks));
  for (const std::string& line : MachineKind(plan.device)) {
    digest.Update(absl::StrCat("|", line));
  }
  return digest.Finish();
}

}  // namespace gandem
