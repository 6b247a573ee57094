// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/torchscript_extractor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include "common/files/file.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kTorchscriptExtractorDim = 3 * 4 * 4;  // of the modules below
constexpr int64_t kTorchscriptExtractorClasses = 5;
constexpr ImageShape kImages = {.channels = 3, .height = 4, .width = 4};

// Arguments and results are those of inception-2015-12-05.pt.
constexpr char kStyleGan[] = R"(
def forward(self, img, return_features: bool = False, use_fp16: bool = False,
            no_output_bias: bool = False):
    features = img.float().flatten(1) / 256
    if return_features:
        return features
    logits = torch.matmul(features, self.WEIGHT.t())
    if not no_output_bias:
        logits = logits + 1000 * self.bias
    return torch.softmax(logits, 1)
)";

class TorchScriptTest : public ::testing::Test {
 protected:
  // Opens a module whose forward is `code` and whose class weights are `name`.
  absl::StatusOr<std::unique_ptr<FeatureExtractor>> Open(
      std::string code, const std::string& name = "weight",
      ImageShape shape = kImages) {
    torch::jit::Module module("net");
    module.register_parameter("calls", torch::zeros({}), /*is_buffer=*/true);
    if (name == "output.weight") {
      torch::jit::Module output("output");
      output.register_parameter("weight", weight_, weight_is_buffer_);
      module.register_module("output", output);
    } else {
      module.register_parameter(name, weight_, /*is_buffer=*/false);
    }
    module.register_parameter(
        "bias", torch::arange(kTorchscriptExtractorClasses).to(at::kFloat),
        /*is_buffer=*/false);
    if (const size_t at = code.find("WEIGHT"); at != std::string::npos) {
      code.replace(at, 6, name);
    }
    module.define(code);
    const std::string path = dir_ / "net.pt";
    module.save(path);
    return OpenFeatureExtractor(path, {.image_shape = shape});
  }

  static at::Tensor Images(int64_t count, int64_t channels = 3) {
    return torch::arange(count * channels * 16)
        .remainder(253)
        .to(at::kByte)
        .view({count, channels, 4, 4});
  }

  void ExpectStyleGanFeatures(FeatureExtractor& extractor) {
    EXPECT_EQ(extractor.net().feature_dim, kTorchscriptExtractorDim);
    EXPECT_EQ(extractor.net().num_classes, kTorchscriptExtractorClasses);
    EXPECT_FALSE(extractor.net().is_inception);
    ASSERT_OK_AND_ASSIGN(const Features result, extractor.Extract(Images(2)));
    const at::Tensor features = Images(2).to(at::kDouble).flatten(1) / 256;
    EXPECT_TRUE(result.features_ND.allclose(features, 0, 1e-6));
    // The logits have no bias and are correct up to a constant per row.
    const at::Tensor expected =
        at::linear(features, weight_.to(at::kDouble)).softmax(1);
    EXPECT_TRUE(result.logits_NK.softmax(1).allclose(expected, 0, 1e-5));
  }

  bool weight_is_buffer_ = false;
  const at::Tensor weight_ =
      torch::linspace(-1, 1,
                      kTorchscriptExtractorClasses* kTorchscriptExtractorDim)
          .sin()
          .view({kTorchscriptExtractorClasses, kTorchscriptExtractorDim});
  gandem::testing::TempDir dir_;
};

TEST_F(TorchScriptTest, CallsTheInceptionFileCorrectly) {
  ASSERT_OK_AND_ASSIGN(const auto extractor, Open(kStyleGan));
  ExpectStyleGanFeatures(*extractor);
}

// The module is asked for probabilities when it is opened, and then never
// again.
TEST_F(TorchScriptTest, SkipsTheSecondCall) {
  std::string code = kStyleGan;
  const std::string last = "    return torch.softmax(logits, 1)";
  code.replace(code.find(last), last.size(), R"(
    self.calls.add_(1)
    if int(self.calls) > 1:
        logits = torch.log(logits - logits - 1)
    return torch.softmax(logits, 1)
)");
  for (const bool is_buffer : {false, true}) {
    weight_is_buffer_ = is_buffer;
    ASSERT_OK_AND_ASSIGN(const auto extractor, Open(code, "output.weight"));
    ExpectStyleGanFeatures(*extractor);
  }
  ASSERT_OK_AND_ASSIGN(const auto asks_again, Open(code));
  EXPECT_THAT(asks_again->Extract(Images(2)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("logits")));
}

// A layer `output` that does something else is not taken for the last one.
TEST_F(TorchScriptTest, AnotherOutputLayerIsNotUsed) {
  std::string code = kStyleGan;
  const std::string product = "torch.matmul(features, self.WEIGHT.t())";
  code.replace(code.find(product), product.size(),
               "torch.matmul(features, -self.WEIGHT.t())");
  ASSERT_OK_AND_ASSIGN(const auto extractor, Open(code, "output.weight"));
  ASSERT_OK_AND_ASSIGN(const Features result, extractor->Extract(Images(2)));
  const at::Tensor features = Images(2).to(at::kDouble).flatten(1) / 256;
  EXPECT_TRUE(result.logits_NK.softmax(1).allclose(
      at::linear(features, -weight_.to(at::kDouble)).softmax(1), 0, 1e-5));
}

TEST_F(TorchScriptTest, FeaturesAloneAndPairs) {
  ASSERT_OK_AND_ASSIGN(const auto alone, Open(R"(
def forward(self, img):
    return img.double().mean([2, 3])
)"));
  EXPECT_EQ(alone->net().feature_dim, 3);
  EXPECT_EQ(alone->net().num_classes, 0);
  ASSERT_OK_AND_ASSIGN(const Features features, alone->Extract(Images(2)));
  EXPECT_FALSE(features.logits_NK.defined());
  ASSERT_OK_AND_ASSIGN(const auto pair, Open(R"(
def forward(self, img):
    x = img.half().flatten(1)
    return x, x[:, :7]
)"));
  EXPECT_EQ(pair->net().num_classes, 7);
  ASSERT_OK_AND_ASSIGN(const Features both, pair->Extract(Images(2)));
  EXPECT_THAT(both.logits_NK.sizes(), ElementsAre(2, 7));
}

TEST_F(TorchScriptTest, GrayImagesBecomeRgb) {
  ASSERT_OK_AND_ASSIGN(
      const auto extractor,
      Open(R"(
def forward(self, img):
    return img.float().mean([2, 3])
)",
           "weight", {.channels = 1, .height = 4, .width = 4}));
  ASSERT_OK_AND_ASSIGN(const Features result,
                       extractor->Extract(Images(2, /*channels=*/1)));
  EXPECT_THAT(result.features_ND.sizes(), ElementsAre(2, 3));
  EXPECT_TRUE(
      result.features_ND.select(1, 0).equal(result.features_ND.select(1, 2)));
}

TEST_F(TorchScriptTest, ModulesThatAreNoExtractors) {
  EXPECT_THAT(Open("def forward(self, img):\n    return 5\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("net.pt"), HasSubstr("Int"))));
  EXPECT_THAT(Open("def forward(self, img):\n    return img.float()\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("4 dimensions, expected [N, D]")));
  EXPECT_THAT(Open("def forward(self, img):\n    return img.float(), 5\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("whose elements are not tensors")));
  EXPECT_THAT(Open("def forward(self, img):\n"
                   "    return torch.matmul(img.float().flatten(1), "
                   "self.weight.t())\n",
                   "weight", {.channels = 3, .height = 5, .width = 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("an image of 3 x 5 x 4")));
  EXPECT_THAT(Open("def forward(self, img, other):\n    return other\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("other")));
}

TEST_F(TorchScriptTest, NanIsFound) {
  ASSERT_OK_AND_ASSIGN(const auto extractor, Open(R"(
def forward(self, img):
    return torch.log(img.float().flatten(1) - 1)
)"));
  EXPECT_THAT(extractor->Extract(Images(2)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("NaN")));
}

TEST_F(TorchScriptTest, DamagedFile) {
  ASSERT_OK(Open(kStyleGan));
  const std::string path = dir_ / "net.pt";
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  ASSERT_OK(WriteFile(path, bytes.substr(0, bytes.size() / 2)));
  EXPECT_THAT(OpenFeatureExtractor(path, {.image_shape = kImages}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("net.pt")));
}

}  // namespace
}  // namespace gandem
