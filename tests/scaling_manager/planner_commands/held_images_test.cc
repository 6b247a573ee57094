// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "scaling_manager/planner_commands/plan_inputs.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;

// Returns an IDX file with five images of 3 x 4 pixels.
std::string SmallIdx() {
  const char header[] = {0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 4};
  return std::string(header, sizeof(header)) + std::string(60, 'x');
}

TEST(HeldImagesTest, FilesReadCompletelyIntoMemoryAreCounted) {
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "images", SmallIdx()));
  DataConfig data;
  data.set_idx_images(folder / "images");
  EXPECT_EQ(HeldImageBytes(data), 60);
  data.set_idx_inputs(folder / "images");
  EXPECT_EQ(HeldImageBytes(data), 120);
  DataConfig source;
  source.set_idx_images("");
  source.set_source(folder / "images");
  EXPECT_EQ(HeldImageBytes(source), 60);
}

TEST(HeldImagesTest, ImagesOnOtherMachinesAreNotCounted) {
  DataConfig data;
  data.set_idx_images("/nonexistent/images");
  EXPECT_EQ(HeldImageBytes(data), 0);
  data.set_source("https://127.0.0.1:1/images.tar");
  EXPECT_EQ(HeldImageBytes(data), 0);
}

TEST(HeldImagesTest, WorkersThatTrainOnImagesHoldThemInMemory) {
  Profile profile;
  for (const Role role : {GENERATOR, DISCRIMINATOR, COLOCATED}) {
    Probe& probe = *profile.add_probes();
    probe.mutable_settings()->set_role(role);
    probe.set_peak_bytes(1000);
    probe.set_resting_bytes(400);
  }
  // The probe did not fit, so its memory is unknown.
  profile.add_probes()->mutable_settings()->set_role(DISCRIMINATOR);
  AddHeldImages(50, profile);
  EXPECT_EQ(profile.probes(0).peak_bytes(), 1000);
  EXPECT_EQ(profile.probes(1).peak_bytes(), 1050);
  EXPECT_EQ(profile.probes(1).resting_bytes(), 450);
  EXPECT_EQ(profile.probes(2).peak_bytes(), 1050);
  EXPECT_EQ(profile.probes(3).peak_bytes(), 0);
}

}  // namespace
}  // namespace gandem
