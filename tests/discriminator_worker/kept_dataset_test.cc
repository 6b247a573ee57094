// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/kept_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/file.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::WritePlain;

class KeptDatasetTest : public ::testing::Test {
 protected:
  KeptDatasetTest() {
    plan_.files.set_idx_images(WritePlain(
        dir_ / "images", IdxBytes({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})));
    plan_.files.set_idx_labels("");
    plan_.files.set_image_size(4);
  }

  TempDir dir_;
  DataPlan plan_;
  KeptDataset kept_;
};

TEST_F(KeptDatasetTest, ADatasetIsOpenedOnce) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Dataset> first,
                       kept_.Open(plan_));
  ASSERT_OK(RemoveAll(dir_ / "images"));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Dataset> second,
                       kept_.Open(plan_));
  EXPECT_EQ(first, second);
  EXPECT_EQ(second->size(), 2);
}

TEST_F(KeptDatasetTest, AnotherDatasetIsOpenedOnRequest) {
  ASSERT_OK(kept_.Open(plan_));
  plan_.files.set_max_images(1);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Dataset> one,
                       kept_.Open(plan_));
  EXPECT_EQ(one->size(), 1);
}

TEST_F(KeptDatasetTest, AfterAFailureTheDatasetIsOpenedAgain) {
  const std::string images = plan_.files.idx_images();
  plan_.files.set_idx_images(dir_ / "none");
  EXPECT_THAT(kept_.Open(plan_), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(kept_.Open(plan_), StatusIs(absl::StatusCode::kNotFound));
  plan_.files.set_idx_images(images);
  ASSERT_OK(kept_.Open(plan_));
}

}  // namespace
}  // namespace gandem
