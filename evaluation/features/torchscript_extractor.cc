// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/torchscript_extractor.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <exception>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/features/inception_extractor.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

constexpr char kReturnFeatures[] = "return_features";
constexpr char kNoOutputBias[] = "no_output_bias";

// Smaller probabilities, in particular 0, are raised to this one.
constexpr double kSmallestProbability = 1e-30;

bool Takes(const torch::jit::Module& module, const char* argument) {
  return module.get_method("forward")
      .function()
      .getSchema()
      .argumentIndexWithName(argument)
      .has_value();
}

// Shortens the message of a script's exception to the text after the last
// "Error: ", without LibTorch's frames and the file's lines.
std::string ReasonOf(absl::string_view text) {
  text = text.substr(0, text.find("Exception raised from"));
  constexpr absl::string_view kError = "Error: ";
  const size_t at = text.rfind(kError);
  if (at != absl::string_view::npos) text.remove_prefix(at + kError.size());
  text = absl::StripAsciiWhitespace(text);
  return std::string(text.substr(0, text.find('\n')));
}

// CatchTorch would log the frames, so only lack of memory is left to it.
template <typename Body>
std::invoke_result_t<Body> CatchScript(Body body) {
  try {
    return body();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(ReasonOf(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(ReasonOf(error.what()));
  }
}

// Calls forward, with `flag` set to true if it is given.
c10::IValue Call(torch::jit::Module& module, const at::Tensor& images_NCHW,
                 std::optional<const char*> flag) {
  torch::jit::Kwargs flags;
  if (flag.has_value()) flags[*flag] = true;
  return module.forward({images_NCHW}, flags);
}

// Returns the weight of a linear layer `output` that takes `feature_dim`
// numbers. Some exports make buffers of parameters.
at::Tensor FindOutputWeight(const torch::jit::Module& module,
                            int64_t feature_dim) {
  at::Tensor weight;
  const auto look_through = [&](const auto& named_tensors) {
    for (const auto& item : named_tensors) {
      if (item.name == "output.weight" && item.value.dim() == 2 &&
          item.value.size(1) == feature_dim) {
        weight = item.value;
      }
    }
  };
  look_through(module.named_parameters());
  look_through(module.named_buffers());
  return weight;
}

class TorchScriptExtractor : public FeatureExtractor {
 public:
  TorchScriptExtractor(torch::jit::Module module, const std::string& sha256,
                       const FeatureCompute& compute)
      : FeatureExtractor(
            {.name = IsPublishedInception(sha256)
                         ? "inception-2015-12-05"
                         : absl::StrCat("torchscript-", sha256.substr(0, 8)),
             .sha256 = sha256,
             .resize = "the network's own",
             .is_inception = IsPublishedInception(sha256)},
            compute),
        module_(std::move(module)) {
    module_.eval();
    takes_features_ = Takes(module_, kReturnFeatures);
    takes_bias_ = takes_features_ && Takes(module_, kNoOutputBias);
  }

  // Runs the module once to learn the shapes that it returns.
  absl::Status TryOut(const at::Tensor& image_NCHW) {
    GANDEM_ASSIGN_OR_RETURN(Features first, Forward(image_NCHW));
    if (first.features_ND.dim() != 2 || first.features_ND.size(0) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "its forward returns features of ", first.features_ND.dim(),
          " dimensions, expected [N, D]"));
    }
    net_.feature_dim = first.features_ND.size(1);
    if (!first.logits_NK.defined()) return absl::OkStatus();
    net_.num_classes = first.logits_NK.size(1);
    if (!takes_bias_) return absl::OkStatus();
    const at::Tensor weight = FindOutputWeight(module_, net_.feature_dim);
    if (!weight.defined() || weight.size(0) != net_.num_classes) {
      return absl::OkStatus();
    }
    const at::Tensor logits_NK = at::linear(first.features_ND, weight);
    const at::Tensor difference =
        logits_NK.softmax(1) - first.logits_NK.softmax(1);
    if (difference.abs().max().item<double>() < 1e-5) output_weight_ = weight;
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    // All calls run one graph, so equal images give equal bits.
    const torch::jit::GraphOptimizerEnabledGuard same_graph(false);
    const at::Tensor images =
        images_NCHW.to(compute().device).expand({-1, 3, -1, -1}).contiguous();
    const c10::IValue returned =
        Call(module_, images,
             takes_features_ ? std::optional(kReturnFeatures) : std::nullopt);
    if (returned.isTuple() && returned.toTupleRef().elements().size() == 2) {
      return FromPair(returned.toTupleRef().elements());
    }
    if (!returned.isTensor()) {
      return absl::InvalidArgumentError(
          absl::StrCat("its forward returns a ", returned.tagKind(),
                       ", expected features [N, D], or a tuple of features "
                       "and logits"));
    }
    Features result = {.features_ND = returned.toTensor()};
    if (output_weight_.defined()) {
      result.logits_NK = at::linear(result.features_ND, output_weight_);
    } else if (takes_bias_) {
      result.logits_NK = Call(module_, images, kNoOutputBias)
                             .toTensor()
                             .to(at::kDouble)
                             .clamp_min(kSmallestProbability)
                             .log();
    }
    return result;
  }

 private:
  static absl::StatusOr<Features> FromPair(
      c10::ArrayRef<c10::IValue> features_and_logits) {
    if (!features_and_logits[0].isTensor() ||
        !features_and_logits[1].isTensor()) {
      return absl::InvalidArgumentError(
          "its forward returns a tuple whose elements are not tensors");
    }
    return Features{.features_ND = features_and_logits[0].toTensor(),
                    .logits_NK = features_and_logits[1].toTensor()};
  }

  torch::jit::Module module_;
  bool takes_features_ = false;
  bool takes_bias_ = false;
  at::Tensor output_weight_;  // undefined: the module makes the logits
};

}  // namespace

namespace {

// Shapes to try for images of several sizes: a network that takes both takes
// any.
std::vector<ImageShape> SeveralShapes(const ExtractorOptions& options) {
  const int64_t channels = options.image_shape.channels;
  return {{.channels = channels, .height = 96, .width = 80},
          {.channels = channels, .height = 320, .width = 352}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenTorchScriptExtractor(
    const std::string& path, const std::string& sha256,
    const ExtractorOptions& options) {
  const torch::NoGradGuard no_grad;
  auto extractor = CatchTorchOr(
      [&]() -> absl::StatusOr<std::unique_ptr<TorchScriptExtractor>> {
        using Made = absl::StatusOr<std::unique_ptr<TorchScriptExtractor>>;
        return CatchScript([&]() -> Made {
          return std::make_unique<TorchScriptExtractor>(
              torch::jit::load(path, options.compute.device), sha256,
              options.compute);
        });
      });
  if (!extractor.ok()) {
    return absl::DataLossError(
        absl::StrCat("a TorchScript file that cannot be loaded: ",
                     extractor.status().message()));
  }
  std::vector<ImageShape> shapes = {options.image_shape};
  if (options.image_shape.height == 0) shapes = SeveralShapes(options);
  for (const auto& [channels, height, width] : shapes) {
    const at::Tensor image_NCHW = torch::arange(channels * height * width)
                                      .remainder(251)
                                      .to(at::kByte)
                                      .view({1, channels, height, width});
    const absl::Status tried = CatchTorch([&] {
      return CatchScript([&] { return (*extractor)->TryOut(image_NCHW); });
    });
    if (!tried.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the network does not turn an image of ", channels, " x ", height,
          " x ", width, " into features: ", tried.message()));
    }
  }
  return *std::move(extractor);
}

}  // namespace gandem
