// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the wire codec and the discriminator's end. Byte 0 is the size of the
// pieces, and selects whether size, checksum and length of the payload are
// repaired first: without the repair the checksum would refuse nearly every
// mutation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "common/wire_header.h"
#include "exchange/discriminator_end.h"
#include "exchange/exchange_options.h"
#include "exchange/wire_codec.h"
#include "proto/exchange.pb.h"
#include "tests/fuzz/small_run.h"

namespace gandem {
namespace {

constexpr int64_t kMaxBytes = 1 << 16;

std::span<const std::byte> BytesOf(absl::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

absl::StatusOr<Frame> Decode(absl::string_view message, size_t piece_bytes) {
  std::vector<SharedBytes> pieces;
  for (size_t at = 0; at < message.size(); at += piece_bytes) {
    pieces.push_back(
        SharedBytes::Copy(BytesOf(message.substr(at, piece_bytes))));
  }
  return DecodeFrame(pieces, kMaxBytes);
}

// Repairs a message whose byte 0 is the header's size.
std::string Repair(absl::string_view input) {
  if (input.empty()) return "";
  const size_t size = static_cast<uint8_t>(input[0]);
  TensorHeader header;
  if (!header.ParseFromString(std::string(input.substr(1, size)))) return "";
  input.remove_prefix(std::min(input.size(), 1 + size));
  header.set_payload_bytes(static_cast<int64_t>(input.size()));
  header.set_crc32c(Crc32c(BytesOf(input)));
  const std::string bytes = header.SerializeAsString();
  return WirePrefix(bytes) + bytes + std::string(input);
}

void CheckFrame(const Frame& frame) {
  const SharedBytes payload = PayloadOf(frame.body);
  const auto fits = [&](const auto* batch) {
    return batch == nullptr || static_cast<int64_t>(payload.size()) ==
                                   batch->count * batch->format.BytesPerImage();
  };
  GANDEM_CHECK(fits(std::get_if<ImageBatch>(&frame.body)));
  GANDEM_CHECK(fits(std::get_if<FeedbackBatch>(&frame.body)));
  GANDEM_CHECK(
      reinterpret_cast<uintptr_t>(payload.data()) % kPayloadAlignment == 0);
  const std::string head = EncodeFrameHead(frame);
  const SharedBytes pieces[] = {SharedBytes::Copy(BytesOf(head)), payload};
  const absl::StatusOr<Frame> again = DecodeFrame(pieces, 2 * kMaxBytes);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(EncodeFrameHead(*again) == head);
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  if (size == 0) return 0;
  const size_t piece_bytes = 1 + data[0] % 64;
  const bool repair = data[0] >= 128;
  const absl::string_view input(reinterpret_cast<const char*>(data + 1),
                                size - 1);
  const absl::StatusOr<Frame> frame =
      Decode(repair ? Repair(input) : std::string(input), piece_bytes);
  if (!frame.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(frame.status()) ||
                 absl::IsDataLoss(frame.status()));
    return 0;
  }
  CheckFrame(*frame);
  const ImageBatch* const images = std::get_if<ImageBatch>(&frame->body);
  if (images == nullptr) return 0;
  static DiscriminatorEnd* const end = new DiscriminatorEnd(SmallRun());
  const absl::StatusOr<bool> offered =
      end->OfferImages(frame->sender.rank, *images);
  GANDEM_CHECK(offered.ok() || absl::IsInvalidArgument(offered.status()) ||
               absl::IsFailedPrecondition(offered.status()));
  return 0;
}
