// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/pod_text.h"

#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/config/role_name.h"
#include "deploy/kubernetes/manifests.h"
#include "deploy/kubernetes/yaml_text.h"
#include "deploy/text_template.h"

namespace gandem {

namespace internal {
extern const std::span<const unsigned char> kJobYaml;  // templates/job.yaml
}  // namespace internal

namespace {

// Time for stopping the workers and for exiting, in addition to
// control.grace_seconds for a checkpoint.
constexpr absl::Duration kLeaveTime = absl::Seconds(30);

// Limits of restarts by Kubernetes, for early failures such as a wrong
// argument. The coordinator limits later restarts itself.
constexpr int kCoordinatorRetries = 6;
constexpr int kWorkerRetries = 100;

std::string PortLines(const NamedPorts& ports) {
  std::string lines;
  for (const auto& [name, port] : ports) {
    absl::StrAppend(&lines, "- name: ", name, "\n  containerPort: ", port,
                    "\n");
  }
  return lines;
}

std::string ArgumentLines(const std::vector<std::string>& arguments) {
  std::string lines;
  for (const std::string& argument : arguments) {
    absl::StrAppend(&lines, "- ", YamlQuoted(argument), "\n");
  }
  return lines;
}

void AddLogFlags(const KubernetesRun& run,
                 std::vector<std::string>& arguments) {
  if (run.log_format == "text") return;
  arguments.insert(arguments.end(), {"--log_format", run.log_format});
}

// Escapes $(NAME), which Kubernetes would expand.
std::string Literal(const std::string& argument) {
  return absl::StrReplaceAll(argument, {{"$(", "$$("}});
}

// Fills in the template of a Job. `values`: those that differ between the pods.
std::string JobText(const KubernetesRun& run, const std::string& pod,
                    const std::string& component, TemplateValues values) {
  values.insert({{"run", run.name},
                 {"pod", pod},
                 {"component", component},
                 {"image", YamlQuoted(run.image)},
                 {"claim", run.volume.claim},
                 {"grace", absl::StrCat(absl::ToInt64Seconds(absl::Ceil(
                               run.grace + kLeaveTime, absl::Seconds(1))))}});
  return FillIn(internal::kJobYaml, values);
}

std::vector<std::string> CoordinatorArguments(const KubernetesRun& run) {
  const std::string pod = CoordinatorName(run);
  std::vector<std::string> arguments = {"gandem", "train"};
  if (run.is_plan) arguments.push_back("--plan");
  arguments.push_back(run.is_plan ? "/recipe/plan.textproto"
                                  : "/recipe/recipe.textproto");
  arguments.insert(arguments.end(),
                   {"--run_dir", RunFolderInPod(run), "--external", "--listen",
                    absl::StrCat(pod, ":", kControlPort)});
  if (run.metrics_port.has_value()) {
    arguments.insert(
        arguments.end(),
        {"--metrics_listen", absl::StrCat(pod, ":", *run.metrics_port)});
  }
  AddLogFlags(run, arguments);
  for (const std::string& argument : run.train_arguments) {
    arguments.push_back(Literal(argument));
  }
  return arguments;
}

// Kubernetes expands $(POD_IP) to the pod's address, which the worker registers
// with the coordinator.
std::string ListenAt(int port) { return absl::StrCat("$(POD_IP):", port); }

std::vector<std::string> WorkerArguments(const KubernetesRun& run,
                                         const KubernetesWorker& worker) {
  std::vector<std::string> arguments = {
      absl::StrCat(RoleName(worker.role), "_worker"),
      "--control",
      absl::StrCat(CoordinatorName(run), ":", kControlPort),
      "--rank",
      absl::StrCat(worker.rank),
      "--token_file",
      RunFolderInPod(run) + "/state/token"};
  if (worker.role == DISCRIMINATOR) {
    arguments.insert(arguments.end(), {"--listen", ListenAt(kExchangePort)});
  }
  if (worker.role != COLOCATED) {
    arguments.insert(arguments.end(), {"--fleet_listen", ListenAt(kFleetPort)});
  }
  AddLogFlags(run, arguments);
  return arguments;
}

}  // namespace

NamedPorts CoordinatorPorts(const KubernetesRun& run) {
  NamedPorts ports = {{"control", kControlPort}};
  if (run.metrics_port.has_value()) {
    ports.push_back({"metrics", *run.metrics_port});
  }
  return ports;
}

// Only the coordinator has probes, since it monitors the workers itself. A
// probe connects without sending data, so it needs no certificate.
std::string CoordinatorJob(const KubernetesRun& run) {
  return JobText(
      run, CoordinatorName(run), "coordinator",
      {{"is_coordinator", "yes"},
       {"metrics_port",
        run.metrics_port.has_value() ? absl::StrCat(*run.metrics_port) : ""},
       {"retries", absl::StrCat(kCoordinatorRetries)},
       {"command", YamlList({"gandem_pod", "coordinator"})},
       {"arguments", ArgumentLines(CoordinatorArguments(run))},
       {"tells_address", ""},
       {"ports", PortLines(CoordinatorPorts(run))},
       {"requests", "cpu: 250m\nmemory: 256Mi\n"},
       {"limits", "memory: 2Gi\n"}});
}

std::string WorkerJob(const KubernetesRun& run,
                      const KubernetesWorker& worker) {
  std::string requests = absl::StrCat("cpu: ", worker.threads, "\n");
  std::string limits;
  if (worker.memory_bytes > 0) {
    const std::string memory =
        absl::StrCat("memory: ", worker.memory_bytes, "\n");
    requests += memory;
    limits += memory;
  }
  if (worker.gpus > 0) {
    absl::StrAppend(&limits, "nvidia.com/gpu: ", worker.gpus, "\n");
  }
  NamedPorts ports;
  if (worker.role == DISCRIMINATOR) {
    ports.push_back({"exchange", kExchangePort});
  }
  ports.push_back({"fleet", kFleetPort});
  return JobText(
      run, PodName(run, worker), RoleName(worker.role),
      {{"is_coordinator", ""},
       {"metrics_port", ""},
       {"retries", absl::StrCat(kWorkerRetries)},
       {"command", YamlList({"gandem_pod", "worker", RunFolderInPod(run)})},
       {"arguments", ArgumentLines(WorkerArguments(run, worker))},
       {"tells_address", "yes"},
       {"ports", PortLines(ports)},
       {"requests", requests},
       {"limits", limits}});
}

}  // namespace gandem
