// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/host_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kGiB = int64_t{1} << 30;

class ProgramsTest : public ::testing::Test {
 protected:
  void Install(const std::string& name, mode_t mode) {
    ASSERT_OK(WriteFile(folder_ / name, "#!/bin/sh\n"));
    ASSERT_EQ(chmod((folder_ / name).c_str(), mode), 0);
  }
  TempDir folder_;
};

TEST_F(ProgramsTest, WorkersThatAreMissingOrCannotRunAreNamed) {
  Install("generator_worker", 0755);
  Install("discriminator_worker", 0644);
  const Finding found = CheckPrograms(folder_.path());
  EXPECT_THAT(FindingLine(found),
              AllOf(StartsWith("FAULT"), HasSubstr("discriminator_worker"),
                    HasSubstr("colocated_worker"),
                    Not(HasSubstr("no generator_worker"))));
  Install("discriminator_worker", 0755);
  Install("colocated_worker", 0755);
  EXPECT_THAT(FindingLine(CheckPrograms(folder_.path())), StartsWith("ok "));
}

TEST(CoresTest, AQuotaIsSaidAndCounts) {
  RunConfig config;
  config.mutable_generator()->set_threads(3);
  EXPECT_THAT(FindingLine(CheckCores(config, 8, 8)), StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckCores(config, 8, 3)),
              AllOf(StartsWith("ok "), HasSubstr("grants 3 of 8 cores")));
  EXPECT_THAT(FindingLine(CheckCores(config, 8, 2)),
              AllOf(StartsWith("warning"), HasSubstr("grants 2 of 8 cores"),
                    HasSubstr("a worker has 3 compute threads"),
                    HasSubstr("generator.threads")));
}

// Two hosts: alpha has both discriminators.
Candidate PlanOf(int64_t generator_bytes, int64_t discriminator_bytes) {
  Candidate plan;
  plan.mutable_prediction()->set_generator_bytes(generator_bytes);
  plan.mutable_prediction()->set_discriminator_bytes(discriminator_bytes);
  for (const auto& [role, host] :
       {std::pair(DISCRIMINATOR, "alpha"), std::pair(DISCRIMINATOR, "alpha"),
        std::pair(GENERATOR, "beta")}) {
    PlacedWorker* const worker = plan.mutable_placement()->add_workers();
    worker->set_role(role);
    worker->set_host(host);
  }
  return plan;
}

TEST(HostChecksTest, AHostWithTooLittleMemoryForItsWorkers) {
  const Candidate plan = PlanOf(5 * kGiB, 3 * kGiB);
  EXPECT_THAT(FindingLine(CheckMemory(&plan, 6 * kGiB - 1)),
              AllOf(StartsWith("FAULT"), HasSubstr("needs 6.00 GiB"),
                    HasSubstr("--memory")));
  EXPECT_THAT(FindingLine(CheckMemory(&plan, 6 * kGiB)), StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckMemory(nullptr, kGiB)),
              AllOf(StartsWith("ok "), HasSubstr("no plan says")));
  // Of who has a GPU its memory was predicted.
  Candidate on_gpus = plan;
  on_gpus.mutable_config()->mutable_discriminator()->set_device("cuda");
  EXPECT_THAT(FindingLine(CheckMemory(&on_gpus, 5 * kGiB)), StartsWith("ok "));
  EXPECT_THAT(FindingLine(CheckMemory(&on_gpus, 5 * kGiB - 1)),
              StartsWith("FAULT"));
}

TEST(HostChecksTest, GpusThatAreNotThere) {
  const TempDir devices;
  for (const char* const name : {"nvidia0", "nvidia1", "nvidiactl"}) {
    ASSERT_OK(WriteFile(devices / name, ""));
  }
  RunConfig config;
  EXPECT_THAT(FindingLine(CheckGpus(config, devices.path())),
              HasSubstr("none is asked for"));
  config.mutable_discriminator()->set_device("cuda:1");
  EXPECT_THAT(FindingLine(CheckGpus(config, devices.path())),
              AllOf(StartsWith("ok "), HasSubstr("one of 2")));
  config.mutable_generator()->set_device("cuda:2");
  EXPECT_THAT(
      FindingLine(CheckGpus(config, devices.path())),
      AllOf(StartsWith("FAULT"), HasSubstr("cuda:2"), HasSubstr("nvidia-smi")));
  config.mutable_generator()->set_device("cuda");
  EXPECT_THAT(FindingLine(CheckGpus(config, devices / "none")),
              AllOf(StartsWith("FAULT"), HasSubstr("has 0 GPUs")));
}

TEST(HostChecksTest, NcclThatIsNotThere) {
  RunConfig config;
  const absl::Status missing =
      absl::NotFoundError("libnccl.so.2: no such file");
  EXPECT_THAT(FindingLine(CheckNccl(config, false, missing)),
              AllOf(StartsWith("ok "), HasSubstr("none is asked for")));
  config.mutable_discriminator()->mutable_sync()->set_collective(
      SyncConfig::NCCL);
  EXPECT_THAT(FindingLine(CheckNccl(config, false, missing)),
              AllOf(StartsWith("FAULT"), HasSubstr("built without"),
                    HasSubstr("RING")));
  EXPECT_THAT(FindingLine(CheckNccl(config, true, missing)),
              AllOf(StartsWith("FAULT"), HasSubstr("libnccl.so.2: no such"),
                    HasSubstr("LD_LIBRARY_PATH")));
  EXPECT_THAT(FindingLine(CheckNccl(config, true, "/opt/libnccl.so.2")),
              AllOf(StartsWith("ok "), HasSubstr("/opt/libnccl.so.2")));
}

// A program that needs another library in the place of the C library.
void PlantProgram(const std::string& path, const std::string& library) {
  ASSERT_OK_AND_ASSIGN(std::string program, ReadFile("/bin/sh"));
  const std::string name = "libc.so.6";
  const size_t place = program.find(name + std::string(1, '\0'));
  ASSERT_NE(place, std::string::npos);
  ASSERT_EQ(library.size(), name.size());
  program.replace(place, name.size(), library);
  ASSERT_OK(WriteFile(path, program));
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
}

TEST(FindLibraryTest, IsLookedForAsTheLoaderDoes) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const std::string found,
                       FindLibrary("/bin/sh", "libc.so.6"));
  EXPECT_TRUE(PathExists(found)) << found;
  const std::string program = folder / "worker";
  PlantProgram(program, "libx.so.6");
  EXPECT_THAT(FindLibrary(program, "libx.so.6"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("libx.so.6"), HasSubstr(program))));
  // In a folder that the loader is told.
  ASSERT_OK_AND_ASSIGN(const std::string library, ReadFile(found));
  ASSERT_OK(WriteFile(folder / "libx.so.6", library));
  ASSERT_EQ(setenv("LD_LIBRARY_PATH", folder.path().c_str(), 1), 0);
  const auto given = FindLibrary(program, "libx.so.6");
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_OK(given);
  EXPECT_EQ(*given, folder / "libx.so.6");
}

TEST(FindLibraryTest, SaysWhyThereIsNoAnswer) {
  EXPECT_THAT(FindLibrary("/bin/sh", "libnccl.so.2"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/bin/sh is not linked with libnccl.so.2")));
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "script", "#!/bin/sh\ntouch $0.ran\n"));
  ASSERT_EQ(chmod((folder / "script").c_str(), 0755), 0);
  EXPECT_THAT(
      FindLibrary(folder / "script", "libc.so.6"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no program")));
  EXPECT_FALSE(PathExists(folder / "script.ran"));
}

TEST(HostChecksTest, FewDescriptorsAreAWarning) {
  EXPECT_THAT(FindingLine(CheckDescriptors(1024)),
              AllOf(StartsWith("warning"), HasSubstr("ulimit -Hn")));
  EXPECT_THAT(FindingLine(CheckDescriptors(1 << 20)), StartsWith("ok "));
}

}  // namespace
}  // namespace gandem
