// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the messages to a discriminator's exchange. An input is a list of
// messages: a byte for the kind, a byte for the size, and the bytes. Kind 0 is
// a Hello as protobuf bytes; other kinds are the header of a frame, followed by
// as many zeros as the header claims. Messages take the path of
// exchange/rpc/server_streams.cc without sockets.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "common/wire_header.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/peer_table.h"
#include "exchange/wire_codec.h"
#include "proto/exchange.pb.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/small_run.h"

namespace gandem {
namespace {

constexpr int64_t kMaxBytes = 1 << 16;
constexpr uint64_t kConfigHash = 7;

// Checks that the code is documented in peer_table.h or discriminator_end.h.
void CheckCode(const absl::Status& status) {
  GANDEM_CHECK(status.ok() || absl::IsInvalidArgument(status) ||
               absl::IsFailedPrecondition(status) ||
               absl::IsUnavailable(status));
}

class Server {
 public:
  void Hello(absl::string_view bytes) {
    HelloRequest request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;
    }
    const FrameSender peer = {.run_epoch = request.run_epoch(),
                              .incarnation = request.incarnation(),
                              .rank = request.rank()};
    const absl::Status greeted = peers_.Greet(peer, request.config_hash());
    CheckCode(greeted);
    GANDEM_CHECK(!greeted.ok() || request.config_hash() == kConfigHash);
    if (greeted.ok()) GANDEM_CHECK_OK(peers_.Check(peer));
    has_greeted_ |= greeted.ok();
  }

  void Receive(absl::string_view header_bytes) {
    TensorHeader header;
    if (!header.ParseFromArray(header_bytes.data(),
                               static_cast<int>(header_bytes.size())) ||
        header.payload_bytes() < 0 || header.payload_bytes() > kMaxBytes) {
      return;
    }
    const std::vector<std::byte> zeros(
        static_cast<size_t>(header.payload_bytes()));
    header.set_crc32c(Crc32c(zeros));
    const std::string bytes = header.SerializeAsString();
    const std::string head = WirePrefix(bytes) + bytes;
    const SharedBytes pieces[] = {
        SharedBytes::Copy(std::as_bytes(std::span(head))), SharedBytes(zeros)};
    const auto frame = DecodeFrame(pieces, 2 * kMaxBytes);
    if (!frame.ok()) return;
    const absl::Status known = peers_.Check(frame->sender);
    CheckCode(known);
    GANDEM_CHECK(!known.ok() || has_greeted_);
    if (known.ok()) CheckCode(Handle(frame->sender.rank, frame->body));
  }

 private:
  absl::Status Handle(int rank, const FrameBody& body) {
    if (const auto* const open = std::get_if<OpenFrame>(&body)) {
      return end_->OpenCritics(rank, open->version);
    }
    if (const auto* const images = std::get_if<ImageBatch>(&body)) {
      return end_->OfferImages(rank, *images).status();
    }
    if (std::holds_alternative<FinishedFrame>(body)) {
      return end_->FinishGenerator(rank, /*is_confirmed=*/false);
    }
    if (const auto* const ack = std::get_if<AckFrame>(&body)) {
      end_->AcknowledgeAnswer(rank, ack->round, ack->first_index);
      end_->AcknowledgeCritic(rank, ack->version);
      GANDEM_CHECK(!end_->NextAnswer(rank, -1).has_value());
      GANDEM_CHECK(!end_->NextCritic(rank, -1).has_value());
    }
    return absl::OkStatus();
  }

  PeerTable peers_{SmallRun(kConfigHash)};
  const std::unique_ptr<DiscriminatorEnd> end_ =
      std::make_unique<DiscriminatorEnd>(SmallRun(kConfigHash));
  bool has_greeted_ = false;
};

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  Server server;
  ForEachCall(TextOf(data, size), [&](int which, absl::string_view bytes) {
    if (which == 0) {
      server.Hello(bytes);
    } else {
      server.Receive(bytes);
    }
  });
  return 0;
}
