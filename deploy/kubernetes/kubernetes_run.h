// SPDX-License-Identifier: Apache-2.0
//
// The settings of a run on a Kubernetes cluster (docs/how_to/kubernetes.md).
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/metrics.pb.h"

namespace gandem {

struct KubernetesWorker {
  Role role = ROLE_UNKNOWN;  // required
  int rank = 0;
  int threads = 1;           // requested cores
  int gpus = 0;              // requested GPUs
  int64_t memory_bytes = 0;  // requested memory; 0: none
};

// The volume of the run folder. All nodes must be able to write to it.
struct KubernetesVolume {
  std::string claim = {};          // required: PersistentVolumeClaim
  std::string storage_class = {};  // of a new claim; empty: it exists
  std::string size = "50Gi";       // of a new claim
};

struct KubernetesRun {
  std::string name = {};  // required: prefix of object names
  std::string name_space = "default";
  std::string image = {};   // required: see deploy/container
  std::string config = {};  // required: text of the recipe or plan
  bool is_plan = false;     // whether `config` is a plan
  std::vector<std::string> train_arguments = {};  // "--set", "a=b", ...
  std::vector<KubernetesWorker> workers = {};     // required
  KubernetesVolume volume = {};
  absl::Duration grace = absl::Seconds(30);  // control.grace_seconds
  // Port of the coordinator's pod at which Prometheus reads the run's metrics.
  // Unset: no metrics are served.
  std::optional<int> metrics_port = {};
  std::string log_format = "text";  // or "json"
};

// Ports of all runs. Each pod has its own address.
inline constexpr int kControlPort = 7000;
inline constexpr int kExchangePort = 7001;
inline constexpr int kFleetPort = 7002;

// Longest name of a run. Leaves room for "-discriminator-999" and suffixes of
// Kubernetes in the 63 characters of a host name.
inline constexpr size_t kMaxRunName = 38;

// Checks all fields.
//   INVALID_ARGUMENT  Kubernetes would reject a field. Lists all these fields.
absl::Status CheckKubernetesRun(const KubernetesRun& run);

// Converts `text` to a name: lower case, with - for invalid characters. Returns
// "" if no valid character remains.
std::string KubernetesName(const std::string& text);

// Return the name of the Job and the host of a process, which is also the name
// of the coordinator's Service: "mnist-coordinator", "mnist-discriminator-1".
std::string CoordinatorName(const KubernetesRun& run);
std::string PodName(const KubernetesRun& run, const KubernetesWorker& worker);

}  // namespace gandem
