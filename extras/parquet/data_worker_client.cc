// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_client.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/printable.h"
#include "common/status.h"

namespace gandem {
namespace {

absl::Status Unexpected(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("data_worker answered nonsense: ", what));
}

// Restricts a code from data_worker to those for a fault of the file.
absl::StatusCode CodeOf(int64_t code) {
  for (const auto known : {absl::StatusCode::kInvalidArgument,
                           absl::StatusCode::kResourceExhausted}) {
    if (code == static_cast<int64_t>(known)) return known;
  }
  return absl::StatusCode::kDataLoss;
}

}  // namespace

absl::StatusOr<RowGroupImages> RowGroupImages::Create(std::string bytes,
                                                      int64_t rows) {
  auto held = std::make_unique<const std::string>(std::move(bytes));
  GANDEM_ASSIGN_OR_RETURN(std::vector<absl::string_view> images,
                          DecodeImages(*held, rows));
  return RowGroupImages(std::move(held), std::move(images));
}

absl::StatusOr<OpenedShard> DataWorkerClient::Open(const ShardFile& shard) {
  GANDEM_ASSIGN_OR_RETURN(const std::string bytes,
                          Call({.kind = FrameKind::kOpen,
                                .shard = shard.number,
                                .first = shard.file->size()},
                               FrameKind::kOpened, shard));
  absl::StatusOr<OpenedShard> opened = DecodeOpenedShard(bytes);
  broken_ = !opened.ok();
  return opened;
}

absl::StatusOr<RowGroupImages> DataWorkerClient::Read(const ShardFile& shard,
                                                      int64_t row_group,
                                                      int64_t rows) {
  GANDEM_ASSIGN_OR_RETURN(std::string bytes, Call({.kind = FrameKind::kRead,
                                                   .shard = shard.number,
                                                   .first = shard.file->size(),
                                                   .second = row_group},
                                                  FrameKind::kImages, shard));
  auto images = RowGroupImages::Create(std::move(bytes), rows);
  broken_ = !images.ok();
  return images;
}

absl::StatusOr<std::string> DataWorkerClient::Call(const DataFrame& request,
                                                   FrameKind answer,
                                                   const ShardFile& shard) {
  broken_ = true;  // until an answer is complete
  file_fault_ = absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(socket_.Send(request));
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(FrameSocket::Received received, socket_.Receive());
    const DataFrame& frame = received.frame;
    if (frame.kind == FrameKind::kReadAt) {
      GANDEM_RETURN_IF_ERROR(GiveBytes(frame, shard));
      continue;
    }
    if (frame.kind != answer && frame.kind != FrameKind::kFailed) {
      return Unexpected(absl::StrCat("an answer of kind ",
                                     static_cast<uint32_t>(frame.kind)));
    }
    broken_ = false;
    if (frame.kind == answer) return std::move(received.payload);
    // If the file could not be read, that error is the cause.
    if (!file_fault_.ok()) return file_fault_;
    return absl::Status(CodeOf(frame.first),
                        Printable(received.payload, kMaxFailureBytes));
  }
}

absl::Status DataWorkerClient::GiveBytes(const DataFrame& wish,
                                         const ShardFile& shard) {
  const int64_t size = shard.file->size();
  if (wish.shard != shard.number || wish.first > size || wish.second == 0 ||
      wish.second > std::min(size - wish.first, kMaxPayloadBytes)) {
    return Unexpected(absl::StrCat("it asks for ", wish.second, " bytes at ",
                                   wish.first, " of shard ", wish.shard));
  }
  const absl::StatusOr<std::string> bytes =
      shard.file->Read(wish.first, wish.second);
  if (bytes.ok()) return socket_.Send({.kind = FrameKind::kBytes}, *bytes);
  file_fault_.Update(bytes.status());
  return socket_.Send({.kind = FrameKind::kNoBytes});
}

}  // namespace gandem
