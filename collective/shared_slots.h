// SPDX-License-Identifier: Apache-2.0
//
// Memory shared by two ranks of one host, for chunks that bypass the socket. It
// has slots of one size. The writer fills a free slot and sends its number over
// the ranks' stream; the reader frees it.
//
// The memory is a memfd, so a killed process leaves no file. The reader opens
// it as /proc/PID/fd/FD, sealed against shrinking. If the reader cannot open it
// (another PID namespace or user), chunks travel in the stream.
//
// Owner: the ends of a stream, for one membership, and the payloads inside.
// Thread safety: Take from one thread at a time; all others from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "collective/chunk.h"
#include "common/shared_bytes.h"

namespace gandem {

// Name with which a reader finds and verifies the memory.
struct SharedSlotsName {
  int64_t process = 0;
  int descriptor = -1;
  uint64_t token = 0;
  int64_t slot_bytes = 0;
  int num_slots = 0;

  bool operator==(const SharedSlotsName&) const = default;
};

class SharedMapping;

class SharedSlotsWriter {
 public:
  //   other  the system cannot provide the memory
  static absl::StatusOr<std::unique_ptr<SharedSlotsWriter>> Create(
      int64_t slot_bytes, int num_slots);

  SharedSlotsName name() const;

  // Takes a free slot and returns its first bytes, or nothing if no slot is
  // free or large enough. Prefers the first slots, which stay in the caches.
  std::optional<PayloadRoom> Take(size_t bytes);

  // Returns the slot that begins with these bytes, or nothing.
  std::optional<int> SlotOf(const SharedBytes& bytes) const;

 private:
  explicit SharedSlotsWriter(std::shared_ptr<SharedMapping> mapping)
      : mapping_(std::move(mapping)) {}
  const std::shared_ptr<SharedMapping> mapping_;
};

class SharedSlotsReader {
 public:
  //   INVALID_ARGUMENT   an invalid name, or one of another file
  //   NOT_FOUND, PERMISSION_DENIED etc.  this process cannot open the memory
  static absl::StatusOr<std::unique_ptr<SharedSlotsReader>> Open(
      const SharedSlotsName& name);

  SharedSlotsName name() const;

  // Returns a filled slot's first bytes; their last copy frees the slot.
  //   INVALID_ARGUMENT  no such slot, or not filled since the last Read
  absl::StatusOr<SharedBytes> Read(int slot, int64_t bytes);

 private:
  explicit SharedSlotsReader(std::shared_ptr<SharedMapping> mapping)
      : mapping_(std::move(mapping)) {}
  const std::shared_ptr<SharedMapping> mapping_;
};

}  // namespace gandem
