// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_extractor.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/state_dict_tensors.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/process/missing_extra.h"
#include "common/status.h"
#include "evaluation/features/classifier.h"
#include "evaluation/features/inception_extractor.h"
#include "evaluation/features/torchscript_extractor.h"
#include "evaluation/features/weights_family.h"
#include "models/autocast.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"
#include "training/state/state_dict_file.h"

namespace gandem {
namespace {

constexpr std::pair<absl::string_view, at::ScalarType> kPrecisions[] = {
    {"float32", at::kFloat},
    {"bfloat16", at::kBFloat16},
    {"float16", at::kHalf}};

std::string ExtractorShapeText(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes().vec(), ", "), "]");
}

absl::Status CheckImages(const FeatureNet& net, const at::Tensor& images) {
  const bool pairs = net.family == kLpipsFamily;
  const int64_t together = pairs ? 2 : 1;
  const bool right_type = images.scalar_type() == at::kByte ||
                          (pairs && images.scalar_type() == at::kFloat);
  if (!right_type || images.dim() != 4 || images.numel() == 0 ||
      !images.is_cpu() ||
      (images.size(1) != together && images.size(1) != 3 * together)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "features need 8-bit images [N, ", together, " or ", 3 * together,
        ", height, width], not ", ExtractorShapeText(images), " of type ",
        c10::toString(images.scalar_type())));
  }
  return absl::OkStatus();
}

// Returns `output` as float64 [rows, columns] on the CPU.
absl::StatusOr<at::Tensor> CheckOutput(absl::string_view what,
                                       const FeatureNet& net,
                                       const at::Tensor& output, int64_t rows,
                                       int64_t columns, ImageNames name_of) {
  if (!output.defined() || !output.is_floating_point() || output.dim() != 2 ||
      output.size(0) != rows || output.size(1) != columns) {
    return absl::FailedPreconditionError(absl::StrCat(
        net.name, " must return ", what, " [", rows, ", ", columns,
        "] of floating-point numbers, but returned ",
        output.defined() ? ExtractorShapeText(output) : "nothing"));
  }
  const at::Tensor result = output.to(at::kCPU, at::kDouble).contiguous();
  const at::Tensor bad_N = result.isfinite().all(1).logical_not();
  if (bad_N.any().item<bool>()) {
    return absl::DataLossError(absl::StrCat(
        net.name, " returned NaN or infinite ", what, " for ",
        bad_N.sum().item<int64_t>(), " of ", rows,
        " images of a batch, first for ",
        name_of(bad_N.nonzero()[0].item<int64_t>()),
        absl::StartsWith(net.compute, PrecisionText(at::kHalf))
            ? ": its values are too large for float16? bfloat16 and float32 "
              "hold them"
            : ": is the network's file damaged, or does it expect "
              "other images?"));
  }
  return result;
}

// A safetensors file holds the size of its header (8 bytes), then the header.
bool IsSafetensors(absl::string_view prefix) {
  return prefix.size() > 8 && prefix[8] == '{';
}

absl::Status CheckOwnInput(absl::string_view what,
                           const ExtractorOptions& options) {
  if (options.dims.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        " gives its last layer: --dims is for weights of the FID Inception"));
  }
  if (!options.resize.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what,
      " resizes its images itself, or not at all: --input_resize is for "
      "weights of the FID Inception"));
}

// A family name that every build accepts, and the extra that implements it.
struct KnownFamily {
  absl::string_view name;
  absl::string_view extra;
};
constexpr KnownFamily kKnownFamilies[] = {{kClipFamily, "vit_features"},
                                          {kDinov2Family, "vit_features"},
                                          {kLpipsFamily, "lpips"}};

// Returns the family that the user asks for, or else the one whose first layer
// is among `tensors`.
absl::StatusOr<std::optional<WeightsFamily>> WantedFamily(
    const ExtractorOptions& options, const std::vector<NamedTensor>& tensors) {
  for (const WeightsFamily& family : ExtraWeightsFamilies()) {
    if (options.family.empty() ? family.holds(tensors)
                               : options.family == family.name) {
      return family;
    }
  }
  for (const KnownFamily& known : kKnownFamilies) {
    if (options.family == known.name) {
      return MissingExtraError(absl::StrCat(known.name, ":FILE"), known.extra);
    }
  }
  return std::nullopt;
}

// The first bytes tell the kind; names of published files do not.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> Open(
    const std::string& path, const ExtractorOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(const std::string prefix, ReadPrefix(path, 16));
  GANDEM_ASSIGN_OR_RETURN(const std::string sha256, Sha256OfFile(path));
  if (IsZip(prefix)) {
    GANDEM_ASSIGN_OR_RETURN(const bool is_script, HoldsTorchScript(path));
    if (is_script && !options.family.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.family,
          ":FILE needs weights, but this is a TorchScript program: save its "
          "state_dict() as .safetensors"));
    }
    if (is_script) {
      GANDEM_RETURN_IF_ERROR(CheckOwnInput("TorchScript", options));
      return OpenTorchScriptExtractor(path, sha256, options);
    }
  }
  std::vector<NamedTensor> tensors;
  if (IsZip(prefix) || IsPickleStream(prefix)) {
    GANDEM_ASSIGN_OR_RETURN(tensors, ReadStateDict(path));
  } else if (IsSafetensors(prefix)) {
    GANDEM_ASSIGN_OR_RETURN(tensors, ReadSafetensors(path));
  } else {
    return absl::InvalidArgumentError(
        "neither TorchScript, nor a state dict that torch.save() has written, "
        "nor safetensors");
  }
  GANDEM_ASSIGN_OR_RETURN(const std::optional<WeightsFamily> family,
                          WantedFamily(options, tensors));
  if (family.has_value()) {
    GANDEM_RETURN_IF_ERROR(CheckOwnInput(family->what, options));
    return family->make(std::move(tensors), sha256, options);
  }
  if (!HoldsClassifier(tensors)) {
    return MakeInceptionExtractor(std::move(tensors), sha256, options);
  }
  GANDEM_RETURN_IF_ERROR(CheckOwnInput("a classifier", options));
  if (options.image_shape.height == 0) {
    return absl::InvalidArgumentError(
        "a classifier takes images of one size, but these have several sizes: "
        "--resize gives them the size of the reference's images");
  }
  return MakeClassifierExtractor(std::move(tensors), sha256, options);
}

}  // namespace

absl::StatusOr<at::ScalarType> ParsePrecision(absl::string_view text) {
  if (text.empty()) return at::kFloat;
  for (const auto& [name, precision] : kPrecisions) {
    if (text == name) return precision;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "precision '", text, "' is none of float32, bfloat16, float16"));
}

std::string PrecisionText(at::ScalarType precision) {
  return std::string(
      std::ranges::find(kPrecisions, precision, [](const auto& known) {
        return known.second;
      })->first);
}

std::string ComputeText(const FeatureCompute& compute) {
  if (!compute.device.is_cpu()) {
    return absl::StrCat(PrecisionText(compute.precision), " on cuda");
  }
  return compute.precision == at::kFloat ? ""
                                         : PrecisionText(compute.precision);
}

std::string DistanceName(const FeatureNet& net) {
  return net.is_inception ? "FID" : absl::StrCat("FD(", net.name, ")");
}

NetworkFile ParseNetworkFile(absl::string_view text) {
  std::vector<absl::string_view> families;
  for (const KnownFamily& known : kKnownFamilies) {
    families.push_back(known.name);
  }
  for (const WeightsFamily& family : ExtraWeightsFamilies()) {
    families.push_back(family.name);
  }
  for (const absl::string_view family : families) {
    absl::string_view path = text;
    if (absl::ConsumePrefix(&path, family) && absl::ConsumePrefix(&path, ":")) {
      return {.family = std::string(family), .path = std::string(path)};
    }
  }
  return {.path = std::string(text)};
}

FeatureExtractor::FeatureExtractor(FeatureNet net,
                                   const FeatureCompute& compute)
    : net_(std::move(net)), compute_(compute) {
  net_.compute = ComputeText(compute);
}

std::string FeatureExtractor::NumberOf(int64_t place) {
  return absl::StrCat("image ", place);
}

absl::StatusOr<Features> FeatureExtractor::Extract(
    const at::Tensor& images_NCHW, ImageNames name_of) {
  return CatchTorchOr([&]() -> absl::StatusOr<Features> {
    const torch::NoGradGuard no_grad;
    GANDEM_RETURN_IF_ERROR(CheckImages(net(), images_NCHW));
    std::optional<AutocastScope> scope;
    if (compute_.precision != at::kFloat) {
      scope.emplace(AutocastState{.device = compute_.device.type(),
                                  .enabled = true,
                                  .dtype = compute_.precision});
    }
    GANDEM_ASSIGN_OR_RETURN(const Features raw, Forward(images_NCHW));
    const int64_t rows = images_NCHW.size(0);
    Features result;
    GANDEM_ASSIGN_OR_RETURN(result.features_ND,
                            CheckOutput("features", net(), raw.features_ND,
                                        rows, net().feature_dim, name_of));
    if (net().num_classes > 0) {
      GANDEM_ASSIGN_OR_RETURN(result.logits_NK,
                              CheckOutput("logits", net(), raw.logits_NK, rows,
                                          net().num_classes, name_of));
    }
    return result;
  });
}

absl::StatusOr<Features> FeatureExtractor::ExtractEach(
    const std::vector<at::Tensor>& images, ImageNames name_of) {
  const auto same_size = [&](const at::Tensor& image) {
    return image.sizes() == images.front().sizes();
  };
  if (!images.empty() && std::ranges::all_of(images, same_size)) {
    return Extract(at::cat(images), name_of);
  }
  std::vector<at::Tensor> features;
  std::vector<at::Tensor> logits;
  for (size_t i = 0; i < images.size(); ++i) {
    GANDEM_ASSIGN_OR_RETURN(Features one, Extract(images[i], [&](int64_t) {
                              return name_of(static_cast<int64_t>(i));
                            }));
    features.push_back(std::move(one.features_ND));
    if (one.logits_NK.defined()) logits.push_back(std::move(one.logits_NK));
  }
  return CatchTorchOr([&]() -> absl::StatusOr<Features> {
    return Features{
        .features_ND = at::cat(features),
        .logits_NK = logits.empty() ? at::Tensor() : at::cat(logits)};
  });
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenFeatureExtractor(
    const std::string& path, const ExtractorOptions& options) {
  const auto& [channels, height, width] = options.image_shape;
  const bool several = height == 0 && width == 0;
  if ((channels != 1 && channels != 3) ||
      (!several && (height < 1 || width < 1))) {
    return absl::InvalidArgumentError(
        absl::StrCat("features need gray or RGB images, not ", channels, " x ",
                     height, " x ", width));
  }
  // By default a GPU's convolutions round float32 factors to TF32.
  if (options.compute.device.is_cuda()) {
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
  auto extractor = CatchTorchOr([&] { return Open(path, options); });
  if (!extractor.ok()) return Annotate(extractor.status(), path);
  return extractor;
}

}  // namespace gandem
