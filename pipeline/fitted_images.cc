// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fitted_images.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/philox.h"
#include "common/status.h"
#include "common/value_of_byte.h"
#include "pipeline/io_counters.h"

namespace gandem {
namespace {

constexpr float kBackground = -1.0f;

absl::Status TooLargeToPad(const ImageShape& image, int64_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("data.image_size ", size,
                   " is too small for data.fit: PAD; use RESIZE or at least ",
                   image.height, " x ", image.width, " pixels"));
}

// Adds the times of decoding and transforming to ProcessIoCounters().
class FinishTimer {
 public:
  explicit FinishTimer(bool is_decoded)
      : is_decoded_(is_decoded), begin_(is_decoded ? Now() : 0) {}
  FinishTimer(const FinishTimer&) = delete;
  FinishTimer& operator=(const FinishTimer&) = delete;
  ~FinishTimer() {
    if (has_decoded_) Add(ProcessIoCounters().transform_ns);
  }
  void EndDecode() {
    if (!is_decoded_) return;
    Add(ProcessIoCounters().decode_ns);
    has_decoded_ = true;
  }

 private:
  static int64_t Now() { return absl::ToUnixNanos(MonotonicNow()); }
  void Add(std::atomic<int64_t>& sum) {
    const int64_t now = Now();
    sum.fetch_add(now - begin_, std::memory_order_relaxed);
    begin_ = now;
  }

  const bool is_decoded_;
  bool has_decoded_ = false;
  int64_t begin_;
};

// Writes the values of `image`, channels first, into `out_CHW` of `shape`, with
// the first pixel at (top, left). The image must fit.
void WriteValues(const PixelImage& image, int64_t top, int64_t left,
                 ImageShape shape, std::span<float> out_CHW) {
  const uint8_t* byte = image.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    float* const row = out_CHW.data() + (top + y) * shape.width + left;
    for (int64_t x = 0; x < image.width; ++x) {
      for (int64_t c = 0; c < image.channels; ++c) {
        row[c * shape.height * shape.width + x] = kValueOfByte[*byte++];
      }
    }
  }
}

PixelImage ToGray(const PixelImage& image) {
  PixelImage gray = {.height = image.height, .width = image.width};
  gray.pixels.reserve(static_cast<size_t>(image.height * image.width));
  const uint8_t* rgb = image.pixels.data();
  for (int64_t i = 0; i < image.height * image.width; ++i, rgb += 3) {
    gray.pixels.push_back(static_cast<uint8_t>(
        (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16));
  }
  return gray;
}

PixelImage ToRgb(const PixelImage& image) {
  PixelImage rgb = {
      .channels = 3, .height = image.height, .width = image.width};
  rgb.pixels.reserve(3 * image.pixels.size());
  for (const uint8_t value : image.pixels) {
    rgb.pixels.insert(rgb.pixels.end(), 3, value);
  }
  return rgb;
}

}  // namespace

SampleDraw DrawOf(const SampleKey& key) {
  PhiloxStream stream(key.seed, Purpose::kDataTransform, /*step=*/0,
                      static_cast<uint64_t>(key.number));
  SampleDraw draw = {.mirror = stream.NextUint32() >> 31 != 0};
  draw.place = stream.NextUniform();
  return draw;
}

void Mirror(ImageShape shape, std::span<float> values_CHW) {
  for (int64_t row = 0; row < shape.channels * shape.height; ++row) {
    const auto values = values_CHW.subspan(row * shape.width, shape.width);
    std::reverse(values.begin(), values.end());
  }
}

PixelImage WithChannels(PixelImage image, int64_t channels) {
  GANDEM_CHECK((channels == 1 || channels == 3) &&
               (image.channels == 1 || image.channels == 3));
  if (image.channels == channels) return image;
  return channels == 1 ? ToGray(image) : ToRgb(image);
}

absl::StatusOr<std::unique_ptr<Dataset>> FittedImages::Create(
    std::shared_ptr<const ImageStore> source, Fitting fitting) {
  if (fitting.size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.image_size ", fitting.size, " is below 1"));
  }
  if (fitting.channels != 1 && fitting.channels != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.channels ", fitting.channels,
                     " is for tensors; images have 1 (gray) or 3 (RGB)"));
  }
  const std::optional<ImageShape> common = source->info().common_shape;
  if (fitting.pad && common.has_value() &&
      std::max(common->height, common->width) > fitting.size) {
    return TooLargeToPad(*common, fitting.size);
  }
  return std::unique_ptr<Dataset>(new FittedImages(std::move(source), fitting));
}

FittedImages::FittedImages(std::shared_ptr<const ImageStore> source,
                           Fitting fitting)
    : source_(std::move(source)),
      fitting_(fitting),
      size_(fitting.max_images > 0
                ? std::min(source_->size(), fitting.max_images)
                : source_->size()),
      shape_{.channels = fitting.channels,
             .height = fitting.size,
             .width = fitting.size} {}

ImageUnits UnitsOf(const ImageStore& source, int64_t size,
                   int64_t shuffle_window) {
  ImageUnits units = {.size = size, .window = shuffle_window};
  if (shuffle_window > 0) {
    units.firsts = source.info().units;
    std::erase_if(units.firsts, [&](int64_t first) { return first >= size; });
  }
  return units;
}

ImageUnits FittedImages::Units() const {
  return UnitsOf(*source_, size_, fitting_.shuffle_window);
}

absl::StatusOr<StoredSample> FittedImages::Fetch(int64_t index) const {
  GANDEM_CHECK(index >= 0 && index < size_);
  absl::StatusOr<std::string> image = source_->Fetch(index);
  if (!image.ok()) return WithAdvice(image.status(), fitting_.if_unreadable);
  return StoredSample{.image = *std::move(image)};
}

absl::StatusOr<int64_t> FittedImages::Finish(int64_t index,
                                             const StoredView& stored,
                                             std::optional<SampleKey> key,
                                             std::span<float> out) const {
  bool flip = false;
  std::optional<double> place;
  if (key.has_value()) {
    const SampleDraw draw = DrawOf(*key);
    flip = draw.mirror;
    if (fitting_.crop == CropPlace::kRandom) place = draw.place;
  }
  GANDEM_RETURN_IF_ERROR(Fit(index, stored.image, place, out));
  if (fitting_.flip && flip) Mirror(shape_, out);
  return source_->LabelOf(index);
}

absl::Status FittedImages::Fit(int64_t index, absl::string_view stored,
                               std::optional<double> place,
                               std::span<float> out) const {
  GANDEM_CHECK(index >= 0 && index < size_);
  GANDEM_CHECK(static_cast<int64_t>(out.size()) == shape_.NumValues());
  FinishTimer timer(/*is_decoded=*/!stored.empty());
  absl::StatusOr<DecodedImage> decoded = source_->Decode(index, stored);
  if (!decoded.ok()) {
    return WithAdvice(decoded.status(), fitting_.if_unreadable);
  }
  timer.EndDecode();
  PixelImage image = WithChannels(std::move(decoded->pixels), shape_.channels);
  if (fitting_.pad) {
    const absl::Status padded = Pad(image, out);
    if (!padded.ok()) return Annotate(padded, source_->NameOf(index));
  } else if (fitting_.crop == CropPlace::kAll || image.height == image.width) {
    Resize(image, out);
  } else {
    Resize(CropSquare(image, place), out);
  }
  return absl::OkStatus();
}

absl::Status FittedImages::Pad(const PixelImage& image,
                               std::span<float> out) const {
  if (std::max(image.height, image.width) > fitting_.size) {
    return TooLargeToPad(ShapeOf(image), fitting_.size);
  }
  std::ranges::fill(out, kBackground);
  WriteValues(image, (shape_.height - image.height) / 2,
              (shape_.width - image.width) / 2, shape_, out);
  return absl::OkStatus();
}

PixelImage CropSquare(const PixelImage& image, std::optional<double> place) {
  const int64_t side = std::min(image.height, image.width);
  const int64_t spare = std::max(image.height, image.width) - side;
  if (spare == 0) return image;
  // A central square leaves the odd pixel below or to the right, as PAD does.
  const auto skipped =
      place.has_value()
          ? static_cast<int64_t>(*place * static_cast<double>(spare + 1))
          : spare / 2;
  const int64_t top = image.height > side ? skipped : 0;
  const int64_t left = image.width > side ? skipped : 0;
  PixelImage square = {
      .channels = image.channels, .height = side, .width = side};
  square.pixels.reserve(static_cast<size_t>(side * side * image.channels));
  for (int64_t y = top; y < top + side; ++y) {
    const uint8_t* row =
        image.pixels.data() + (y * image.width + left) * image.channels;
    square.pixels.insert(square.pixels.end(), row, row + side * image.channels);
  }
  return square;
}

std::shared_ptr<const KernelResampler> FittedImages::ResamplerFrom(
    const ImageShape& shape) const {
  {
    const absl::MutexLock lock(&mutex_);
    if (resampler_ != nullptr &&
        resampler_->IsFrom(shape.height, shape.width)) {
      return resampler_;
    }
  }
  auto made = std::make_shared<const KernelResampler>(
      *fitting_.kernel, shape.height, shape.width, shape_.height, shape_.width);
  const absl::MutexLock lock(&mutex_);
  return resampler_ = std::move(made);
}

void FittedImages::Resize(const PixelImage& image, std::span<float> out) const {
  const ImageShape from = ShapeOf(image);
  if (from == shape_) {
    WriteValues(image, 0, 0, shape_, out);
  } else if (fitting_.kernel.has_value()) {
    WriteValues(ResamplerFrom(from)->Apply(image), 0, 0, shape_, out);
  } else {
    std::vector<float> values(static_cast<size_t>(from.NumValues()));
    WriteValues(image, 0, 0, from, values);
    Resampler(from, shape_).Apply(values, out);
  }
}

}  // namespace gandem
