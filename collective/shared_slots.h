// SPDX-License-Identifier: Apache-2.0
//
// Memory that one rank fills and another one of its host reads: chunks in it
// cross no socket. It is a row of slots of one size. The writer takes a free
// slot, fills it and names it over the ranks' stream; the reader frees it.
//
// No file is left behind when a process is killed: the memory is a memfd, which
// the reader opens as /proc/PID/fd/FD, sealed so that it cannot shrink under a
// reader. Where the reader cannot open it (another PID namespace, another
// user), chunks travel in the stream.
//
// Owner: the ends of a stream, for one membership; and payloads that are in it.
// Thread safety: Take from one thread at a time; the rest from any thread.
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

// Name by which a reader finds the memory, and checks that it is the right one.
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
  //   the system's error  this host has no such memory.
  static absl::StatusOr<std::unique_ptr<SharedSlotsWriter>> Create(
      int64_t slot_bytes, int num_slots);

  SharedSlotsName name() const;

  // The first bytes of a free slot, which is no longer free. The first slots
  // are used most, so they stay in the caches. Nothing: no slot is free, or
  // none is that large.
  std::optional<PayloadRoom> Take(size_t bytes);

  // Returns the slot that begins with these bytes; nullopt if there is none.
  std::optional<int> SlotOf(const SharedBytes& bytes) const;

 private:
  explicit SharedSlotsWriter(std::shared_ptr<SharedMapping> mapping)
      : mapping_(std::move(mapping)) {}
  const std::shared_ptr<SharedMapping> mapping_;
};

class SharedSlotsReader {
 public:
  //   INVALID_ARGUMENT     the name is none, or it is that of something else.
  //   PERMISSION_DENIED, NOT_FOUND ...  this process cannot see it.
  static absl::StatusOr<std::unique_ptr<SharedSlotsReader>> Open(
      const SharedSlotsName& name);

  SharedSlotsName name() const;

  // The first bytes of a slot that was filled; it is free again when the last
  // copy of the result is gone.
  //   INVALID_ARGUMENT  there is no such slot, or it was not filled again since
  //                     it was read.
  absl::StatusOr<SharedBytes> Read(int slot, int64_t bytes);

 private:
  explicit SharedSlotsReader(std::shared_ptr<SharedMapping> mapping)
      : mapping_(std::move(mapping)) {}
  const std::shared_ptr<SharedMapping> mapping_;
};

}  // namespace gandem
