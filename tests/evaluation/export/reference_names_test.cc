// SPDX-License-Identifier: Apache-2.0
//
// Exported tensors have the names, shapes and meaning of published classes:
// tests/oracles/reference_generators.py has these written anew.
#include "evaluation/export/reference_names.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "evaluation/export/exported_state.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ReferenceCase {
  std::string file;
  std::string names;
  std::string config;
  DataShape data;
};

void PrintTo(const ReferenceCase& c, std::ostream* out) { *out << c.file; }

NetworkConfig Parsed(const std::string& text) {
  NetworkConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

class ReferenceNamesTest : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(ReferenceNamesTest, AreThoseOfTheClassAndMakeItsImages) {
  const ReferenceCase& test = GetParam();
  const Golden golden("reference_names/" + test.file + ".safetensors");
  const NetworkConfig config = Parsed(test.config);
  ASSERT_OK_AND_ASSIGN(const auto network, MakeGenerator(config, test.data));
  const std::vector<NamedTensor> ours = ExportState(*network);
  std::vector<NamedTensor> theirs = ours;
  ASSERT_OK(RenameTensors(test.names, config, test.data, theirs));

  const torch::NoGradGuard no_grad;
  // On two, rounding depends on whether both are free; the narrow networks make
  // 4e-5 of it.
  at::set_num_threads(1);
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : StateOf(*network)) state[name] = tensor;
  std::set<std::string> names;
  for (size_t i = 0; i < ours.size(); ++i) {
    names.insert("state." + theirs[i].name);
    const at::Tensor value = golden.Get("state." + theirs[i].name);
    ASSERT_TRUE(value.defined());
    EXPECT_EQ(value.sizes().vec(), ours[i].shape) << theirs[i].name;
    state.at(std::string(absl::StripSuffix(ours[i].name, "_orig")))
        .copy_(value);
  }
  // strict=True: not one more, either.
  EXPECT_EQ(names, golden.NamesWithPrefix("state."));

  Condition condition;
  if (golden.Has("labels")) condition.labels_N = golden.Get("labels");
  const at::Tensor images_NCHW =
      network->forward(golden.Get("noise"), condition, ForwardMode::kEvaluate);
  const at::Tensor expected = golden.Get("images");
  ASSERT_EQ(images_NCHW.sizes(), expected.sizes());
  EXPECT_LE((images_NCHW - expected).abs().max().item<double>(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Classes, ReferenceNamesTest,
    ::testing::Values(
        ReferenceCase{"studiogan_sngan",
                      "studiogan",
                      "sngan { width: 1 noise_dim: 5 batch_norm_eps: 1e-4 }",
                      {{3, 32, 32}}},
        ReferenceCase{"studiogan_sngan_classes",
                      "studiogan",
                      "sngan { width: 1 noise_dim: 5 batch_norm_eps: 1e-4 }",
                      {{3, 32, 32}, 3}},
        ReferenceCase{"studiogan_sagan",
                      "studiogan",
                      "sagan { width: 4 noise_dim: 5 }",
                      {{3, 32, 32}, 3}},
        ReferenceCase{"studiogan_biggan",
                      "studiogan",
                      "biggan { width: 4 noise_dim: 8 class_dim: 5 }",
                      {{3, 32, 32}, 3}},
        ReferenceCase{"mimicry_sngan",
                      "mimicry",
                      "sngan { width: 1 noise_dim: 5 upsampling: BILINEAR "
                      "        batch_norm_eps: 1e-5 }",
                      {{3, 64, 64}}},
        ReferenceCase{"mimicry_sngan_48",
                      "mimicry",
                      "sngan { width: 1 noise_dim: 5 upsampling: BILINEAR "
                      "        batch_norm_eps: 1e-5 }",
                      {{3, 48, 48}}},
        ReferenceCase{"examples_dcgan",
                      "examples",
                      "dcgan { width: 2 noise_dim: 5 }",
                      {{3, 64, 64}}}));

std::vector<std::string> Renamed(const std::string& naming,
                                 const std::string& config,
                                 const DataShape& data,
                                 const std::vector<std::string>& names) {
  std::vector<NamedTensor> tensors(names.size());
  for (size_t i = 0; i < names.size(); ++i) tensors[i].name = names[i];
  EXPECT_OK(RenameTensors(naming, Parsed(config), data, tensors));
  std::vector<std::string> renamed;
  for (const NamedTensor& tensor : tensors) renamed.push_back(tensor.name);
  return renamed;
}

// Classes of one size, which are too large for a golden.
TEST(ReferenceNamesOfLargeClassesTest, AreThoseOfTheClass) {
  EXPECT_THAT(
      Renamed("studiogan", "sndcgan {}", {{3, 32, 32}},
              {"linear.weight", "main.0.weight", "main.1.running_mean",
               "main.6.bias", "main.7.weight", "main.9.weight"}),
      ElementsAre("linear0.weight", "blocks.0.0.deconv0.weight",
                  "blocks.0.0.bn0.running_mean", "blocks.2.0.deconv0.bias",
                  "blocks.2.0.bn0.weight", "conv4.weight"));
  EXPECT_THAT(Renamed("pytorch_gan",
                      "mlp { hidden: [128, 256, 512, 1024] batch_norm: true }",
                      {{1, 32, 32}}, {"main.0.weight", "main.3.running_var"}),
              ElementsAre("model.0.weight", "model.3.running_var"));
}

absl::Status Refused(const std::string& naming, const std::string& config,
                     const DataShape& data) {
  std::vector<NamedTensor> tensors;
  return RenameTensors(naming, Parsed(config), data, tensors);
}

TEST(ReferenceNamesTest, AllThatIsInTheWayIsListed) {
  EXPECT_THAT(
      Refused("mimicry", "sngan { batch_norm_eps: 1e-4 }", {{1, 32, 32}, 3}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("three channels"),
                     HasSubstr("data.num_classes must be 0"),
                     HasSubstr("sngan.upsampling must be BILINEAR"),
                     HasSubstr("sngan.batch_norm_eps must be 1e-5"))));
  EXPECT_THAT(
      Refused("studiogan", "biggan { form: DEEP }", {{3, 32, 32}, 3}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no network")));
  EXPECT_THAT(
      Refused("studiogan", "biggan { form: PYTORCH batch_norm_eps: 1e-5 }",
              {{3, 32, 32}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("form must be STANDARD"),
                     HasSubstr("data.num_classes must be above 1"))));
  EXPECT_THAT(
      Refused("studiogan", "sndcgan { width: 32 }", {{3, 32, 32}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be 64")));
  EXPECT_THAT(Refused("examples", "dcgan {}", {{3, 32, 32}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64")));
  EXPECT_THAT(
      Refused("pytorch_gan", "mlp { hidden: 4 }", {{1, 32, 32}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("mlp.hidden"), HasSubstr("mlp.batch_norm"))));
  EXPECT_THAT(Refused("caffe", "mlp {}", {{1, 32, 32}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("examples, mimicry")));
  EXPECT_OK(Refused("gandem", "biggan { form: DEEP }", {{3, 32, 32}, 3}));
}

}  // namespace
}  // namespace gandem
