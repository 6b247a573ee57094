// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/kubernetes_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

KubernetesRun Good() {
  return {.name = "mnist",
          .name_space = "default",
          .image = "registry.example/gandem:0.1",
          .config = "rounds: 4\n",
          .workers = {{.role = GENERATOR}, {.role = DISCRIMINATOR, .rank = 1}},
          .volume = {.claim = "shared"}};
}

std::string FaultsOf(const KubernetesRun& run) {
  return std::string(CheckKubernetesRun(run).message());
}

TEST(KubernetesRunTest, PodsAreNamedByRunRoleAndRank) {
  const KubernetesRun run = Good();
  EXPECT_EQ(CoordinatorName(run), "mnist-coordinator");
  EXPECT_EQ(PodName(run, run.workers.back()), "mnist-discriminator-1");
  EXPECT_EQ(FaultsOf(run), "");
}

TEST(KubernetesRunTest, RecipeNamesBecomeValidNames) {
  EXPECT_EQ(KubernetesName("mlp_smoke"), "mlp-smoke");
  EXPECT_EQ(KubernetesName("FFHQ 64_"), "ffhq-64");
  EXPECT_EQ(KubernetesName("64px"), "run-64px");
  EXPECT_EQ(KubernetesName("___"), "");
  EXPECT_EQ(KubernetesName(std::string(100, 'a')).size(), kMaxRunName);
}

TEST(KubernetesRunTest, ListsAllFaultsAtOnce) {
  KubernetesRun run = Good();
  run.name = "Mnist_";
  run.name_space = "-";
  run.image = "two words";
  run.volume.claim = "a/b";
  run.workers.clear();
  EXPECT_THAT(FaultsOf(run),
              AllOf(HasSubstr("--name 'Mnist_'"), HasSubstr("--namespace '-'"),
                    HasSubstr("--image 'two words'"), HasSubstr("--pvc 'a/b'"),
                    HasSubstr("no workers")));
}

TEST(KubernetesRunTest, NamesLeaveRoomForPodNames) {
  KubernetesRun run = Good();
  run.name = std::string(kMaxRunName, 'a');
  EXPECT_EQ(FaultsOf(run), "");
  // Kubernetes adds "-" and five characters to a Job's name.
  EXPECT_LE(PodName(run, {.role = DISCRIMINATOR, .rank = 999}).size() + 6, 63u);
  run.name += 'a';
  EXPECT_THAT(FaultsOf(run), HasSubstr("--name"));
}

TEST(KubernetesRunTest, AClaimToBeCreatedNeedsAClassAndASize) {
  KubernetesRun run = Good();
  run.volume = {.claim = "c", .storage_class = "nfs", .size = "50Gi"};
  EXPECT_EQ(FaultsOf(run), "");
  for (const char* const size : {"", "Gi", "5 Gi", "-5Gi"}) {
    run.volume.size = size;
    EXPECT_THAT(FaultsOf(run), HasSubstr("--storage_size")) << size;
  }
}

TEST(KubernetesRunTest, TheMetricsPortIsFreeInPods) {
  KubernetesRun run = Good();
  for (const int port : {1024, 6999, 7003, 65535}) {
    run.metrics_port = port;
    EXPECT_EQ(FaultsOf(run), "");
  }
  for (const int port : {-1, 0, 1023, 7000, 7002, 65536}) {
    run.metrics_port = port;
    EXPECT_THAT(FaultsOf(run), AllOf(HasSubstr("--metrics_port "),
                                     HasSubstr("but not 7000 to 7002")))
        << port;
  }
}

TEST(KubernetesRunTest, ARunFolderInS3IsRefusedWithAReason) {
  KubernetesRun run = Good();
  run.volume.claim = "s3://bucket/runs";
  EXPECT_THAT(FaultsOf(run), HasSubstr("renames and locks, which S3 has not"));
}

TEST(KubernetesRunTest, AConfigTooLargeForAConfigMapIsRefused) {
  KubernetesRun run = Good();
  run.config = std::string(1 << 20, '#');
  EXPECT_THAT(FaultsOf(run), HasSubstr("ConfigMap"));
}

}  // namespace
}  // namespace gandem
