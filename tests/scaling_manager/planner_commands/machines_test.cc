// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

Profile TwoCores() {
  Profile profile;
  profile.mutable_fingerprint()->set_cores(2);
  profile.mutable_fingerprint()->set_memory_bytes(int64_t{10} << 30);
  return profile;
}

TEST(MachinesTest, TheDefaultIsThisMachine) {
  ASSERT_OK_AND_ASSIGN(const Machines machines,
                       MachinesFor({}, RunConfig(), TwoCores()));
  ASSERT_EQ(machines.hosts_size(), 1);
  EXPECT_EQ(machines.hosts(0).cores(), 2);
  EXPECT_EQ(machines.hosts(0).device(), "cpu");
  // A tenth of the memory is reserved for the system.
  EXPECT_EQ(machines.hosts(0).memory_bytes(), int64_t{9} << 30);
}

TEST(MachinesTest, TooManyDevicesAreRejected) {
  EXPECT_THAT(MachinesFor({.devices = 8}, RunConfig(), TwoCores()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--devices 8 are more than the 2 cores"),
                             HasSubstr("give --devices 2 at most"),
                             HasSubstr("--hosts FILE"))));
}

TEST(MachinesTest, WithALinkEachDeviceIsAHost) {
  ASSERT_OK_AND_ASSIGN(
      const Machines machines,
      MachinesFor({.devices = 3, .memory = "4GiB", .link = "8Gbit,20ms"},
                  RunConfig(), TwoCores()));
  ASSERT_EQ(machines.hosts_size(), 3);
  EXPECT_EQ(machines.hosts(2).name(), "host2");
  EXPECT_EQ(machines.hosts(2).cores(), 2);
  EXPECT_EQ(machines.hosts(2).memory_bytes(), int64_t{4} << 30);
  EXPECT_DOUBLE_EQ(machines.link().bytes_per_second(), 1e9);
  EXPECT_DOUBLE_EQ(machines.link().latency_seconds(), 0.02);
}

TEST(MachinesTest, RecipesForGpusGetGpus) {
  RunConfig recipe;
  recipe.mutable_discriminator()->set_device("cuda:0");
  ASSERT_OK_AND_ASSIGN(
      const Machines machines,
      MachinesFor({.devices = 4, .memory = "40GiB"}, recipe, TwoCores()));
  EXPECT_EQ(machines.hosts(0).device(), "cuda");
  EXPECT_EQ(machines.hosts(0).devices(), 4);
  EXPECT_EQ(machines.hosts(0).device_memory_bytes(), int64_t{40} << 30);
}

TEST(MachinesTest, GpuMemoryComesFromTheProfile) {
  RunConfig recipe;
  recipe.mutable_discriminator()->set_device("cuda");
  Profile profile = TwoCores();
  ASSERT_OK_AND_ASSIGN(Machines machines, MachinesFor({}, recipe, profile));
  EXPECT_EQ(machines.hosts(0).device_memory_bytes(), 0);  // from a CPU's probes
  profile.add_probes();
  profile.add_probes()->mutable_device_memory()->set_total_bytes(int64_t{80}
                                                                 << 30);
  ASSERT_OK_AND_ASSIGN(machines, MachinesFor({}, recipe, profile));
  EXPECT_EQ(machines.hosts(0).device_memory_bytes(), int64_t{72} << 30);
  EXPECT_EQ(machines.hosts(0).memory_bytes(), int64_t{9} << 30);
}

TEST(MachinesTest, HostsFileIsRead) {
  ASSERT_OK_AND_ASSIGN(
      const Machines machines,
      ParseMachines("hosts { name: 'a' cores: 8 } hosts { name: 'b' cores: 4 "
                    "speed: 0.5 } link { bytes_per_second: 1e9 }",
                    "h"));
  EXPECT_EQ(machines.hosts(0).speed(), 1);
  EXPECT_EQ(machines.hosts(0).device(), "cpu");
  EXPECT_EQ(machines.hosts(1).speed(), 0.5);
}

TEST(MachinesTest, AllFaultsOfAFileAreListed) {
  EXPECT_THAT(
      ParseMachines("hosts { name: 'a' } hosts { name: 'a' cores: 4 devices: 2 "
                    "} hosts { cores: 1 device: 'tpu' }",
                    "h.textproto"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("h.textproto:1:1: hosts[0] (a) has no cores"),
                HasSubstr("h.textproto:1:29: hosts[1].name 'a' is there twice"),
                HasSubstr("hosts[1].devices 2 are GPUs"),
                HasSubstr("hosts[2].name is missing"),
                HasSubstr("hosts[2].device 'tpu' is neither cpu nor cuda"),
                HasSubstr("h.textproto: link is missing"))));
  EXPECT_THAT(
      ParseMachines("", "h"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no hosts")));
  EXPECT_THAT(ParseMachines("hots { }", "h"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("h:1:1")));
  EXPECT_THAT(ParseMachines("hosts { name: 'a' cores: 1 } link { "
                            "bytes_per_second: 0 }",
                            "h"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("link is missing, or has no speed")));
}

TEST(MachinesTest, DevicesAreTakenFromTheFirstHosts) {
  const TempDir folder;
  const std::string file = folder / "hosts";
  ASSERT_OK(WriteFile(file,
                      "hosts { name: 'a' cores: 4 } hosts { name: 'b' cores: 4 "
                      "}"));
  ASSERT_OK_AND_ASSIGN(
      const Machines machines,
      MachinesFor({.devices = 5, .hosts = file, .link = "1Gbit"}, RunConfig(),
                  TwoCores()));
  EXPECT_EQ(machines.hosts(0).cores(), 4);
  EXPECT_EQ(machines.hosts(1).cores(), 1);
  EXPECT_THAT(MachinesFor({.devices = 9, .hosts = file, .link = "1Gbit"},
                          RunConfig(), TwoCores()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("give --devices 8 at most")));
  RunConfig gpus;
  gpus.mutable_discriminator()->set_device("cuda");
  EXPECT_THAT(MachinesFor({.hosts = file, .link = "1Gbit"}, gpus, TwoCores()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("host 'a' has device cpu"),
                             HasSubstr("--set discriminator.device=cpu"))));
}

}  // namespace
}  // namespace gandem
