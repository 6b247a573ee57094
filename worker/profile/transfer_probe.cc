// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/transfer_probe.h"

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/ring_collective.h"
#include "common/faults.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "worker/profile/repetitions.h"

namespace gandem {
namespace {

// Uncounted transfers, for connections, pages and caches.
constexpr int64_t kTransferWarmUps = 3;
constexpr int64_t kMostTransferBytes = int64_t{256} << 20;
constexpr int64_t kTransferUnit = 64 * 64;  // bytes of an image
constexpr int kMostTransfers = 10'000;
// Size of an answer that only confirms the images.
constexpr size_t kEmptyAnswerBytes = 8;

double ComputeSeconds() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Times `transfer(i)`, which transfers `bytes`.
template <typename Call>
absl::StatusOr<TransferReply::Sample> Repeat(const TransferRequest& request,
                                             int64_t bytes, Call transfer) {
  std::vector<double> seconds;
  double compute = 0;
  const int64_t all = kTransferWarmUps + request.repetitions();
  for (int64_t i = 0; i < all; ++i) {
    if (i == kTransferWarmUps) compute = ComputeSeconds();
    const absl::Time begin = MonotonicNow();
    GANDEM_RETURN_IF_ERROR(transfer(i));
    if (i < kTransferWarmUps) continue;
    seconds.push_back(absl::ToDoubleSeconds(MonotonicNow() - begin));
  }
  TransferReply::Sample sample;
  sample.set_bytes(bytes);
  sample.set_seconds(MedianIntervalOf(std::move(seconds)).median);
  sample.set_compute_seconds((ComputeSeconds() - compute) /
                             request.repetitions());
  return sample;
}

// Returns the options of a run at lag 0 whose rounds are one batch of `bytes`
// bytes and begin with a critic, an empty answer.
ExchangeOptions TransferRun(int64_t bytes) {
  const TensorFormat format = {
      .encoding = Encoding::kUint8, .channels = 1, .height = 64, .width = 64};
  const int64_t images = bytes / format.BytesPerImage();
  return {.schedule = {.lag = 0,
                       .generator_batch = images,
                       .discriminator_batch = images},
          .image_format = format,
          .feedback_format = format};
}

absl::StatusOr<TransferReply::Sample> SendImages(const TransferRequest& request,
                                                 const std::string& address,
                                                 int64_t bytes,
                                                 absl::Time deadline) {
  const ExchangeOptions options = TransferRun(bytes);
  GANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<GeneratorExchange> exchange,
      CreateExchangeClient({.address = address, .exchange = options}));
  const SharedBytes pixels(std::vector<std::byte>(bytes, std::byte{1}));
  GANDEM_ASSIGN_OR_RETURN(
      TransferReply::Sample sample,
      Repeat(request, bytes, [&](int64_t round) -> absl::Status {
        GANDEM_RETURN_IF_ERROR(
            exchange->PutImages({.round = round,
                                 .count = options.schedule.generator_batch,
                                 .generator_version = round,
                                 .format = options.image_format,
                                 .pixels = pixels},
                                deadline));
        return exchange
            ->TakeCritic(options.schedule.CriticVersion(round), deadline)
            .status();
      }));
  GANDEM_RETURN_IF_ERROR(exchange->Finish(deadline));
  return sample;
}

absl::StatusOr<TransferReply::Sample> ReceiveImages(
    const TransferRequest& request, const std::string& address, int64_t bytes,
    absl::Time deadline) {
  const ExchangeOptions options = TransferRun(bytes);
  const auto end = std::make_unique<DiscriminatorEnd>(options);
  GANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<ExchangeServer> server,
      ExchangeServer::Start({.address = address, .exchange = options},
                            end.get()));
  GANDEM_ASSIGN_OR_RETURN(
      TransferReply::Sample sample,
      Repeat(request, bytes, [&](int64_t round) -> absl::Status {
        GANDEM_RETURN_IF_ERROR(end->TakeImages(
            round, 0, options.schedule.discriminator_batch, deadline));
        end->FinishRound(round);
        return end->PublishCritic(
            {.version = options.schedule.CriticVersion(round),
             .bytes = SharedBytes(std::vector<std::byte>(kEmptyAnswerBytes))},
            deadline);
      }));
  GANDEM_RETURN_IF_ERROR(end->WaitForGenerators(deadline));
  return sample;
}

absl::Status MeasureExchange(const TransferRequest& request,
                             absl::Time deadline, TransferReply& reply) {
  int64_t number = 0;
  for (const int64_t bytes : request.bytes()) {
    // Each size needs its own exchange.
    const std::string address =
        absl::StrCat(request.addresses(0), "-", number++);
    GANDEM_ASSIGN_OR_RETURN(
        *reply.add_samples(),
        request.rank() == 0 ? ReceiveImages(request, address, bytes, deadline)
                            : SendImages(request, address, bytes, deadline));
  }
  return absl::OkStatus();
}

absl::Status MeasureCollective(const TransferRequest& request,
                               absl::Time deadline, TransferReply& reply) {
  RingOptions options = {
      .rank = request.rank(),
      .shares_memory = request.kind() == TransferProfile::COLLECTIVE_MEMORY};
  for (const std::string& address : request.addresses()) {
    options.peers.push_back({.local_address = address});
  }
  GANDEM_ASSIGN_OR_RETURN(
      auto listener, RingListener::Start(
                         {.local_address = request.addresses(request.rank())}));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<Collective> ring,
                          CreateRing(std::move(listener), options));
  for (const int64_t bytes : request.bytes()) {
    std::vector<float> values(bytes / sizeof(float), 1e-3F);
    const auto buffer = std::as_writable_bytes(std::span(values));
    GANDEM_RETURN_IF_ERROR(ring->Wait(ring->Barrier(), deadline));
    GANDEM_ASSIGN_OR_RETURN(
        *reply.add_samples(), Repeat(request, bytes, [&](int64_t) {
          return ring->Wait(ring->AllReduce(buffer, ElementType::kFloat32),
                            deadline);
        }));
  }
  // The barrier keeps each rank until its peer has read everything.
  return ring->Wait(ring->Barrier(), deadline);
}

}  // namespace

absl::Status CheckTransfer(const TransferRequest& request) {
  Faults faults("transfer");
  faults.CheckRange("rank", request.rank(), 0, 1);
  faults.CheckRange("addresses", request.addresses_size(), 2, 2);
  faults.CheckRange("repetitions", request.repetitions(), 1, kMostTransfers);
  for (const int64_t bytes : request.bytes()) {
    faults.CheckRange("bytes", bytes, kTransferUnit, kMostTransferBytes);
    if (bytes % kTransferUnit != 0) {
      faults.Add(
          absl::StrCat("bytes ", bytes, " is no multiple of ", kTransferUnit));
    }
  }
  return faults.empty() ? absl::OkStatus() : faults.ToStatus();
}

absl::StatusOr<TransferReply> MeasureTransfer(const TransferRequest& request,
                                              absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(CheckTransfer(request));
  TransferReply reply;
  switch (request.kind()) {
    case TransferProfile::EXCHANGE_SOCKET:
      GANDEM_RETURN_IF_ERROR(MeasureExchange(request, deadline, reply));
      return reply;
    case TransferProfile::COLLECTIVE_MEMORY:
    case TransferProfile::COLLECTIVE_TCP:
      GANDEM_RETURN_IF_ERROR(MeasureCollective(request, deadline, reply));
      return reply;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "transfer: kind ", TransferProfile::Kind_Name(request.kind()),
          " is not measured between two processes of a host"));
  }
}

}  // namespace gandem
