// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/reference_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/config/resnet_plan.h"
#include "common/faults.h"
#include "common/status.h"

namespace gandem {
namespace {

using NameParts = std::vector<std::string>;
using PartNames = std::map<std::string, std::string>;

// What published code fixes and a config may set to something else.
constexpr double kStudioganBatchNormEps = 1e-4;
constexpr double kPytorchBatchNormEps = 1e-5;
constexpr int64_t kStudioganWidth = 64;
constexpr int64_t kPublishedChannels = 3;
constexpr int64_t kExampleSize = 64;

struct Naming {
  // Adds what is in the way; false: the code has no such network at all.
  std::function<bool(const NetworkConfig&, const DataShape&, Faults&)> check;
  // `num_blocks`: of the network.
  std::function<std::string(const NetworkConfig&, int64_t num_blocks,
                            const NameParts&)>
      rename;
};

void Require(bool holds, const std::string& what, Faults& faults) {
  if (!holds) faults.Add(what);
}

void RequireColor(const DataShape& data, Faults& faults) {
  Require(data.image.channels == kPublishedChannels,
          "its class makes images of three channels", faults);
}

template <typename Config>
void CheckStudioganResnet(const std::string& name, const Config& config,
                          const DataShape& data, Faults& faults) {
  RequireColor(data, faults);
  Require(data.image.height != 48, "its class has no 48 pixels", faults);
  Require(config.batch_norm_eps() == kStudioganBatchNormEps,
          absl::StrCat(name, ".batch_norm_eps must be 1e-4"), faults);
}

bool CheckStudiogan(const NetworkConfig& network, const DataShape& data,
                    Faults& faults) {
  if (network.has_sndcgan()) {
    RequireColor(data, faults);
    Require(network.sndcgan().width() == kStudioganWidth,
            "sndcgan.width must be 64", faults);
    return true;
  }
  if (network.has_sngan()) {
    CheckStudioganResnet("sngan", network.sngan(), data, faults);
    Require(network.sngan().upsampling() == SnganConfig::NEAREST,
            "sngan.upsampling must be NEAREST", faults);
    return true;
  }
  if (network.has_sagan()) {
    CheckStudioganResnet("sagan", network.sagan(), data, faults);
    Require(network.sagan().class_norm() != SaganConfig::EMBEDDING,
            "sagan.class_norm must be LINEAR", faults);
    return true;
  }
  if (!network.has_biggan() || IsDeep(network.biggan())) return false;
  CheckStudioganResnet("biggan", network.biggan(), data, faults);
  Require(network.biggan().form() != BigganConfig::PYTORCH,
          "biggan.form must be STANDARD", faults);
  Require(ConditionalClasses(data) > 0, "data.num_classes must be above 1",
          faults);
  return true;
}

std::string Known(const PartNames& names, const std::string& part) {
  const auto found = names.find(part);
  return found == names.end() ? part : found->second;
}

// Joined with dots from `first` on.
std::string Rest(const NameParts& parts, size_t first) {
  std::string rest;
  for (size_t i = first; i < parts.size(); ++i) {
    absl::StrAppend(&rest, ".", parts[i]);
  }
  return rest;
}

int64_t IndexOf(const std::string& part) {
  int64_t index = 0;
  GANDEM_CHECK(absl::SimpleAtoi(part, &index));
  return index;
}

// A list of lists of one block each.
std::string StudioganResnetName(const NameParts& parts) {
  static const auto& outer = *new PartNames{
      {"linear", "linear0"}, {"norm", "bn4"}, {"conv", "conv2d5"}};
  static const auto& inner =
      *new PartNames{{"norm1", "bn1"},        {"norm2", "bn2"},
                     {"conv1", "conv2d1"},    {"conv2", "conv2d2"},
                     {"shortcut", "conv2d0"}, {"theta", "conv1x1_theta"},
                     {"phi", "conv1x1_phi"},  {"g", "conv1x1_g"},
                     {"o", "conv1x1_attn"}};
  if (parts[0] != "blocks") {
    return absl::StrCat(Known(outer, parts[0]), Rest(parts, 1));
  }
  return absl::StrCat("blocks.", parts[1], ".0.", Known(inner, parts[2]),
                      Rest(parts, 3));
}

// main is convolution, norm, ReLU three times, and a convolution.
std::string StudioganDeepConvName(const NameParts& parts) {
  constexpr int64_t kLayersOfBlock = 3;
  constexpr int64_t kBlocks = 3;
  if (parts[0] == "linear") return "linear0" + Rest(parts, 1);
  const int64_t layer = IndexOf(parts[1]);
  if (layer == kBlocks * kLayersOfBlock) return "conv4" + Rest(parts, 2);
  return absl::StrCat("blocks.", layer / kLayersOfBlock, ".0.",
                      layer % kLayersOfBlock == 0 ? "deconv0" : "bn0",
                      Rest(parts, 2));
}

std::string StudioganName(const NetworkConfig& network, int64_t /*num_blocks*/,
                          const NameParts& parts) {
  return network.has_sndcgan() ? StudioganDeepConvName(parts)
                               : StudioganResnetName(parts);
}

bool CheckMimicry(const NetworkConfig& network, const DataShape& data,
                  Faults& faults) {
  if (!network.has_sngan()) return false;
  RequireColor(data, faults);
  Require(ConditionalClasses(data) == 0, "data.num_classes must be 0", faults);
  Require(network.sngan().upsampling() == SnganConfig::BILINEAR,
          "sngan.upsampling must be BILINEAR", faults);
  Require(network.sngan().batch_norm_eps() == kPytorchBatchNormEps,
          "sngan.batch_norm_eps must be 1e-5", faults);
  return true;
}

// Layers are counted from one: l1, block2, block3 ... b5, c5.
std::string MimicryName(const NetworkConfig&, int64_t num_blocks,
                        const NameParts& parts) {
  static const auto& inner = *new PartNames{{"norm1", "b1"},
                                            {"norm2", "b2"},
                                            {"conv1", "c1"},
                                            {"conv2", "c2"},
                                            {"shortcut", "c_sc"}};
  if (parts[0] == "linear") return "l1" + Rest(parts, 1);
  if (parts[0] == "blocks") {
    return absl::StrCat("block", IndexOf(parts[1]) + 2, ".",
                        Known(inner, parts[2]), Rest(parts, 3));
  }
  return absl::StrCat(parts[0] == "norm" ? "b" : "c", num_blocks + 2,
                      Rest(parts, 1));
}

bool CheckExamples(const NetworkConfig& network, const DataShape& data,
                   Faults& faults) {
  if (!network.has_dcgan()) return false;
  Require(data.image.height == kExampleSize, "its class makes 64 pixels",
          faults);
  return true;
}

bool CheckPytorchGan(const NetworkConfig& network, const DataShape& data,
                     Faults& faults) {
  if (!network.has_mlp()) return false;
  const auto& hidden = network.mlp().hidden();
  Require(std::vector<int64_t>(hidden.begin(), hidden.end()) ==
              std::vector<int64_t>({128, 256, 512, 1024}),
          "mlp.hidden must be [128, 256, 512, 1024]", faults);
  Require(network.mlp().batch_norm(), "mlp.batch_norm must be true", faults);
  Require(data.num_classes == 0, "data.num_classes must be 0", faults);
  return true;
}

std::string JoinedName(const NetworkConfig&, int64_t, const NameParts& parts) {
  return absl::StrJoin(parts, ".");
}

std::string PytorchGanName(const NetworkConfig&, int64_t,
                           const NameParts& parts) {
  return "model" + Rest(parts, 1);
}

std::map<std::string, Naming> AllNamings() {
  return {{"studiogan", {&CheckStudiogan, &StudioganName}},
          {"mimicry", {&CheckMimicry, &MimicryName}},
          {"examples", {&CheckExamples, &JoinedName}},
          {"pytorch_gan", {&CheckPytorchGan, &PytorchGanName}}};
}

int64_t NumBlocks(const std::vector<NamedTensor>& tensors) {
  int64_t blocks = 0;
  for (const NamedTensor& tensor : tensors) {
    const NameParts parts = absl::StrSplit(tensor.name, '.');
    if (parts[0] == "blocks") blocks = std::max(blocks, IndexOf(parts[1]) + 1);
  }
  return blocks;
}

}  // namespace

std::vector<std::string> Namings() {
  std::vector<std::string> names = {"gandem"};
  for (const auto& [name, naming] : AllNamings()) names.push_back(name);
  return names;
}

absl::Status RenameTensors(const std::string& naming,
                           const NetworkConfig& network, const DataShape& data,
                           std::vector<NamedTensor>& tensors) {
  if (naming == "gandem") return absl::OkStatus();
  const auto namings = AllNamings();
  const auto found = namings.find(naming);
  if (found == namings.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no --names '", naming, "'; there are ",
                     absl::StrJoin(Namings(), ", ")));
  }
  Faults faults(absl::StrCat("--names ", naming));
  if (!found->second.check(network, data, faults)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--names ", naming,
                     ": that code has no network that makes the images of this "
                     "one; leave --names out for gandem's own names"));
  }
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  const int64_t num_blocks = NumBlocks(tensors);
  for (NamedTensor& tensor : tensors) {
    tensor.name = found->second.rename(
        network, num_blocks, NameParts(absl::StrSplit(tensor.name, '.')));
  }
  return absl::OkStatus();
}

}  // namespace gandem
