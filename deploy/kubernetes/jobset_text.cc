// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/jobset_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "deploy/kubernetes/pod_text.h"
#include "deploy/kubernetes/templates.h"
#include "deploy/kubernetes/yaml_text.h"
#include "deploy/text_template.h"

namespace gandem {
namespace {

// How often a run begins again from its newest checkpoint because a worker's
// Job has used up its own tries.
constexpr int kSetRestarts = 3;

// In the set: the run's name and a dash come before it.
std::string NameInSet(const KubernetesRun& run, const PodJob& job) {
  return std::string(absl::StripPrefix(job.pod, absl::StrCat(run.name, "-")));
}

std::string RuleText(const std::string& role, const std::string& action,
                     const std::vector<std::string>& jobs) {
  return absl::StrCat("- name: ", role, "\n  action: ", action,
                      "\n  targetReplicatedJobs: ", YamlList(jobs), "\n");
}

// The coordinator's last word is that of the run; workers without a place in it
// may find one after a new start of all.
std::string RulesText(const KubernetesRun& run,
                      const std::vector<PodJob>& jobs) {
  std::string text;
  for (const auto& [role, action] :
       {std::pair("coordinator", "FailJobSet"),
        std::pair("generator", "RestartJobSet"),
        std::pair("discriminator", "RestartJobSet"),
        std::pair("colocated", "RestartJobSet")}) {
    std::vector<std::string> of_role;
    for (const PodJob& job : jobs) {
      if (job.component == role) of_role.push_back(NameInSet(run, job));
    }
    if (!of_role.empty()) text += RuleText(role, action, of_role);
  }
  return text;
}

std::string ReplicatedJobText(const KubernetesRun& run, const PodJob& job) {
  return FillIn(internal::kReplicatedJobYaml, {{"name", NameInSet(run, job)},
                                               {"run", run.name},
                                               {"component", job.component},
                                               {"spec", job.spec}});
}

}  // namespace

std::string JobSetText(const KubernetesRun& run) {
  std::vector<PodJob> jobs = {CoordinatorJob(run)};
  for (const KubernetesWorker& worker : run.workers) {
    jobs.push_back(WorkerJob(run, worker));
  }
  std::string texts;
  for (const PodJob& job : jobs) texts += ReplicatedJobText(run, job);
  return FillIn(internal::kJobSetYaml,
                {{"run", run.name},
                 {"restarts", absl::StrCat(kSetRestarts)},
                 {"rules", RulesText(run, jobs)},
                 {"jobs", texts}});
}

}  // namespace gandem
