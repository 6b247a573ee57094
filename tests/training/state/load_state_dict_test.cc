// SPDX-License-Identifier: Apache-2.0
#include "training/state/load_state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
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
using ::testing::IsEmpty;
using ::testing::Not;

NamedTensor Named(const std::string& name, const at::Tensor& values,
                  DType dtype) {
  const at::Tensor plain = values.contiguous();
  return {.name = name,
          .dtype = dtype,
          .shape = plain.sizes().vec(),
          .bytes = SharedBytes::Copy(
              {static_cast<const std::byte*>(plain.const_data_ptr()),
               static_cast<size_t>(plain.nbytes())})};
}

NamedTensor Floats(const std::string& name, const at::Tensor& values) {
  return Named(name, values.to(at::kFloat), DType::kF32);
}

class LoadStateDictTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<std::string>> Load(
      const std::vector<NamedTensor>& tensors) {
    EXPECT_OK(WriteSafetensors(path_, tensors, {}).status());
    return LoadStateDict(path_, state_);
  }
  at::Tensor& At(size_t i) { return state_[i].second; }

  gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "given.safetensors";
  // State of a layer with spectral norm, batch norm and dropout.
  TensorsByName state_ = {
      {"linear.weight", at::zeros({2, 3})},
      {"linear.weight_u", at::zeros({2})},
      {"linear.bias", at::zeros({2})},
      {"norm.num_batches_tracked", at::zeros({}, at::kLong)},
      {"drop.mask_key", at::full({}, 7, at::kLong)}};
  const std::vector<NamedTensor> given_ = {
      Floats("linear.weight", at::arange(6).view({2, 3})),
      Floats("linear.weight_u", at::ones({2})),
      Floats("linear.bias", at::arange(2)),
      Named("norm.num_batches_tracked", at::full({}, 5, at::kLong),
            DType::kI64)};
};

TEST_F(LoadStateDictTest, AllTensorsExceptDropoutKeysAreReplaced) {
  ASSERT_OK_AND_ASSIGN(const auto lines, Load(given_));
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_TRUE(at::equal(At(0), at::arange(6.0F).view({2, 3})));
  EXPECT_TRUE(at::equal(At(1), at::ones({2})));
  EXPECT_EQ(At(3).item<int64_t>(), 5);
  EXPECT_EQ(At(4).item<int64_t>(), 7);
}

TEST_F(LoadStateDictTest, OtherPrecisionsAreConverted) {
  std::vector<NamedTensor> given = given_;
  given[0] = Named("linear.weight", at::full({2, 3}, 0.5, at::kBFloat16),
                   DType::kBF16);
  given[1] =
      Named("linear.weight_u", at::full({2}, 0.25, at::kHalf), DType::kF16);
  given[2] = Named("linear.bias", at::full({2}, 0.1, at::kDouble), DType::kF64);
  ASSERT_OK_AND_ASSIGN(const auto lines, Load(given));
  EXPECT_THAT(lines, ElementsAre("1 tensors were converted from BF16",
                                 "1 tensors were converted from F16",
                                 "1 tensors were converted from F64"));
  EXPECT_TRUE(at::equal(At(0), at::full({2, 3}, 0.5F)));
  EXPECT_TRUE(at::equal(At(1), at::full({2}, 0.25F)));
  EXPECT_TRUE(at::equal(At(2), at::full({2}, 0.1F)));
}

TEST_F(LoadStateDictTest, NamesOfSpectralNormAndDataParallelAreMapped) {
  std::vector<NamedTensor> given = given_;
  given[0].name = "linear.weight_orig";
  for (NamedTensor& tensor : given) tensor.name = "module." + tensor.name;
  ASSERT_OK(Load(given));
  EXPECT_TRUE(at::equal(At(0), at::arange(6.0F).view({2, 3})));
}

TEST_F(LoadStateDictTest, EveryTensorThatDoesNotFitIsListed) {
  std::vector<NamedTensor> given = given_;
  given[0] = Floats("linear.weight", at::ones({3, 2}));
  given[1].name = "linear.weights_u";
  given[2] = Floats("linear.bias",
                    at::full({2}, std::numeric_limits<float>::quiet_NaN()));
  given[3] = Floats("norm.num_batches_tracked", at::zeros({}));
  given.push_back(Floats("other.weight", at::ones({4})));
  EXPECT_THAT(
      Load(given).status(),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr(path_),
                HasSubstr("linear.weight has shape [3, 2], the network wants "
                          "[2, 3]"),
                HasSubstr("linear.weight_u [2] is missing (the file has "
                          "linear.weights_u)"),
                HasSubstr("linear.weights_u [2]: the network has no such "
                          "tensor (it has linear.weight_u)"),
                HasSubstr("linear.bias has values that are not finite"),
                HasSubstr("norm.num_batches_tracked is F32, the network wants "
                          "I64"),
                HasSubstr("other.weight [4]: the network has no such tensor"),
                Not(HasSubstr("mask_key")))));
  EXPECT_TRUE(at::equal(At(0), at::zeros({2, 3})));
}

// tests/oracles/feature_goldens.py wrote these files with torch.save().
TEST_F(LoadStateDictTest, FilesOfTorchSaveAreRead) {
  for (const char* const name :
       {"state_dict_zip.pth", "state_dict_stream.pth"}) {
    const std::string golden = std::string(std::getenv("GANDEM_SOURCE_DIR")) +
                               "/tests/goldens/" + name;
    // The tensors of the file are not those of this network, and are listed.
    EXPECT_THAT(LoadStateDict(golden, state_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the network has no such tensor")));
  }
}

TEST_F(LoadStateDictTest, FilesWithoutAStateDictAreRefused) {
  ASSERT_OK(WriteFile(path_, "import os"));
  EXPECT_THAT(LoadStateDict(path_, state_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
  EXPECT_THAT(LoadStateDict(dir_ / "none", state_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace gandem
