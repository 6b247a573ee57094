// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/kubernetes_run.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/faults.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

// Kubernetes limits a ConfigMap to 1 MiB, metadata included.
constexpr size_t kMaxConfigBytes = 900 << 10;

bool IsLabelCharacter(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
}

// Returns whether `text` is an RFC 1123 label that begins with a letter, as
// names of Services must.
bool IsLabel(const std::string& text, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes &&
         absl::ascii_islower(text.front()) && text.back() != '-' &&
         std::ranges::all_of(text, IsLabelCharacter);
}

// Returns whether `text` is an RFC 1123 subdomain, which may have dots.
bool IsSubdomain(const std::string& text) {
  return !text.empty() && text.size() <= 253 &&
         absl::ascii_isalnum(text.front()) &&
         absl::ascii_isalnum(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return IsLabelCharacter(c) || c == '.'; });
}

void CheckName(const char* flag, const std::string& text, bool fits,
               const std::string& wanted, Faults& faults) {
  if (fits) return;
  faults.Add(
      absl::StrCat(flag, " '", PrintableText(text), "' is not ", wanted));
}

void CheckVolume(const KubernetesVolume& volume, Faults& faults) {
  CheckName("--pvc", volume.claim, IsSubdomain(volume.claim),
            "a name of a PersistentVolumeClaim; a run folder needs renames and "
            "locks, which S3 has not",
            faults);
  if (volume.storage_class.empty()) return;
  CheckName("--storage_class", volume.storage_class,
            IsSubdomain(volume.storage_class), "a name of a StorageClass",
            faults);
  const bool is_amount = !volume.size.empty() &&
                         absl::ascii_isdigit(volume.size.front()) &&
                         std::ranges::all_of(volume.size, absl::ascii_isalnum);
  CheckName("--storage_size", volume.size, is_amount, "an amount such as 50Gi",
            faults);
}

void CheckMetricsPort(int port, Faults& faults) {
  const bool is_taken = port >= kControlPort && port <= kFleetPort;
  // Ports below 1024 need privileges.
  if (port >= 1024 && port <= 65535 && !is_taken) return;
  faults.Add(absl::StrCat(
      "--metrics_port ", port, ": give one from 1024 to 65535, but not ",
      kControlPort, " to ", kFleetPort, ", which pods use themselves"));
}

}  // namespace

absl::Status CheckKubernetesRun(const KubernetesRun& run) {
  Faults faults("what the cluster is to run");
  CheckName("--name", run.name, IsLabel(run.name, kMaxRunName),
            absl::StrCat("1 to ", kMaxRunName,
                         " small letters, digits and -, beginning with a "
                         "letter"),
            faults);
  CheckName("--namespace", run.name_space, IsLabel(run.name_space, 63),
            "a name of a namespace", faults);
  const bool is_image =
      !run.image.empty() && std::ranges::all_of(run.image, absl::ascii_isgraph);
  CheckName("--image", run.image, is_image,
            "an image such as registry.example/gandem:0.1 "
            "(scripts/build_container.sh makes one)",
            faults);
  CheckVolume(run.volume, faults);
  if (run.metrics_port.has_value()) {
    CheckMetricsPort(*run.metrics_port, faults);
  }
  if (run.config.size() > kMaxConfigBytes) {
    faults.Add(absl::StrCat("the recipe or plan has ", run.config.size(),
                            " bytes, at most ", kMaxConfigBytes,
                            " fit into a ConfigMap"));
  }
  if (run.workers.empty()) faults.Add("the run has no workers");
  return faults.ToStatus();
}

std::string KubernetesName(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const char lower = absl::ascii_tolower(c);
    if (IsLabelCharacter(lower) && lower != '-') {
      name += lower;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  if (!name.empty() && absl::ascii_isdigit(name.front())) name = "run-" + name;
  if (name.size() > kMaxRunName) name.resize(kMaxRunName);
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

std::string CoordinatorName(const KubernetesRun& run) {
  return run.name + "-coordinator";
}

std::string PodName(const KubernetesRun& run, const KubernetesWorker& worker) {
  return absl::StrCat(run.name, "-", RoleName(worker.role), "-", worker.rank);
}

}  // namespace gandem
