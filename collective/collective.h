// SPDX-License-Identifier: Apache-2.0
//
// Operations of all ranks of a fleet: sums of gradients, broadcasts of one
// rank's parameters, and gathers of one value per rank. They work in place on
// the caller's bytes (on the device for NCCL), start at once and run in the
// order of submission. A bucket of gradients can therefore be summed while the
// backward pass computes the next one:
//
//   const auto ticket = collective->AllReduce(bucket, ElementType::kFloat32);
//   ... more of the backward pass, more buckets ...
//   status = collective->Wait(ticket, deadline);
//
// All ranks must submit equal operations in equal order with equal sizes. A sum
// has the same bits on all ranks at any timing: its order depends on the ranks,
// their hosts and the number of bytes (docs/collective.md).
//
// Owner: the worker, one per membership of its fleet. The collective may use an
// operation's buffer until Wait returns (except with DEADLINE_EXCEEDED) or the
// collective is destroyed.
// Thread safety: any thread; operations of two threads have no order.
// Errors of Wait:
//   DEADLINE_EXCEEDED    not done yet; names the awaited ranks. The operation
//                        continues: wait again, or call Close.
//   FAILED_PRECONDITION  the ranks have submitted different operations
//   DATA_LOSS            a message from a peer was damaged
//   UNAVAILABLE          a rank is lost, or has left
//   ABORTED              this process was superseded: register again
//   Close()'s reason     of this rank, or of the rank named in the message
// All except DEADLINE_EXCEEDED are sticky and end the membership of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace gandem {

// Sums of the 16-bit types are rounded from float32 at each hop.
enum class ElementType { kFloat32, kFloat64, kBfloat16, kFloat16 };

constexpr size_t BytesPerElement(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 4;
    case ElementType::kFloat64:
      return 8;
    case ElementType::kBfloat16:
    case ElementType::kFloat16:
      return 2;
  }
  return 0;
}

enum class OperationKind { kAllReduce, kBroadcast, kAllGather, kBarrier };

// Returns for example "all-reduce".
const char* NameOf(OperationKind kind);

struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  ElementType type = ElementType::kFloat32;  // all-reduce
  int root = 0;                              // broadcast
  std::span<std::byte> buffer = {};
};

// Totals since the creation of the collective, for metrics.
struct CollectiveStats {
  // Payload bytes sent to other ranks in finished operations, without headers.
  int64_t sent_bytes = 0;
  // Time with an operation that was submitted and not done.
  absl::Duration busy = {};
  // Time that Wait blocked callers; part of `busy` if one thread waits.
  absl::Duration waited = {};
};

class Collective {
 public:
  // Number of an operation, from 1.
  using Ticket = int64_t;

  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces `values` (whole elements) with their sum over all ranks.
  Ticket AllReduce(std::span<std::byte> values, ElementType type);
  // Replaces the bytes of all ranks with those of `root`.
  Ticket Broadcast(std::span<std::byte> bytes, int root);
  // Sends block r of rank r to all ranks. `blocks` has size() equal blocks.
  Ticket AllGather(std::span<std::byte> blocks);
  // Finishes once all ranks have submitted it.
  Ticket Barrier();

  // Waits until this operation and all earlier operations are done.
  virtual absl::Status Wait(Ticket ticket, absl::Time deadline) = 0;

  // Fails all operations with `reason`, which must not be OK, and informs the
  // other ranks. Only the first reason counts. Finished operations stay done.
  virtual void Close(absl::Status reason) = 0;

  // Zeros if nothing is measured (NCCL).
  virtual CollectiveStats stats() const { return {}; }

  // Returns the rank that blocks Wait at the moment; -1: none or unknown.
  virtual int waits_for() const { return -1; }

 private:
  // Never fails; Wait reports errors.
  virtual Ticket Submit(const Operation& operation) = 0;
};

}  // namespace gandem
