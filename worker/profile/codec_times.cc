// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/codec_times.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "exchange/wire_codec.h"

namespace gandem {
namespace {

constexpr int kCodecRepetitions = 7;

Frame ImagesFrame(const TensorFormat& format, int64_t count) {
  const auto bytes = static_cast<size_t>(count * format.BytesPerImage());
  return {.body =
              ImageBatch{.count = count,
                         .format = format,
                         .pixels = SharedBytes(std::vector<std::byte>(bytes))}};
}

template <typename Call>
std::vector<double> SecondsOf(Call call) {
  std::vector<double> seconds;
  for (int i = 0; i < kCodecRepetitions; ++i) {
    const absl::Time begin = MonotonicNow();
    call();
    seconds.push_back(absl::ToDoubleSeconds(MonotonicNow() - begin));
  }
  return seconds;
}

std::vector<double> EncodeSeconds(const Frame& frame) {
  return SecondsOf([&] { GANDEM_CHECK(!EncodeFrameHead(frame).empty()); });
}

std::vector<double> DecodeSeconds(const Frame& frame) {
  const std::string head = EncodeFrameHead(frame);
  const std::vector<SharedBytes> pieces = {
      SharedBytes::Copy(std::as_bytes(std::span(head))), PayloadOf(frame.body)};
  return SecondsOf([&] {
    GANDEM_CHECK_OK(
        DecodeFrame(pieces, std::numeric_limits<int64_t>::max()).status());
  });
}

}  // namespace

std::map<OperationTime::Operation, std::vector<double>> CodecTimes(
    Role role, const ExchangeOptions& options) {
  if (role == COLOCATED) return {};
  const Schedule& schedule = options.schedule;
  std::map<OperationTime::Operation, std::vector<double>> times;
  const bool generates = role == GENERATOR;
  const int64_t count =
      generates ? schedule.generator_batch : schedule.discriminator_batch;
  const Frame images = ImagesFrame(options.image_format, count);
  if (generates) {
    times[OperationTime::ENCODE] = EncodeSeconds(images);
  } else {
    times[OperationTime::DECODE] = DecodeSeconds(images);
  }
  if (!schedule.AnswersImages()) return times;
  // Answers are images, too, for checksum and copy.
  const Frame answers = ImagesFrame(options.feedback_format, count);
  if (generates) {
    times[OperationTime::DECODE] = DecodeSeconds(answers);
  } else {
    times[OperationTime::ENCODE] = EncodeSeconds(answers);
  }
  return times;
}

}  // namespace gandem
