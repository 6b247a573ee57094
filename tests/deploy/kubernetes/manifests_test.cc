// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

using Files = std::map<std::string, std::string>;

KubernetesRun Full() {
  KubernetesRun run = {
      .name = "faces",
      .name_space = "gans",
      .image = "registry.example/gandem:0.1",
      .config = "# A recipe.\nname: \"faces\"\nrounds: 4\n",
      .train_arguments = {"--set", "name=\"$(HOME): it's\""},
      .workers = {{.role = GENERATOR, .threads = 4, .gpus = 1},
                  {.role = DISCRIMINATOR,
                   .threads = 2,
                   .memory_bytes = int64_t{3} << 30},
                  {.role = DISCRIMINATOR,
                   .rank = 1,
                   .threads = 2,
                   .memory_bytes = int64_t{3} << 30}},
      .volume = {.claim = "faces-run", .storage_class = "nfs", .size = "10Gi"},
      .grace = absl::Seconds(45.5),
      .metrics_port = 9400,
      .log_format = "json"};
  return run;
}

KubernetesRun Plain() {
  KubernetesRun run = Full();
  run.volume = {.claim = "shared"};
  run.train_arguments.clear();
  run.metrics_port.reset();
  run.log_format = "text";
  return run;
}

Files Render(const KubernetesRun& run) {
  const auto rendered = RenderManifests(run);
  EXPECT_OK(rendered);
  Files files;
  for (const ManifestFile& file : *rendered) files[file.name] = file.text;
  return files;
}

std::string GoldenFolder(const std::string& name) {
  return absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                      "/tests/deploy/kubernetes/goldens/", name);
}

// Written anew by GANDEM_WRITE_GOLDENS=1; PyYAML, an independent reader, says
// whether they mean what they should.
void ExpectGolden(const std::string& name, const Files& files) {
  const std::string folder = GoldenFolder(name);
  const bool writes = std::getenv("GANDEM_WRITE_GOLDENS") != nullptr;
  if (writes) {
    ASSERT_OK(CreateDirectories(folder));
  }
  for (const auto& [file, text] : files) {
    const std::string path = absl::StrCat(folder, "/", file);
    if (writes) {
      ASSERT_OK(WriteFile(path, text));
    }
    const auto golden = ReadFile(path);
    ASSERT_OK(golden);
    EXPECT_EQ(text, *golden) << path;
  }
  const auto names = ListDirectory(folder);
  ASSERT_OK(names);
  EXPECT_EQ(names->size(), files.size()) << "files in " << folder;
}

TEST(ManifestsTest, AreTheirGoldens) {
  ExpectGolden("full", Render(Full()));
  ExpectGolden("plain", Render(Plain()));
}

// Deleting the run keeps its checkpoints.
TEST(ManifestsTest, TheClaimIsNotPartOfTheRun) {
  const Files files = Render(Full());
  EXPECT_THAT(files, Contains(Key(kVolumeFile)));
  EXPECT_THAT(files.at("kustomization.yaml"), Not(HasSubstr(kVolumeFile)));
  EXPECT_THAT(files.at(kVolumeFile), HasSubstr("namespace: gans"));
  EXPECT_THAT(Render(Plain()), Not(Contains(Key(kVolumeFile))));
}

TEST(ManifestsTest, ColocatedIsOneWorker) {
  KubernetesRun run = Plain();
  run.workers = {{.role = COLOCATED}};
  const Files files = Render(run);
  EXPECT_THAT(files, Not(Contains(Key("generators.yaml"))));
  EXPECT_THAT(files.at("colocated.yaml"), HasSubstr("colocated_worker"));
  EXPECT_THAT(files.at("colocated.yaml"), Not(HasSubstr("--fleet_listen")));
}

TEST(ManifestsTest, APlanIsTrainedByPlan) {
  KubernetesRun run = Plain();
  run.is_plan = true;
  const Files files = Render(run);
  EXPECT_THAT(files.at("coordinator.yaml"), HasSubstr("- \"--plan\"\n"));
  EXPECT_THAT(files.at("recipe.yaml"), HasSubstr("plan.textproto:"));
}

TEST(ManifestsTest, TextOfUsersStaysUnchanged) {
  KubernetesRun run = Plain();
  run.train_arguments = {"--set", "name=\"__pod__\""};
  EXPECT_THAT(Render(run).at("coordinator.yaml"),
              HasSubstr("- \"name=\\\"__pod__\\\"\"\n"));
}

TEST(ManifestsTest, InvalidRunsAreNotRendered) {
  KubernetesRun run = Plain();
  run.image = "";
  EXPECT_THAT(std::string(RenderManifests(run).status().message()),
              HasSubstr("--image"));
}

}  // namespace
}  // namespace gandem
