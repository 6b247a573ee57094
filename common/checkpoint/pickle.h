// SPDX-License-Identifier: Apache-2.0
//
// Reads Python pickles (PEP 307, PEP 3154, PEP 574) as written by torch.save()
// and CIFAR. Never calls any class or function. Time and memory are bounded by
// a fixed multiple of the pickle's size, because values refer to each other and
// to the bytes instead of being copied.
//
// Owner: the reader of a file's format. Thread safety: one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// A value. Values refer to each other by number, so cycles are harmless.
struct PickleValue {
  enum class Kind {
    kNone,        // also other numbers
    kInteger,     // also booleans
    kText,        // also bytes
    kName,        // of a class or function: "module.name"
    kList,        // also tuples
    kDict,        // items: key, value, key, value ...
    kObject,      // items: callee, arguments, state if any
    kPersistent,  // items: the id of an external object
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  absl::string_view text = {};
  std::vector<size_t> items = {};
};

class PickleReader {
 public:
  // `bytes` must outlive the reader. Messages about other pickles end with
  // `expected`, for example "only batches of CIFAR are read".
  PickleReader(std::span<const std::byte> bytes, absl::string_view expected)
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        expected_(expected) {}

  // Returns the number of the next pickle's value. Resets the memo.
  //   INVALID_ARGUMENT  an unsupported operation, or more than 2^21 values
  //   DATA_LOSS         truncated, or not a pickle
  absl::StatusOr<size_t> Read();

  const PickleValue& value(size_t number) const { return values_[number]; }
  // Returns the bytes after the pickles read so far.
  std::span<const std::byte> rest() const {
    return std::as_bytes(std::span(rest_.data(), rest_.size()));
  }
  // Returns INVALID_ARGUMENT: the pickle contains an unexpected `what`.
  absl::Status Unexpected(absl::string_view what) const;

 private:
  using Kind = PickleValue::Kind;

  absl::Status Step(uint8_t operation);
  absl::Status StepConstant(uint8_t operation);
  absl::Status StepContainer(uint8_t operation);
  absl::StatusOr<absl::string_view> Take(uint64_t size);
  absl::StatusOr<absl::string_view> TakeLine();
  absl::StatusOr<uint64_t> TakeInteger(size_t size);

  void Push(PickleValue value);
  absl::Status PushInteger(size_t size);
  absl::Status PushBigInteger();
  absl::Status PushText(size_t size_of_size);
  absl::Status PushName(absl::string_view module, absl::string_view name);
  absl::Status Remember(absl::StatusOr<uint64_t> key);
  absl::Status Recall(absl::StatusOr<uint64_t> key);
  // Removes and returns the last `count` values of the stack.
  absl::StatusOr<std::vector<size_t>> Pop(size_t count);
  absl::StatusOr<std::vector<size_t>> PopToMark();
  absl::Status Gather(absl::StatusOr<std::vector<size_t>> items, Kind kind);
  // Adds the items to the list or dict below them on the stack.
  absl::Status Extend(absl::StatusOr<std::vector<size_t>> items);
  absl::Status Call();
  absl::Status Build();

  absl::string_view rest_;
  const std::string expected_;
  std::deque<PickleValue> values_;
  std::deque<std::string> names_;  // referenced by values
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<uint64_t, size_t> memo_;
};

}  // namespace gandem
