// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensor_samples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "common/vectorized.h"
#include "pipeline/io_counters.h"

namespace gandem {
namespace {

// Converts IEEE 754 binary16. Its bits as a float are the value times 2^-112,
// even if subnormal. Infinity and NaN become 65536 or more.
[[gnu::always_inline]] inline float FloatOf(uint16_t half) {
  constexpr float kRaise = 0x1p112f;
  const float magnitude =
      std::bit_cast<float>(static_cast<uint32_t>(half & 0x7fff) << 13) * kRaise;
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}
[[gnu::always_inline]] inline float FloatOf(float number) { return number; }

constexpr float kBeyondHalf = 65536;

// Returns whether a tensor is a square, or a waveform that fills one.
bool FitsSquare(const ImageShape& found, int64_t size) {
  return found.height == 1 ? found.width == size * size
                           : found.height == size && found.width == size;
}

std::string HowToFit(const ImageShape& found) {
  const auto root = std::llround(std::sqrt(static_cast<double>(found.width)));
  const bool waveform = found.height == 1;
  if (waveform ? root * root == found.width : found.height == found.width) {
    return absl::StrCat("set data.image_size to ",
                        waveform ? root : found.height,
                        " and take networks for it");
  }
  return waveform ? absl::StrCat(
                        "a waveform has to have data.image_size * "
                        "data.image_size values, such as ",
                        root * root)
                  : "store squares, channels first; tensors are not resized";
}

// Tracks the largest magnitude as the bits of a float: bits of nonnegative
// floats sort like the numbers, with infinity and NaN at the top.
template <typename Number>
struct TensorLoop {
  const char* stored;
  std::span<float> out;
  float scale;
  uint32_t* most;

  [[gnu::always_inline]] void operator()() const {
    uint32_t largest = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      Number number = {};
      std::memcpy(&number, stored + i * sizeof(number), sizeof(number));
      const float value = FloatOf(number);
      largest = std::max(largest, std::bit_cast<uint32_t>(value) & 0x7fffffffu);
      out[i] = value * scale;
    }
    *most = largest;
  }
};

}  // namespace

float ReadTensor(absl::string_view stored, DType dtype, float scale,
                 std::span<float> out) {
  GANDEM_CHECK(dtype == DType::kF16 || dtype == DType::kF32);
  GANDEM_CHECK(stored.size() ==
               out.size() * static_cast<size_t>(BytesPerElement(dtype)));
  uint32_t most = 0;
  if (dtype == DType::kF32) {
    RunVectorized(TensorLoop<float>{stored.data(), out, scale, &most});
    return std::bit_cast<float>(most);
  }
  RunVectorized(TensorLoop<uint16_t>{stored.data(), out, scale, &most});
  const auto magnitude = std::bit_cast<float>(most);
  return magnitude < kBeyondHalf ? magnitude
                                 : std::numeric_limits<float>::infinity();
}

absl::StatusOr<std::unique_ptr<Dataset>> TensorSamples::Create(
    std::shared_ptr<const ImageStore> source, Fitting fitting, double scale) {
  const ImageShape found = source->tensors()->shape;
  if (found.channels != fitting.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensors are ", TensorShapeText(found),
        " (channels x height x width), and data.channels is ", fitting.channels,
        ": set it to ", found.channels, ", or leave it out"));
  }
  if (!FitsSquare(found, fitting.size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensors are ", TensorShapeText(found),
                     " (channels x height x width), and networks see ",
                     fitting.channels, " x ", fitting.size, " x ", fitting.size,
                     " (data.image_size): ", HowToFit(found)));
  }
  return std::unique_ptr<Dataset>(
      new TensorSamples(std::move(source), std::move(fitting), scale));
}

TensorSamples::TensorSamples(std::shared_ptr<const ImageStore> source,
                             Fitting fitting, double scale)
    : source_(std::move(source)),
      fitting_(std::move(fitting)),
      format_(*source_->tensors()),
      scale_(static_cast<float>(scale)),
      size_(fitting_.max_images > 0
                ? std::min(source_->size(), fitting_.max_images)
                : source_->size()) {}

ImageUnits TensorSamples::Units() const {
  return UnitsOf(*source_, size_, fitting_.shuffle_window);
}

absl::StatusOr<StoredSample> TensorSamples::Fetch(int64_t index) const {
  GANDEM_CHECK(index >= 0 && index < size_);
  absl::StatusOr<std::string> values = source_->Fetch(index);
  if (!values.ok()) return WithAdvice(values.status(), fitting_.if_unreadable);
  return StoredSample{.image = *std::move(values)};
}

absl::StatusOr<int64_t> TensorSamples::Finish(int64_t index,
                                              const StoredView& stored,
                                              std::optional<SampleKey> key,
                                              std::span<float> out) const {
  GANDEM_CHECK(static_cast<int64_t>(out.size()) == format_.shape.NumValues());
  const absl::Time begin = MonotonicNow();
  const float most = ReadTensor(stored.image, format_.dtype, scale_, out);
  if (!std::isfinite(most)) {
    return WithAdvice(
        absl::DataLossError(absl::StrCat(source_->NameOf(index),
                                         ": a value of it is not finite")),
        fitting_.if_unreadable);
  }
  if (fitting_.flip && key.has_value() && DrawOf(*key).mirror) {
    Mirror(format_.shape, out);
  }
  ProcessIoCounters().transform_ns.fetch_add(
      absl::ToInt64Nanoseconds(MonotonicNow() - begin),
      std::memory_order_relaxed);
  return source_->LabelOf(index);
}

}  // namespace gandem
