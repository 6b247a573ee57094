// SPDX-License-Identifier: Apache-2.0
//
// Operations that the ranks of one fleet compute together: sums of gradients,
// broadcasts of one rank's parameters, and gathers of one value per rank.
// Operations work in place on bytes of the caller (on the device for NCCL),
// start at once and run in the order of their submission, so that a bucket of
// gradients can be summed while the backward pass computes the next one:
//
//   const auto ticket = collective->AllReduce(bucket, ElementType::kFloat32);
//   ... more of the backward pass, more buckets ...
//   status = collective->Wait(ticket, deadline);
//
// All ranks submit the same operations in the same order, with the same sizes.
// After a sum all ranks hold the same bits, whatever the timing: the order of
// the terms is a function of the ranks, their hosts and the number of bytes
// (docs/collective.md).
//
// Owner: the worker, one per membership of its fleet. An operation's buffer
// belongs to the collective until Wait returned for it, DEADLINE_EXCEEDED
// excepted, or the collective is gone.
// Thread safety: any thread; operations of two threads have no order.
// Errors of Wait:
//   DEADLINE_EXCEEDED    not done yet; names the ranks that it waits for. The
//                        operation continues: wait again, or call Close.
//   FAILED_PRECONDITION  the ranks have submitted different operations.
//   DATA_LOSS            a message of a peer was damaged on its way.
//   UNAVAILABLE          a rank is lost, or has left.
//   ABORTED              this process was superseded: register again.
//   Close()'s reason     of this rank, or of the rank that the message names.
// All but the first are sticky, and reach all ranks: this membership is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace gandem {

// Sums of the two short types are rounded from float32 at each hop.
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

// "all-reduce"
const char* NameOf(OperationKind kind);

struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  ElementType type = ElementType::kFloat32;  // all-reduce
  int root = 0;                              // broadcast
  std::span<std::byte> buffer = {};
};

// Totals since the collective exists, for metrics.
struct CollectiveStats {
  // Payload bytes that this rank has sent to other ranks in finished
  // operations, without headers.
  int64_t sent_bytes = 0;
  // Time in which an operation was under way: submitted, and not done.
  absl::Duration busy = {};
  // Time that callers were held up by Wait; a part of `busy` as long as one
  // thread waits at a time.
  absl::Duration waited = {};
};

class Collective {
 public:
  // The operation's number: 1 for the first one.
  using Ticket = int64_t;

  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Whole elements; their sum over all ranks replaces them.
  Ticket AllReduce(std::span<std::byte> values, ElementType type);
  // The bytes of `root` replace those of the others.
  Ticket Broadcast(std::span<std::byte> bytes, int root);
  // size() equal blocks. Block r, which rank r has filled, reaches all.
  Ticket AllGather(std::span<std::byte> blocks);
  // Is done when all ranks have submitted it.
  Ticket Barrier();

  // Waits until this operation, and so all operations before it, are done.
  virtual absl::Status Wait(Ticket ticket, absl::Time deadline) = 0;

  // Gives up with `reason`, which must not be OK, and tells the other ranks.
  // Only the first reason counts. What was done stays done.
  virtual void Close(absl::Status reason) = 0;

  // Zeros where nothing is measured: NCCL.
  virtual CollectiveStats stats() const { return {}; }

  // The rank that holds a caller of Wait up just now; -1: none does, or it is
  // not known.
  virtual int waits_for() const { return -1; }

 private:
  // Never fails: what is wrong comes out of Wait.
  virtual Ticket Submit(const Operation& operation) = 0;
};

}  // namespace gandem
