// SPDX-License-Identifier: Apache-2.0
//
// Exported tensors have the shapes and the meaning of published classes, which
// tests/oracles/reference_generators.py reimplements.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
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

// Names of tensors here and in the class, each with the dot before it.
using Renames = std::vector<std::pair<absl::string_view, absl::string_view>>;

struct ReferenceCase {
  std::string file;
  std::string config;
  DataShape data;
  Renames names = {};
};

void PrintTo(const ReferenceCase& c, std::ostream* out) { *out << c.file; }

NetworkConfig Parsed(const std::string& text) {
  NetworkConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

class PublishedClassTest : public ::testing::TestWithParam<ReferenceCase> {};

TEST_P(PublishedClassTest, TakesTheTensorsAndMakesTheImages) {
  const ReferenceCase& test = GetParam();
  const Golden golden("reference_names/" + test.file + ".safetensors");
  const NetworkConfig config = Parsed(test.config);
  ASSERT_OK_AND_ASSIGN(const auto network, MakeGenerator(config, test.data));
  const std::vector<NamedTensor> ours = ExportState(*network);
  std::vector<std::string> theirs;
  for (const NamedTensor& tensor : ours) {
    theirs.push_back(absl::StrReplaceAll("." + tensor.name, test.names));
    theirs.back().erase(0, 1);
  }

  const torch::NoGradGuard no_grad;
  // On two threads rounding depends on which one is free, by up to 4e-5 in the
  // narrow networks.
  at::set_num_threads(1);
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : StateOf(*network)) state[name] = tensor;
  std::set<std::string> names;
  for (size_t i = 0; i < ours.size(); ++i) {
    names.insert("state." + theirs[i]);
    const at::Tensor value = golden.Get("state." + theirs[i]);
    ASSERT_TRUE(value.defined());
    EXPECT_EQ(value.sizes().vec(), ours[i].shape) << theirs[i];
    state.at(std::string(absl::StripSuffix(ours[i].name, "_orig")))
        .copy_(value);
  }
  // There are no other tensors, as strict=True requires.
  EXPECT_EQ(names, golden.NamesWithPrefix("state."));

  Condition condition;
  if (golden.Has("labels")) condition.labels_N = golden.Get("labels");
  const at::Tensor images_NCHW =
      network->forward(golden.Get("noise"), condition, ForwardMode::kEvaluate);
  const at::Tensor expected = golden.Get("images");
  ASSERT_EQ(images_NCHW.sizes(), expected.sizes());
  EXPECT_LE((images_NCHW - expected).abs().max().item<double>(), 1e-5);
}

// PyTorch-StudioGAN has a list of lists of one block each.
const Renames kStudiogan = {{".linear.", ".linear0."},
                            {".norm.", ".bn4."},
                            {".conv.", ".conv2d5."},
                            {".norm1.", ".0.bn1."},
                            {".norm2.", ".0.bn2."},
                            {".conv1.", ".0.conv2d1."},
                            {".conv2.", ".0.conv2d2."},
                            {".shortcut.", ".0.conv2d0."},
                            {".theta.", ".0.conv1x1_theta."},
                            {".phi.", ".0.conv1x1_phi."},
                            {".g.", ".0.conv1x1_g."},
                            {".o.", ".0.conv1x1_attn."},
                            {".sigma", ".0.sigma"}};

// mimicry numbers layers from one, including the last norm and convolution.
Renames Mimicry(absl::string_view norm, absl::string_view conv) {
  return {{".linear.", ".l1."},     {".blocks.0", ".block2"},
          {".blocks.1", ".block3"}, {".blocks.2", ".block4"},
          {".blocks.3", ".block5"}, {".norm1.", ".b1."},
          {".norm2.", ".b2."},      {".conv1.", ".c1."},
          {".conv2.", ".c2."},      {".shortcut.", ".c_sc."},
          {".norm.", norm},         {".conv.", conv}};
}

INSTANTIATE_TEST_SUITE_P(
    Classes, PublishedClassTest,
    ::testing::Values(
        ReferenceCase{"studiogan_sngan",
                      "sngan { width: 1 noise_dim: 5 batch_norm_eps: 1e-4 }",
                      {{3, 32, 32}},
                      kStudiogan},
        ReferenceCase{"studiogan_sngan_classes",
                      "sngan { width: 1 noise_dim: 5 batch_norm_eps: 1e-4 }",
                      {{3, 32, 32}, 3},
                      kStudiogan},
        ReferenceCase{"studiogan_sagan",
                      "sagan { width: 4 noise_dim: 5 }",
                      {{3, 32, 32}, 3},
                      kStudiogan},
        ReferenceCase{"studiogan_biggan",
                      "biggan { width: 4 noise_dim: 8 class_dim: 5 }",
                      {{3, 32, 32}, 3},
                      kStudiogan},
        ReferenceCase{"mimicry_sngan",
                      "sngan { width: 1 noise_dim: 5 upsampling: BILINEAR "
                      "        batch_norm_eps: 1e-5 }",
                      {{3, 64, 64}},
                      Mimicry(".b6.", ".c6.")},
        ReferenceCase{"mimicry_sngan_48",
                      "sngan { width: 1 noise_dim: 5 upsampling: BILINEAR "
                      "        batch_norm_eps: 1e-5 }",
                      {{3, 48, 48}},
                      Mimicry(".b5.", ".c5.")},
        ReferenceCase{"examples_dcgan",
                      "dcgan { width: 2 noise_dim: 5 }",
                      {{3, 64, 64}}}));

}  // namespace
}  // namespace gandem
