// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker/serve.h"

#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "extras/parquet/data_worker/arrow_status.h"
#include "extras/parquet/data_worker/asked_file.h"
#include "extras/parquet/data_worker/parquet_shard.h"

namespace gandem {
namespace {

// Chosen to limit memory: footers of large files take megabytes.
constexpr size_t kMostOpenShards = 8;

class ShardServer {
 public:
  explicit ShardServer(FrameSocket& socket) : socket_(socket) {}

  absl::Status Answer(const DataFrame& request) {
    const bool opens = request.kind == FrameKind::kOpen;
    absl::StatusOr<std::string> answer = std::string();
    // Parquet throws exceptions, and a damaged file may request any amount of
    // memory.
    try {
      answer = opens ? Describe(request) : ReadImages(request);
    } catch (const std::bad_alloc&) {
      answer =
          absl::ResourceExhaustedError("it needs more memory than allowed");
    } catch (const std::exception& error) {
      answer = Damaged(error.what());
    }
    if (!answer.ok()) {
      shards_.clear();  // a reader is not reused after an error
      return SendFailure(answer.status());
    }
    if (std::ssize(*answer) > kMaxPayloadBytes) {
      return SendFailure(
          absl::ResourceExhaustedError("its index does not fit"));
    }
    return socket_.Send(
        {.kind = opens ? FrameKind::kOpened : FrameKind::kImages}, *answer);
  }

 private:
  struct Opened {
    int64_t number = 0;
    std::unique_ptr<ParquetShard> shard;
  };

  absl::StatusOr<const ParquetShard*> Find(const DataFrame& request) {
    for (auto it = shards_.begin(); it != shards_.end(); ++it) {
      if (it->number != request.shard) continue;
      shards_.splice(shards_.begin(), shards_, it);
      return shards_.front().shard.get();
    }
    auto shard = ParquetShard::Open(
        std::make_shared<AskedFile>(socket_, request.shard, request.first));
    if (!shard.ok()) return shard.status();
    if (shards_.size() == kMostOpenShards) shards_.pop_back();
    shards_.push_front({.number = request.shard, .shard = *std::move(shard)});
    return shards_.front().shard.get();
  }

  absl::StatusOr<std::string> Describe(const DataFrame& request) {
    const auto shard = Find(request);
    if (!shard.ok()) return shard.status();
    const auto opened = (*shard)->Describe();
    if (!opened.ok()) return opened.status();
    return EncodeOpenedShard(*opened);
  }

  absl::StatusOr<std::string> ReadImages(const DataFrame& request) {
    const auto shard = Find(request);
    if (!shard.ok()) return shard.status();
    return (*shard)->ReadImages(request.second);
  }

  absl::Status SendFailure(const absl::Status& status) {
    return socket_.Send(
        {.kind = FrameKind::kFailed,
         .first = static_cast<int64_t>(status.raw_code())},
        absl::string_view(status.message()).substr(0, kMaxFailureBytes));
  }

  FrameSocket& socket_;
  std::list<Opened> shards_;  // most recently used first
};

}  // namespace

absl::Status ServeShards(FrameSocket& socket) {
  ShardServer server(socket);
  while (true) {
    const auto request = socket.Receive();  // fails when gandem ends
    if (absl::IsUnavailable(request.status())) return absl::OkStatus();
    if (!request.ok()) return request.status();
    const FrameKind kind = request->frame.kind;
    if (kind != FrameKind::kOpen && kind != FrameKind::kRead) {
      return absl::DataLossError("a request of another kind");
    }
    const absl::Status answered = server.Answer(request->frame);
    if (!answered.ok()) return answered;
  }
}

}  // namespace gandem
