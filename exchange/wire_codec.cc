// SPDX-License-Identifier: Apache-2.0
#include "exchange/wire_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/crc32c.h"
#include "common/status.h"
#include "proto/exchange.pb.h"

namespace gandem {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

constexpr size_t kPrefixBytes = 4;
constexpr int64_t kMaxDimension = int64_t{1} << 24;
// Copied and summed in steps that stay in the nearest cache.
constexpr size_t kChunkBytes = size_t{16} << 10;

// Pairs of our value and its number on the wire.
constexpr std::pair<FrameKind, WireFrameKind> kKinds[] = {
    {FrameKind::kImages, FRAME_IMAGES},
    {FrameKind::kFeedback, FRAME_FEEDBACK},
    {FrameKind::kCritic, FRAME_CRITIC},
    {FrameKind::kAck, FRAME_ACK},
    {FrameKind::kFinished, FRAME_FINISHED},
    {FrameKind::kOpen, FRAME_OPEN}};
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

template <typename Ours, typename Wire, size_t n>
Wire ToWire(const std::pair<Ours, Wire> (&table)[n], Ours ours) {
  for (const auto& [mine, wire] : table) {
    if (mine == ours) return wire;
  }
  return table[0].second;  // the tables are complete
}

template <typename Ours, typename Wire, size_t n>
std::optional<Ours> FromWire(const std::pair<Ours, Wire> (&table)[n],
                             Wire wire) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == wire) return ours;
  }
  return std::nullopt;
}

bool HasTensor(FrameKind kind) {
  return kind == FrameKind::kImages || kind == FrameKind::kFeedback;
}

bool HasPayload(FrameKind kind) {
  return HasTensor(kind) || kind == FrameKind::kCritic;
}

// Memory of a payload, not initialized.
std::shared_ptr<std::byte> AllocatePayload(size_t size) {
  constexpr std::align_val_t kAlignment{kPayloadAlignment};
  return std::shared_ptr<std::byte>(
      static_cast<std::byte*>(::operator new(size, kAlignment)),
      [](std::byte* bytes) { ::operator delete(bytes, kAlignment); });
}

// Reads the pieces of a message from front to back.
class Reader {
 public:
  explicit Reader(Pieces pieces) : pieces_(pieces) {
    for (const auto& piece : pieces) left_ += piece.size();
  }

  size_t left() const { return left_; }

  // Copies the next `size` <= left() bytes; returns their checksum.
  uint32_t Copy(std::byte* out, size_t size) {
    uint32_t crc = 0;
    while (size > 0) {
      while (offset_ == pieces_[index_].size()) {
        ++index_;
        offset_ = 0;
      }
      const std::span<const std::byte> piece = pieces_[index_];
      const size_t part = std::min({size, piece.size() - offset_, kChunkBytes});
      std::memcpy(out, piece.data() + offset_, part);
      crc = Crc32c({out, part}, crc);
      out += part;
      offset_ += part;
      left_ -= part;
      size -= part;
    }
    return crc;
  }

 private:
  Pieces pieces_;
  size_t index_ = 0;
  size_t offset_ = 0;
  size_t left_ = 0;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed frame: ", what));
}

absl::StatusOr<TensorHeader> ReadHeader(Reader& reader) {
  std::array<std::byte, kMaxHeaderBytes> bytes;
  if (reader.left() < kPrefixBytes) return Malformed("no header size");
  reader.Copy(bytes.data(), kPrefixBytes);
  size_t size = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    size |= std::to_integer<size_t>(bytes[i]) << (8 * i);
  }
  if (size > kMaxHeaderBytes || size > reader.left()) {
    return Malformed(absl::StrCat("header size ", size));
  }
  reader.Copy(bytes.data(), size);
  TensorHeader header;
  if (!header.ParseFromArray(bytes.data(), static_cast<int>(size))) {
    return Malformed("header is not a TensorHeader");
  }
  return header;
}

absl::Status CheckNumbers(const TensorHeader& header) {
  const std::pair<absl::string_view, int64_t> numbers[] = {
      {"run_epoch", header.run_epoch()},
      {"incarnation", header.incarnation()},
      {"rank", header.rank()},
      {"round", header.round()},
      {"first_index", header.first_index()},
      {"count", header.count()},
      {"oldest_unfinished_round", header.oldest_unfinished_round()}};
  for (const auto& [name, value] : numbers) {
    if (value < 0) return Malformed(absl::StrCat(name, " ", value));
  }
  // An OPEN frame says -1 for "no critic yet".
  if (header.version() < (header.kind() == FRAME_OPEN ? -1 : 0)) {
    return Malformed(absl::StrCat("version ", header.version()));
  }
  return absl::OkStatus();
}

// Shape, encoding and layout of images or feedback.
absl::StatusOr<TensorFormat> ReadFormat(const TensorHeader& header) {
  TensorFormat format;
  const auto encoding = FromWire(kEncodings, header.encoding());
  if (!encoding.has_value()) return Malformed("encoding");
  format.encoding = *encoding;
  const auto layout = FromWire(kLayouts, header.layout());
  if (!layout.has_value()) return Malformed("layout");
  format.layout = *layout;
  if (header.shape_size() != 4) return Malformed("shape is not N, C, H, W");
  // No product of numbers that were not checked can overflow: the bytes must
  // be those of the payload, so each factor has to divide what is left.
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

// Everything but the payload.
absl::StatusOr<Frame> ToFrame(const TensorHeader& header) {
  Frame frame;
  const auto kind = FromWire(kKinds, header.kind());
  if (!kind.has_value()) {
    return Malformed(absl::StrCat("unknown kind ", header.kind()));
  }
  frame.kind = *kind;
  GANDEM_RETURN_IF_ERROR(CheckNumbers(header));
  if (frame.kind == FrameKind::kImages || header.use() != USE_UNKNOWN) {
    const auto use = FromWire(kUses, header.use());
    if (!use.has_value()) return Malformed("use of the images");
    frame.use = *use;
  }
  if (HasTensor(frame.kind)) {
    GANDEM_ASSIGN_OR_RETURN(frame.format, ReadFormat(header));
  } else if (frame.kind == FrameKind::kCritic) {
    if (header.encoding() != WIRE_BYTES || header.shape_size() != 1 ||
        header.shape(0) != header.payload_bytes()) {
      return Malformed("critic is not plain bytes");
    }
  } else if (header.payload_bytes() != 0 || header.shape_size() != 0) {
    return Malformed("payload in a frame that has none");
  }
  frame.run_epoch = header.run_epoch();
  frame.incarnation = header.incarnation();
  frame.rank = header.rank();
  frame.round = header.round();
  frame.first_index = header.first_index();
  frame.count = header.count();
  frame.version = header.version();
  frame.loss = header.loss();
  frame.oldest_unfinished_round = header.oldest_unfinished_round();
  return frame;
}

}  // namespace

std::string EncodeFrameHead(const Frame& frame) {
  TensorHeader header;
  header.set_kind(ToWire(kKinds, frame.kind));
  header.set_run_epoch(frame.run_epoch);
  header.set_incarnation(frame.incarnation);
  header.set_rank(frame.rank);
  header.set_use(ToWire(kUses, frame.use));
  header.set_round(frame.round);
  header.set_first_index(frame.first_index);
  header.set_count(frame.count);
  header.set_version(frame.version);
  header.set_loss(frame.loss);
  header.set_oldest_unfinished_round(frame.oldest_unfinished_round);
  if (HasTensor(frame.kind)) {
    header.set_encoding(ToWire(kEncodings, frame.format.encoding));
    header.set_layout(ToWire(kLayouts, frame.format.layout));
    for (const int64_t size : {frame.count, frame.format.channels,
                               frame.format.height, frame.format.width}) {
      header.add_shape(size);
    }
  } else if (frame.kind == FrameKind::kCritic) {
    header.set_encoding(WIRE_BYTES);
    header.add_shape(static_cast<int64_t>(frame.payload.size()));
  }
  if (HasPayload(frame.kind)) {
    header.set_payload_bytes(static_cast<int64_t>(frame.payload.size()));
    header.set_crc32c(Crc32c(frame.payload.span()));
  }
  std::string head(kPrefixBytes, '\0');
  GANDEM_CHECK(header.AppendToString(&head));
  const size_t size = head.size() - kPrefixBytes;
  GANDEM_CHECK(size <= kMaxHeaderBytes);
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    head[i] = static_cast<char>(size >> (8 * i));
  }
  return head;
}

absl::StatusOr<Frame> DecodeFrame(Pieces pieces, int64_t max_bytes) {
  Reader reader(pieces);
  if (std::cmp_greater(reader.left(), max_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame of ", reader.left(), " bytes is larger than the ",
                     max_bytes, " that max_message_bytes allows"));
  }
  GANDEM_ASSIGN_OR_RETURN(const TensorHeader header, ReadHeader(reader));
  if (std::cmp_not_equal(header.payload_bytes(), reader.left())) {
    return Malformed(absl::StrCat("payload_bytes ", header.payload_bytes(),
                                  ", but ", reader.left(), " bytes follow"));
  }
  GANDEM_ASSIGN_OR_RETURN(Frame frame, ToFrame(header));
  if (!HasPayload(frame.kind)) return frame;
  const size_t size = reader.left();
  std::shared_ptr<std::byte> payload = AllocatePayload(size);
  const uint32_t crc = reader.Copy(payload.get(), size);
  if (crc != header.crc32c()) return Malformed("checksum of the payload");
  const std::span<const std::byte> bytes(payload.get(), size);
  frame.payload = SharedBytes(std::move(payload), bytes);
  return frame;
}

Frame ToFrame(const ImageBatch& batch) {
  return {.kind = FrameKind::kImages,
          .use = batch.use,
          .round = batch.round,
          .first_index = batch.first_index,
          .count = batch.count,
          .version = batch.generator_version,
          .format = batch.format,
          .payload = batch.pixels};
}

Frame ToFrame(const FeedbackBatch& batch) {
  return {.kind = FrameKind::kFeedback,
          .round = batch.round,
          .first_index = batch.first_index,
          .count = batch.count,
          .version = batch.critic_version,
          .loss = batch.loss,
          .format = batch.format,
          .payload = batch.gradient};
}

Frame ToFrame(const CriticState& critic) {
  return {.kind = FrameKind::kCritic,
          .version = critic.version,
          .payload = critic.bytes};
}

ImageBatch ToImageBatch(const Frame& frame) {
  return {.use = frame.use,
          .round = frame.round,
          .first_index = frame.first_index,
          .count = frame.count,
          .generator_version = frame.version,
          .format = frame.format,
          .pixels = frame.payload};
}

FeedbackBatch ToFeedbackBatch(const Frame& frame) {
  return {.round = frame.round,
          .first_index = frame.first_index,
          .count = frame.count,
          .critic_version = frame.version,
          .loss = frame.loss,
          .format = frame.format,
          .gradient = frame.payload};
}

CriticState ToCriticState(const Frame& frame) {
  return {.version = frame.version, .bytes = frame.payload};
}

}  // namespace gandem
