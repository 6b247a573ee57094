// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the decoder of ring messages, and a rank that receives them from a
// peer: the rank may refuse or accept, but not crash. Byte 0 is the size of the
// pieces, byte 1 the size of the header.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "collective/ring_codec.h"
#include "collective/ring_core.h"
#include "common/check.h"
#include "common/wire_header.h"

namespace gandem {
namespace {

constexpr int64_t kMaxBytes = 1 << 16;

absl::StatusOr<RingFrame> Decode(absl::string_view message,
                                 size_t piece_bytes) {
  std::vector<SharedBytes> pieces;
  for (size_t at = 0; at < message.size(); at += piece_bytes) {
    const absl::string_view piece = message.substr(at, piece_bytes);
    pieces.push_back(SharedBytes::Copy(
        std::as_bytes(std::span<const char>(piece.data(), piece.size()))));
  }
  return DecodeRingFrame(pieces, kMaxBytes);
}

void Handle(const RingFrame& frame) {
  RingCore core;
  core.Configure({.rank = 0, .incarnations = {0, 0}, .membership_epoch = 0});
  (void)core.Admit(frame);
  (void)core.Deliver(1, frame);
  (void)core.TakeUnconnected();
  (void)core.Accept(frame, 1);
  (void)core.NextFor(1);
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const absl::string_view rest(reinterpret_cast<const char*>(data) + 2,
                               size - 2);
  const std::string message =
      gandem::WirePrefix(rest.substr(0, data[1])) + std::string(rest);
  const size_t piece_bytes = std::max<size_t>(1, data[0]);
  const auto frame = gandem::Decode(message, piece_bytes);
  if (!frame.ok()) return 0;
  gandem::Handle(*frame);
  if (frame->kind != gandem::RingFrameKind::kChunk) {
    GANDEM_CHECK_OK(
        gandem::Decode(gandem::EncodeRingHead(*frame), piece_bytes).status());
  }
  return 0;
}
