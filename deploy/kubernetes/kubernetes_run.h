// SPDX-License-Identifier: Apache-2.0
//
// A run as a Kubernetes cluster gets to see it: who takes part, and what of the
// cluster it uses. docs/how_to/kubernetes.md explains the choices to users.
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
  int threads = 1;           // cores that it asks for
  int gpus = 0;              // it asks for, and gets
  int64_t memory_bytes = 0;  // it asks for; 0: nothing
};

// The volume of the run folder. All nodes must be able to write to it.
struct KubernetesVolume {
  std::string claim = {};          // required: a PersistentVolumeClaim
  std::string storage_class = {};  // of which it is made; empty: it is there
  std::string size = "50Gi";       // where it is made
};

struct KubernetesRun {
  std::string name = {};  // required: all objects begin with it
  std::string name_space = "default";
  std::string image = {};   // required: of deploy/container
  std::string config = {};  // required: the text of the recipe, or of the plan
  bool is_plan = false;     // that `config` is a plan
  std::vector<std::string> train_arguments = {};  // "--set", "a=b", ...
  std::vector<KubernetesWorker> workers = {};     // required
  KubernetesVolume volume = {};
  absl::Duration grace = absl::Seconds(30);  // control.grace_seconds
  // Port of the coordinator's pod at which Prometheus reads the run's metrics.
  // Unset: no metrics are served.
  std::optional<int> metrics_port = {};
  std::string log_format = "text";  // or "json"
};

// Ports of every run: its pods have addresses of their own.
inline constexpr int kControlPort = 7000;
inline constexpr int kExchangePort = 7001;
inline constexpr int kFleetPort = 7002;

// Length of a name that leaves room for "-discriminator-999" and what
// Kubernetes adds, in the 63 characters of a host's name.
inline constexpr size_t kMaxRunName = 38;

// INVALID_ARGUMENT lists every field that Kubernetes would reject, and the
// values that it would accept.
absl::Status CheckKubernetesRun(const KubernetesRun& run);

// `text` as a name: in lower case, with - for characters that a name may not
// have. Empty if no character remains.
std::string KubernetesName(const std::string& text);

// "mnist-coordinator", and of a worker "mnist-discriminator-1": the names of
// its Job and of its host, and of the coordinator's Service.
std::string CoordinatorName(const KubernetesRun& run);
std::string PodName(const KubernetesRun& run, const KubernetesWorker& worker);

}  // namespace gandem
