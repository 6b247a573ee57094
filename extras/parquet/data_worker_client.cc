// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_client.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/printable.h"
#include "common/status.h"

namespace gandem {
namespace {

// A reader asks for each byte of a file once, and for footers a few times.
constexpr int64_t kReadsOfAFile = 4;
constexpr int64_t kFurtherBytes = int64_t{64} << 20;

absl::Status Unexpected(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("data_worker answered nonsense: ", what));
}

// A code that stands for a fault of the file, whatever was said.
absl::StatusCode CodeOf(int64_t code) {
  for (const auto known : {absl::StatusCode::kInvalidArgument,
                           absl::StatusCode::kResourceExhausted}) {
    if (code == static_cast<int64_t>(known)) return known;
  }
  return absl::StatusCode::kDataLoss;
}

}  // namespace

absl::StatusOr<OpenedShard> DataWorkerClient::Open(const ShardFile& shard) {
  GANDEM_ASSIGN_OR_RETURN(const SealedBytes bytes,
                          Call({.kind = FrameKind::kOpen,
                                .shard = shard.number,
                                .first = shard.file->size()},
                               FrameKind::kOpened, shard));
  absl::StatusOr<OpenedShard> opened = DecodeOpenedShard(bytes.bytes());
  broken_ = !opened.ok();
  return opened;
}

absl::StatusOr<RowGroupImages> DataWorkerClient::Read(const ShardFile& shard,
                                                      int64_t row_group,
                                                      int64_t rows) {
  GANDEM_ASSIGN_OR_RETURN(SealedBytes bytes, Call({.kind = FrameKind::kRead,
                                                   .shard = shard.number,
                                                   .first = shard.file->size(),
                                                   .second = row_group},
                                                  FrameKind::kImages, shard));
  auto images = DecodeImages(bytes.bytes(), rows);
  broken_ = !images.ok();
  if (!images.ok()) return images.status();
  return RowGroupImages(std::move(bytes), *std::move(images));
}

absl::StatusOr<SealedBytes> DataWorkerClient::Call(const DataFrame& request,
                                                   FrameKind answer,
                                                   const ShardFile& shard) {
  broken_ = true;  // unless it gets to an end
  file_fault_ = absl::OkStatus();
  bytes_to_give_ = kReadsOfAFile * shard.file->size() + kFurtherBytes;
  return Exchange(request, answer, shard);
}

absl::StatusOr<SealedBytes> DataWorkerClient::Exchange(const DataFrame& request,
                                                       FrameKind answer,
                                                       const ShardFile& shard) {
  Patience patience = {.left = patience_};
  GANDEM_RETURN_IF_ERROR(socket_.Send(request, "", -1, patience));
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(const FrameSocket::Received received,
                            socket_.Receive(patience));
    const DataFrame& frame = received.frame;
    if (frame.kind == FrameKind::kReadAt) {
      GANDEM_RETURN_IF_ERROR(GiveBytes(frame, shard, patience));
    } else if (frame.kind == FrameKind::kFailed) {
      return TakeFailure(frame, patience);
    } else if (frame.kind == answer) {
      GANDEM_ASSIGN_OR_RETURN(
          SealedBytes bytes,
          SealedBytes::Map(received.file, frame.payload_bytes));
      broken_ = false;
      return bytes;
    } else {
      return Unexpected(absl::StrCat("an answer of kind ",
                                     static_cast<uint32_t>(frame.kind)));
    }
  }
}

absl::Status DataWorkerClient::GiveBytes(const DataFrame& wish,
                                         const ShardFile& shard,
                                         Patience& patience) {
  const int64_t size = shard.file->size();
  if (wish.shard != shard.number || wish.first > size || wish.second == 0 ||
      wish.second > std::min(size - wish.first, kMaxPayloadBytes)) {
    return Unexpected(absl::StrCat("it asks for ", wish.second, " bytes at ",
                                   wish.first, " of shard ", wish.shard));
  }
  bytes_to_give_ -= wish.second;
  if (bytes_to_give_ < 0) {
    return Unexpected("it asks for the same bytes again and again");
  }
  const absl::StatusOr<std::string> bytes =
      shard.file->Read(wish.first, wish.second);
  if (!bytes.ok()) {
    file_fault_.Update(bytes.status());
    return socket_.Send({.kind = FrameKind::kNoBytes}, "", -1, patience);
  }
  return socket_.Send(
      {.kind = FrameKind::kBytes, .payload_bytes = std::ssize(*bytes)}, *bytes,
      -1, patience);
}

// Where the file could not be read, that is what went wrong.
absl::Status DataWorkerClient::TakeFailure(const DataFrame& frame,
                                           Patience& patience) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::string text,
      socket_.ReceivePayload(frame.payload_bytes, patience));
  broken_ = false;
  if (!file_fault_.ok()) return file_fault_;
  return absl::Status(CodeOf(frame.first), Printable(text, kMaxFailureBytes));
}

}  // namespace gandem
