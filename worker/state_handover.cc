// SPDX-License-Identifier: Apache-2.0
#include "worker/state_handover.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/status.h"

namespace gandem {
namespace {

// Description of a rank's state, sent to the other ranks.
struct Offer {
  int64_t run_epoch = -1;  // -1: holds none
  int64_t updates = -1;
  int64_t bytes = 0;
};

// Waits until the operation has ended, so that its buffer may be freed.
absl::Status WaitFor(Collective::Ticket ticket, Collective* fleet,
                     const RunRolesOptions& waiting) {
  while (true) {
    const absl::Status done =
        fleet->Wait(ticket, MonotonicNow() + waiting.poll);
    if (!absl::IsDeadlineExceeded(done)) return done;
    if (!waiting.interrupted) continue;
    // Closing ends the next Wait.
    const absl::Status interrupted = waiting.interrupted();
    if (!interrupted.ok()) fleet->Close(interrupted);
  }
}

}  // namespace

absl::StatusOr<std::vector<NamedTensor>> TakeNewestState(
    const std::optional<HeldState>& own, Collective* fleet,
    const RunRolesOptions& waiting) {
  const int size = fleet == nullptr ? 1 : fleet->size();
  const int rank = fleet == nullptr ? 0 : fleet->rank();
  SharedBytes held;
  std::vector<Offer> offers(size);
  if (own.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(held, SerializeSafetensors(own->tensors));
    offers[rank] = {.run_epoch = own->run_epoch,
                    .updates = own->updates,
                    .bytes = static_cast<int64_t>(held.size())};
  }
  if (size > 1) {
    GANDEM_RETURN_IF_ERROR(
        WaitFor(fleet->AllGather(std::as_writable_bytes(std::span(offers))),
                fleet, waiting));
  }
  const auto newest =
      std::ranges::max_element(offers, {}, [](const Offer& offer) {
        return std::pair(offer.run_epoch, offer.updates);
      });
  if (newest->run_epoch < 0) {
    return absl::FailedPreconditionError(
        "no worker of this fleet holds its state");
  }
  const int source = static_cast<int>(newest - offers.begin());
  GANDEM_LOG_INFO("the fleet goes on from the state of its worker {}, {} bytes",
                  source, newest->bytes);
  if (size == 1) return ParseSafetensors(held);
  std::vector<std::byte> bytes(newest->bytes);
  if (source == rank) std::ranges::copy(held.span(), bytes.begin());
  GANDEM_RETURN_IF_ERROR(
      WaitFor(fleet->Broadcast(bytes, source), fleet, waiting));
  return ParseSafetensors(SharedBytes(std::move(bytes)));
}

}  // namespace gandem
