// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/random_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "common/config/run_config.h"
#include "pipeline/sources/open_dataset.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::TempDir;

struct ImageKind {
  int64_t size;
  int64_t channels;
  int64_t num_classes;
  bool has_pairs;
};

class RandomImagesTest : public ::testing::TestWithParam<ImageKind> {
 protected:
  const TempDir folder_;
};

TEST_P(RandomImagesTest, TheImagesHaveTheNetworksFormat) {
  const ImageKind& kind = GetParam();
  DataConfig recipe;
  recipe.set_image_size(kind.size);
  recipe.set_channels(kind.channels);
  recipe.set_num_classes(kind.num_classes);
  recipe.set_source("/nowhere");
  if (kind.has_pairs) recipe.set_inputs("/nowhere");
  ASSERT_OK_AND_ASSIGN(const DataConfig data,
                       WriteRandomImages(recipe, folder_.path()));
  EXPECT_EQ(DataShapeOf(data), DataShapeOf(recipe));
  EXPECT_EQ(HasPairs(data), kind.has_pairs);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Dataset> dataset,
                       kind.has_pairs ? OpenPairs(data) : OpenDataset(data));
  EXPECT_GE(dataset->size(), 16);
  EXPECT_EQ(dataset->shape().height, kind.size);
  EXPECT_EQ(dataset->shape().channels,
            kind.has_pairs ? 2 * kind.channels : kind.channels);
  std::vector<float> pixels(dataset->shape().NumValues());
  std::set<int64_t> labels;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const int64_t label, dataset->Read(i, pixels));
    labels.insert(label);
  }
  EXPECT_GT(std::set<float>(pixels.begin(), pixels.end()).size(), 10u);
  if (kind.num_classes > 0) {
    EXPECT_GE(std::ssize(labels), 2);
    EXPECT_LT(*labels.rbegin(), kind.num_classes);
    EXPECT_EQ(*labels.begin(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RandomImagesTest,
    ::testing::Values(ImageKind{8, 1, 0, false}, ImageKind{28, 1, 10, false},
                      ImageKind{32, 1, 0, true}, ImageKind{64, 3, 0, false},
                      ImageKind{48, 3, 10, false},
                      ImageKind{32, 3, 1000, false}, ImageKind{32, 3, 0, true},
                      ImageKind{512, 3, 0, false}));

}  // namespace
}  // namespace gandem
