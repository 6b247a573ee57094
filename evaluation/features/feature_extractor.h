// SPDX-License-Identifier: Apache-2.0
//
// A network that turns images into features for FID and related metrics. It is
// made from one of these files:
//
//   a TorchScript file            torchscript_extractor.h
//   weights of the FID Inception  inception_extractor.h
//   what train-features wrote     classifier.h
//   weights of other networks     weights_family.h
//
//   auto extractor = *OpenFeatureExtractor(path, {.image_shape = shape});
//   const Features features = *extractor->Extract(images_NCHW);
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Status only; Torch's exceptions end here.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image_shape.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/networks/features.h"

namespace gandem {

// Device and precision of a feature network.
struct FeatureCompute {
  at::Device device = at::kCPU;
  // Type that factors of convolutions and matrix products are cast to
  // (models/autocast.h); kFloat: no cast.
  at::ScalarType precision = at::kFloat;
};

// "float32", "bfloat16" or "float16"; empty: float32.
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<at::ScalarType> ParsePrecision(absl::string_view text);
std::string PrecisionText(at::ScalarType precision);

// "bfloat16", "float32 on cuda"; empty: float32 on the CPU. Features are
// comparable, with the same bits, only if this text is the same.
std::string ComputeText(const FeatureCompute& compute);

// Description of a feature network, as a metric card records it.
struct FeatureNet {
  std::string name;
  std::string sha256;  // of the file, 64 lower-case hexadecimal digits
  int64_t feature_dim = 0;
  int64_t num_classes = 0;    // 0: no logits
  std::string resize;         // how images are resized for the network
  bool is_inception = false;  // the file is known to be the Inception of FID
  std::string family = {};    // one of the names below, or empty
  std::string part = {};      // layer of the file; empty: the last
  std::string compute = {};   // ComputeText()
};

// Family names in `--features clip:FILE`, `dinov2:FILE` and `lpips:FILE`. LPIPS
// has features of pairs of images.
inline constexpr char kClipFamily[] = "clip";
inline constexpr char kDinov2Family[] = "dinov2";
inline constexpr char kLpipsFamily[] = "lpips";

// "FID" for the published Inception, else "FD(<name>)".
std::string DistanceName(const FeatureNet& net);

struct ExtractorOptions {
  // Shape of the images for Extract(); height and width are 0 if sizes differ.
  ImageShape image_shape = {.channels = 3, .height = 299, .width = 299};
  // Resize for the FID Inception (inception_input.h). Default: kTf1.
  std::optional<InputResize> resize = {};
  // Required family of the file; empty: any.
  std::string family = {};
  // Dimensions of the FID Inception's layer (inception_v3.h). Default: the
  // last.
  std::optional<int64_t> dims = {};
  FeatureCompute compute = {};
};

// A network as a user names it: FILE, or "clip:FILE" with its required family.
struct NetworkFile {
  std::string family = {};  // as in FeatureNet
  std::string path = {};
};
NetworkFile ParseNetworkFile(absl::string_view text);

// Returns the name of the image at `place`, for messages.
using ImageNames = absl::FunctionRef<std::string(int64_t place)>;

class FeatureExtractor {
 public:
  virtual ~FeatureExtractor() = default;

  const FeatureNet& net() const { return net_; }

  // images_NCHW: uint8 on the CPU, N >= 1, with 3 channels, or 1 that stands
  // for three equal ones if the network takes RGB. A network of pairs takes 6
  // or 2, and float32 as well. The rest of the batch affects an image's
  // features only by rounding: pass the same batches to get the same bits.
  //   INVALID_ARGUMENT     other images, or a size that the network does not
  //                        take.
  //   FAILED_PRECONDITION  the network returned another shape than net() says.
  //   DATA_LOSS            the network returned NaN or infinity; names the
  //                        first image.
  absl::StatusOr<Features> Extract(const at::Tensor& images_NCHW,
                                   ImageNames name_of = &NumberOf);
  // Extract() for images [1, C, H, W]: as one batch if they have one size,
  // otherwise one by one.
  absl::StatusOr<Features> ExtractEach(const std::vector<at::Tensor>& images,
                                       ImageNames name_of = &NumberOf);

  // Returns "image 7" for place 7.
  static std::string NumberOf(int64_t place);

 protected:
  explicit FeatureExtractor(FeatureNet net, const FeatureCompute& compute = {});

  // Returns the network's output, of any floating-point type and on any device,
  // for images on the CPU. Autocast is as compute() says. May throw.
  virtual absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) = 0;

  const FeatureCompute& compute() const { return compute_; }

  FeatureNet net_;  // set when the file is opened

 private:
  const FeatureCompute compute_;
};

// Opens a network's file, whose content tells its kind.
//   NOT_FOUND ...     the file cannot be read.
//   INVALID_ARGUMENT  the file is of no known kind, or another family, or the
//                     network does not take images of options.image_shape; a
//                     resize or a layer for a network that has its own.
//   FAILED_PRECONDITION  this build lacks the extra of options.family.
//   DATA_LOSS         the file is damaged.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenFeatureExtractor(
    const std::string& path, const ExtractorOptions& options = {});

}  // namespace gandem
