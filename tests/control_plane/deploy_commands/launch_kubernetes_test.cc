// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/launch_kubernetes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TempDir;

constexpr char kNoMessage[] = "";
class LaunchKubernetesTest : public ::testing::Test {
 protected:
  LaunchKubernetesTest() {
    // No real kubectl may be found in PATH.
    setenv("PATH", (temp_.path() + "/bin:/usr/bin:/bin").c_str(), 1);
    options_ = {
        .flags = {.recipe = absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                                         "/recipes/mlp_smoke.textproto"),
                  .data = "/gandem/data"},
        .output = temp_.path() + "/out",
        .run = {.image = "gandem:test", .volume = {.claim = "shared"}},
    };
  }

  ~LaunchKubernetesTest() override { setenv("PATH", old_path_.c_str(), 1); }

  // Error message of KubernetesRunOf, or kNoMessage.
  std::string Fault() {
    const auto run = KubernetesRunOf(options_);
    return run.ok() ? kNoMessage : std::string(run.status().message());
  }

  // A kubectl that keeps its arguments and ends as `script` says.
  void PlayKubectl(const std::string& script) {
    ASSERT_OK(CreateDirectories(temp_.path() + "/bin"));
    const std::string path = temp_.path() + "/bin/kubectl";
    ASSERT_OK(WriteFile(path, absl::StrCat("#!/bin/sh\necho \"$@\" >> ",
                                           temp_.path(), "/calls\n", script)));
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
  }
  std::string Calls() { return *ReadFile(temp_.path() + "/calls"); }

  TempDir temp_;
  const std::string old_path_ = std::getenv("PATH");
  LaunchKubernetesOptions options_;
  std::ostringstream out_;
};

TEST_F(LaunchKubernetesTest, ARecipeIsARun) {
  options_.flags.sets = {"discriminator.workers=2", "generator.device=cuda",
                         "control.grace_seconds=90"};
  options_.memory = "2GiB";
  options_.run.metrics_port = 9400;
  options_.run.log_format = "json";
  ASSERT_OK_AND_ASSIGN(const KubernetesRun run, KubernetesRunOf(options_));
  ASSERT_EQ(run.workers.size(), 3u);
  EXPECT_EQ(PodName(run, run.workers[0]), "mlp-smoke-generator-0");
  EXPECT_EQ(PodName(run, run.workers[2]), "mlp-smoke-discriminator-1");
  EXPECT_EQ(run.workers[0].gpus, 1);
  EXPECT_EQ(run.workers[1].gpus, 0);
  EXPECT_EQ(run.workers[1].memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(run.grace, absl::Seconds(90));
  EXPECT_EQ(run.metrics_port, 9400);
  EXPECT_EQ(run.log_format, "json");
  EXPECT_THAT(
      run.train_arguments,
      ElementsAre("--data", "/gandem/data", "--set", "discriminator.workers=2",
                  "--set", "generator.device=cuda", "--set",
                  "control.grace_seconds=90"));
  EXPECT_FALSE(run.is_plan);
}

TEST_F(LaunchKubernetesTest, APlanSaysWhoAndHowMuchMemory) {
  ASSERT_OK_AND_ASSIGN(
      const RunConfig config,
      LoadRunConfig(options_.flags.recipe,
                    std::vector<std::string>{"generator.workers=2"}));
  Plan plan;
  plan.mutable_machines()->add_hosts()->set_name("a");
  for (const char* const name : {"first", "second"}) {
    Candidate& candidate = *plan.add_candidates();
    candidate.set_name(name);
    *candidate.mutable_config() = EffectiveConfig(config);
    candidate.mutable_prediction()->set_generator_bytes(1000);
    candidate.mutable_prediction()->set_discriminator_bytes(2000);
    for (const auto& [role, rank] :
         {std::pair(GENERATOR, 0), std::pair(GENERATOR, 1),
          std::pair(DISCRIMINATOR, 0)}) {
      PlacedWorker& worker = *candidate.mutable_placement()->add_workers();
      worker.set_role(role);
      worker.set_rank(rank);
      worker.set_host("a");
      worker.set_threads(1);
    }
  }
  options_.flags.recipe = temp_.path() + "/plan.textproto";
  ASSERT_OK(WritePlan(plan, options_.flags.recipe));
  options_.flags.candidate = 2;
  ASSERT_OK_AND_ASSIGN(const KubernetesRun run, KubernetesRunOf(options_));
  EXPECT_TRUE(run.is_plan);
  ASSERT_EQ(run.workers.size(), 3u);
  EXPECT_EQ(run.workers[1].memory_bytes, 1250);
  EXPECT_EQ(run.workers[2].memory_bytes, 2500);
  EXPECT_THAT(run.train_arguments,
              ElementsAre("--candidate", "2", "--data", "/gandem/data"));
  options_.flags.candidate = 3;
  EXPECT_THAT(Fault(), AllOf(HasSubstr("--candidate 3"), HasSubstr("has 2")));
  // For a role with GPUs, the plan predicts only the memory of the GPUs.
  options_.flags.candidate = 2;
  options_.flags.sets = {"discriminator.device=\"cuda\""};
  ASSERT_OK_AND_ASSIGN(const KubernetesRun with_gpu, KubernetesRunOf(options_));
  EXPECT_EQ(with_gpu.workers[1].memory_bytes, 1250);
  EXPECT_EQ(with_gpu.workers[2].memory_bytes, 0);
}

TEST_F(LaunchKubernetesTest, SaysWhatPodsDoNotHave) {
  options_.run.volume.claim = "";
  options_.flags.data = "photos";
  options_.flags.sets = {"discriminator.device=\"cuda:1\""};
  EXPECT_THAT(Fault(),
              AllOf(HasSubstr("discriminator.device 'cuda:1'"),
                    HasSubstr("the images 'photos'"), HasSubstr("--pvc NAME")));
  options_.flags.sets = {"generator.network.python.module=\"gan.py\"",
                         "generator.network.python.name=\"G\""};
  EXPECT_THAT(Fault(), HasSubstr("generator.network.python: the image"));
  options_.flags.sets.clear();
  options_.flags.data = "s3://bucket/photos";
  options_.run.volume.storage_class = "nfs";
  EXPECT_EQ(Fault(), "");
}

TEST_F(LaunchKubernetesTest, ADryRunAsksNoCluster) {
  PlayKubectl("exit 1\n");
  options_.flags.dry_run = true;
  options_.output = "";
  ASSERT_OK(LaunchKubernetes(options_, out_));
  EXPECT_THAT(out_.str(), AllOf(StartsWith("---\n# recipe.yaml\n"),
                                HasSubstr("kind: NetworkPolicy"),
                                Not(HasSubstr("kind: Kustomization"))));
  options_.output = temp_.path() + "/out";
  ASSERT_OK(LaunchKubernetes(options_, out_));
  EXPECT_TRUE(PathExists(options_.output + "/kustomization.yaml"));
  EXPECT_FALSE(PathExists(temp_.path() + "/calls"));
}

TEST_F(LaunchKubernetesTest, GivesTheRunToTheCluster) {
  PlayKubectl("exit 0\n");
  ASSERT_OK(LaunchKubernetes(options_, out_));
  EXPECT_EQ(
      Calls(),
      absl::StrCat("get persistentvolumeclaim shared --namespace default "
                   "--output name --request-timeout=20s\n",
                   "apply --request-timeout=30s -k ", options_.output, "\n"));
  EXPECT_THAT(out_.str(), HasSubstr("kubectl delete -k " + options_.output));
}

TEST_F(LaunchKubernetesTest, MakesTheClaimThatItIsAskedFor) {
  PlayKubectl("exit 0\n");
  options_.run.volume.claim = "";
  options_.run.volume.storage_class = "nfs";
  ASSERT_OK(LaunchKubernetes(options_, out_));
  EXPECT_EQ(Calls(),
            absl::StrCat("apply --request-timeout=30s -f ", options_.output,
                         "/volume.yaml\napply --request-timeout=30s -k ",
                         options_.output, "\n"));
}

TEST_F(LaunchKubernetesTest, AMissingClaimIsNamed) {
  PlayKubectl("[ \"$1\" = auth ]\n");
  const absl::Status status = LaunchKubernetes(options_, out_);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no persistentvolumeclaim 'shared' in namespace "
                              "'default'"),
                    HasSubstr("--storage_class")));
}

TEST_F(LaunchKubernetesTest, ARefusalSaysHowToTakeItBack) {
  PlayKubectl("[ \"$1\" != apply ]\n");
  const absl::Status status = LaunchKubernetes(options_, out_);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("kubectl delete -k " + options_.output));
}

TEST_F(LaunchKubernetesTest, WithoutKubectlSaysSo) {
  setenv("PATH", (temp_.path() + "/none").c_str(), 1);
  const absl::Status status = LaunchKubernetes(options_, out_);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no kubectl"));
}

}  // namespace
}  // namespace gandem
