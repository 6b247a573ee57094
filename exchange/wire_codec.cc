// SPDX-License-Identifier: Apache-2.0
#include "exchange/wire_codec.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/crc32c.h"
#include "common/status.h"
#include "common/wire_header.h"
#include "proto/exchange.pb.h"

namespace gandem {
namespace {

constexpr char kFrame[] = "malformed frame";
constexpr int64_t kMaxDimension = int64_t{1} << 24;
// Chunks of copies and checksums fit into the L1 cache.
constexpr size_t kChunkBytes = size_t{16} << 10;

constexpr std::pair<ImageUse, WireUse> kUses[] = {
    {ImageUse::kTrain, USE_TRAIN},
    {ImageUse::kFeedback, USE_FEEDBACK},
    {ImageUse::kBoth, USE_BOTH}};
constexpr std::pair<Encoding, WireEncoding> kEncodings[] = {
    {Encoding::kFloat32, WIRE_FLOAT32},
    {Encoding::kBfloat16, WIRE_BFLOAT16},
    {Encoding::kUint8, WIRE_UINT8},
    {Encoding::kFloat64, WIRE_FLOAT64}};
constexpr std::pair<Layout, WireLayout> kLayouts[] = {
    {Layout::kNchw, WIRE_NCHW}, {Layout::kChannelsLast, WIRE_CHANNELS_LAST}};

absl::Status Malformed(absl::string_view what) {
  return MalformedMessage(kFrame, what);
}

// --- Writing: one function per kind of frame ---

void WriteFormat(const TensorFormat& format, int64_t count,
                 TensorHeader& header) {
  header.set_encoding(ToWire(kEncodings, format.encoding));
  header.set_layout(ToWire(kLayouts, format.layout));
  for (const int64_t size :
       {count, format.channels, format.height, format.width}) {
    header.add_shape(size);
  }
}

template <typename Ranged>
void WriteRange(const Ranged& ranged, TensorHeader& header) {
  header.set_round(ranged.round);
  header.set_first_index(ranged.first_index);
  header.set_count(ranged.count);
}

void WriteBody(const ImageBatch& batch, TensorHeader& header) {
  header.set_kind(FRAME_IMAGES);
  header.set_use(ToWire(kUses, batch.use));
  WriteRange(batch, header);
  header.set_version(batch.generator_version);
  WriteFormat(batch.format, batch.count, header);
}

void WriteBody(const FeedbackBatch& batch, TensorHeader& header) {
  header.set_kind(FRAME_FEEDBACK);
  WriteRange(batch, header);
  header.set_version(batch.critic_version);
  header.set_loss(batch.loss);
  WriteFormat(batch.format, batch.count, header);
}

void WriteBody(const CriticState& critic, TensorHeader& header) {
  header.set_kind(FRAME_CRITIC);
  header.set_version(critic.version);
  header.set_encoding(WIRE_BYTES);
  header.add_shape(static_cast<int64_t>(critic.bytes.size()));
}

void WriteBody(const AckFrame& ack, TensorHeader& header) {
  header.set_kind(FRAME_ACK);
  header.set_use(ToWire(kUses, ack.use));
  WriteRange(ack, header);
  header.set_version(ack.version);
}

void WriteBody(const FinishedFrame&, TensorHeader& header) {
  header.set_kind(FRAME_FINISHED);
}

void WriteBody(const OpenFrame& open, TensorHeader& header) {
  header.set_kind(FRAME_OPEN);
  header.set_version(open.version);
}

// --- Reading ---

absl::Status CheckNumbers(const TensorHeader& header) {
  const std::pair<absl::string_view, int64_t> numbers[] = {
      {"run_epoch", header.run_epoch()},
      {"incarnation", header.incarnation()},
      {"rank", header.rank()},
      {"round", header.round()},
      {"first_index", header.first_index()},
      {"count", header.count()}};
  GANDEM_RETURN_IF_ERROR(CheckNotNegative(kFrame, numbers));
  // An OPEN frame uses -1 for "no critic yet".
  if (header.version() < (header.kind() == FRAME_OPEN ? -1 : 0)) {
    return Malformed(absl::StrCat("version ", header.version()));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorFormat> ReadFormat(const TensorHeader& header) {
  TensorFormat format;
  const auto encoding = FromWire(kEncodings, header.encoding());
  if (!encoding.has_value()) return Malformed("encoding");
  format.encoding = *encoding;
  const auto layout = FromWire(kLayouts, header.layout());
  if (!layout.has_value()) return Malformed("layout");
  format.layout = *layout;
  if (header.shape_size() != 4) return Malformed("shape is not N, C, H, W");
  // Prevents overflow: the sizes must multiply to the payload's bytes, so each
  // size must divide the remaining quotient.
  int64_t left = header.payload_bytes() / BytesPerElement(format.encoding);
  const bool whole =
      left * BytesPerElement(format.encoding) == header.payload_bytes();
  for (const int64_t size : header.shape()) {
    if (size < 1 || size > kMaxDimension || left % size != 0) {
      return Malformed("shape does not fit the payload");
    }
    left /= size;
  }
  if (!whole || left != 1) return Malformed("shape does not fit the payload");
  if (header.shape(0) != header.count()) {
    return Malformed("shape does not fit the count");
  }
  format.channels = header.shape(1);
  format.height = header.shape(2);
  format.width = header.shape(3);
  return format;
}

template <typename Ranged>
void ReadRange(const TensorHeader& header, Ranged& ranged) {
  ranged.round = header.round();
  ranged.first_index = header.first_index();
  ranged.count = header.count();
}

absl::Status CheckNoPayload(const TensorHeader& header) {
  if (header.payload_bytes() == 0 && header.shape_size() == 0) {
    return absl::OkStatus();
  }
  return Malformed("payload in a frame that has none");
}

absl::StatusOr<FrameBody> ReadImages(const TensorHeader& header, ImageUse use) {
  ImageBatch batch{.use = use, .generator_version = header.version()};
  ReadRange(header, batch);
  GANDEM_ASSIGN_OR_RETURN(batch.format, ReadFormat(header));
  return batch;
}

absl::StatusOr<FrameBody> ReadFeedback(const TensorHeader& header) {
  FeedbackBatch batch{.critic_version = header.version(),
                      .loss = header.loss()};
  ReadRange(header, batch);
  GANDEM_ASSIGN_OR_RETURN(batch.format, ReadFormat(header));
  return batch;
}

absl::StatusOr<FrameBody> ReadCritic(const TensorHeader& header) {
  if (header.encoding() != WIRE_BYTES || header.shape_size() != 1 ||
      header.shape(0) != header.payload_bytes()) {
    return Malformed("critic is not plain bytes");
  }
  return CriticState{.version = header.version()};
}

absl::StatusOr<FrameBody> ReadAck(const TensorHeader& header, ImageUse use) {
  GANDEM_RETURN_IF_ERROR(CheckNoPayload(header));
  AckFrame ack{.use = use, .version = header.version()};
  ReadRange(header, ack);
  return ack;
}

// Reads everything except the payload.
absl::StatusOr<FrameBody> ReadBody(const TensorHeader& header) {
  const std::optional<ImageUse> use = FromWire(kUses, header.use());
  const bool is_optional =
      header.kind() != FRAME_IMAGES && header.use() == USE_UNKNOWN;
  if (!use.has_value() && !is_optional) return Malformed("use of the images");
  switch (header.kind()) {
    case FRAME_IMAGES:
      return ReadImages(header, *use);
    case FRAME_FEEDBACK:
      return ReadFeedback(header);
    case FRAME_CRITIC:
      return ReadCritic(header);
    case FRAME_ACK:
      return ReadAck(header, use.value_or(ImageUse::kTrain));
    case FRAME_FINISHED:
      GANDEM_RETURN_IF_ERROR(CheckNoPayload(header));
      return FinishedFrame{};
    case FRAME_OPEN:
      GANDEM_RETURN_IF_ERROR(CheckNoPayload(header));
      return OpenFrame{.version = header.version()};
    default:
      return Malformed(absl::StrCat("unknown kind ", header.kind()));
  }
}

// Returns the payload's field; null for frames without a payload.
template <typename Body>
auto PayloadIn(Body& body)
    -> decltype(&std::get_if<CriticState>(&body)->bytes) {
  if (auto* images = std::get_if<ImageBatch>(&body)) return &images->pixels;
  if (auto* answer = std::get_if<FeedbackBatch>(&body)) {
    return &answer->gradient;
  }
  if (auto* critic = std::get_if<CriticState>(&body)) return &critic->bytes;
  return nullptr;
}

// Returns the pieces copied into one, and its checksum.
std::pair<SharedBytes, uint32_t> JoinPieces(
    std::span<const SharedBytes> pieces) {
  constexpr std::align_val_t kAlignment{kPayloadAlignment};
  const size_t size = static_cast<size_t>(TotalBytes(pieces));
  std::shared_ptr<std::byte> payload(
      static_cast<std::byte*>(::operator new(size, kAlignment)),
      [](std::byte* bytes) { ::operator delete(bytes, kAlignment); });
  uint32_t crc = 0;
  std::byte* out = payload.get();
  for (const SharedBytes& piece : pieces) {
    for (size_t at = 0; at < piece.size(); at += kChunkBytes) {
      const size_t part = std::min(piece.size() - at, kChunkBytes);
      std::memcpy(out, piece.data() + at, part);
      crc = Crc32c({out, part}, crc);
      out += part;
    }
  }
  const std::span<const std::byte> bytes(payload.get(), size);
  return {SharedBytes(std::move(payload), bytes), crc};
}

}  // namespace

SharedBytes PayloadOf(const FrameBody& body) {
  const SharedBytes* const payload = PayloadIn(body);
  return payload == nullptr ? SharedBytes() : *payload;
}

std::string EncodeFrameHead(const Frame& frame) {
  TensorHeader header;
  header.set_run_epoch(frame.sender.run_epoch);
  header.set_incarnation(frame.sender.incarnation);
  header.set_rank(frame.sender.rank);
  header.set_use(USE_TRAIN);  // the default for frames without a use
  std::visit([&](const auto& body) { WriteBody(body, header); }, frame.body);
  if (const SharedBytes* const payload = PayloadIn(frame.body)) {
    header.set_payload_bytes(static_cast<int64_t>(payload->size()));
    header.set_crc32c(Crc32c(payload->span()));
  }
  return EncodeWireHeader(header, kMaxHeaderBytes);
}

absl::StatusOr<Frame> DecodeFrame(std::span<const SharedBytes> pieces,
                                  int64_t max_bytes) {
  if (TotalBytes(pieces) > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frame of ", TotalBytes(pieces), " bytes is larger than the ",
        max_bytes, " that max_message_bytes allows"));
  }
  std::vector<SharedBytes> left(pieces.begin(), pieces.end());
  TensorHeader header;
  GANDEM_RETURN_IF_ERROR(TakeWireHeader(kFrame, kMaxHeaderBytes, left, header));
  if (header.payload_bytes() != TotalBytes(left)) {
    return Malformed(absl::StrCat("payload_bytes ", header.payload_bytes(),
                                  ", but ", TotalBytes(left), " bytes follow"));
  }
  GANDEM_RETURN_IF_ERROR(CheckNumbers(header));
  Frame frame = {.sender = {.run_epoch = header.run_epoch(),
                            .incarnation = header.incarnation(),
                            .rank = header.rank()}};
  GANDEM_ASSIGN_OR_RETURN(frame.body, ReadBody(header));
  if (SharedBytes* const payload = PayloadIn(frame.body)) {
    uint32_t crc = 0;
    std::tie(*payload, crc) = JoinPieces(left);
    if (crc != header.crc32c())
      return DamagedMessage(kFrame, "checksum of the payload");
  }
  return frame;
}

}  // namespace gandem
