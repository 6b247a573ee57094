// SPDX-License-Identifier: Apache-2.0
//
// A network that turns images into the features that FID and its relatives
// compare. Three kinds of file make one, and those of extras:
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

// Where a network of features runs, and in which precision.
struct FeatureCompute {
  at::Device device = at::kCPU;
  // kFloat, or what the factors of convolutions and matrix products are cast
  // to (models/autocast.h).
  at::ScalarType precision = at::kFloat;
};

// "float32", "bfloat16" or "float16"; empty: float32.
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<at::ScalarType> ParsePrecision(absl::string_view text);
std::string PrecisionText(at::ScalarType precision);

// "bfloat16", "float32 on cuda"; empty: float32 on the CPU. Features are
// comparable, and the same bits, where it is the same.
std::string ComputeText(const FeatureCompute& compute);

// What a metric card says about the network.
struct FeatureNet {
  std::string name;
  std::string sha256;  // of the file, 64 lower-case hexadecimal digits
  int64_t feature_dim = 0;
  int64_t num_classes = 0;    // 0: no logits
  std::string resize;         // how images get the size that the network wants
  bool is_inception = false;  // the file is known to be the Inception of FID
  std::string family = {};    // one of those below, or empty
  std::string part = {};      // which of the file's layers; empty: the last
  std::string compute = {};   // ComputeText()
};

// The names in `--features clip:FILE`, `dinov2:FILE` and `lpips:FILE`. LPIPS
// has features of pairs of images.
inline constexpr char kClipFamily[] = "clip";
inline constexpr char kDinov2Family[] = "dinov2";
inline constexpr char kLpipsFamily[] = "lpips";

// "FID" for the Inception that the word stands for, else "FD(<name>)".
std::string DistanceName(const FeatureNet& net);

struct ExtractorOptions {
  // The shape of the images that Extract() will get; height and width are 0
  // where it will get several.
  ImageShape image_shape = {.channels = 3, .height = 299, .width = 299};
  // Of inception_input.h, for weights of the FID Inception; not set: kTf1.
  std::optional<InputResize> resize = {};
  // A file of another family is refused; empty: any.
  std::string family = {};
  // Of the FID Inception's layer (inception_v3.h); not set: the last.
  std::optional<int64_t> dims = {};
  FeatureCompute compute = {};
};

// What a user names: FILE, or with the family that it must be of, "clip:FILE".
struct NetworkFile {
  std::string family = {};  // as in FeatureNet
  std::string path = {};
};
NetworkFile ParseNetworkFile(absl::string_view text);

// What the image of this place is called, for messages.
using ImageNames = absl::FunctionRef<std::string(int64_t place)>;

class FeatureExtractor {
 public:
  virtual ~FeatureExtractor() = default;

  const FeatureNet& net() const { return net_; }

  // images_NCHW: uint8 on the CPU, N >= 1; 3 channels, or 1 that stands for
  // three equal ones where the network wants RGB; a network of pairs takes 6,
  // or 2, and float32, too. Features of an image do not
  // depend on the others but for rounding: for the same bits pass the same
  // batches.
  //   INVALID_ARGUMENT     not such images, or of a size that the network
  //                        does not take.
  //   FAILED_PRECONDITION  the network returned another shape than net() says.
  //   DATA_LOSS            it returned NaN or infinity; names the first image.
  absl::StatusOr<Features> Extract(const at::Tensor& images_NCHW,
                                   ImageNames name_of = &NumberOf);
  // The same of images [1, C, H, W]. Those of one size are one batch, others
  // are seen one by one.
  absl::StatusOr<Features> ExtractEach(const std::vector<at::Tensor>& images,
                                       ImageNames name_of = &NumberOf);

  // "image 7"
  static std::string NumberOf(int64_t place);

 protected:
  explicit FeatureExtractor(FeatureNet net, const FeatureCompute& compute = {});

  // The network's output, of any floating-point type and on any device, from
  // images on the CPU. Autocast is as compute() says. May throw.
  virtual absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) = 0;

  const FeatureCompute& compute() const { return compute_; }

  FeatureNet net_;  // set when the file is opened

 private:
  const FeatureCompute compute_;
};

// Tells the kind by the file's content.
//   NOT_FOUND ...     the file cannot be read.
//   INVALID_ARGUMENT  it is of no known kind, or of another family, or the
//                     network does not take images of options.image_shape; a
//                     resize or a layer for a network that has its own.
//   FAILED_PRECONDITION  this build lacks the extra of options.family.
//   DATA_LOSS         it is damaged.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenFeatureExtractor(
    const std::string& path, const ExtractorOptions& options = {});

}  // namespace gandem
