// SPDX-License-Identifier: Apache-2.0
//
// Python's pickles (PEP 307, PEP 3154, PEP 574) as values: what torch.save()
// and CIFAR's files use of them. Names of classes and functions are only names,
// and nothing is ever called. Time and memory are at most a fixed multiple of
// the pickle's bytes: values refer to each other and to the bytes instead of
// being copied.
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

// Values refer to each other by their number, so neither depth nor cycles of a
// hostile file matter.
struct PickleValue {
  enum class Kind {
    kNone,     // numbers of other kinds, too
    kInteger,  // booleans, too
    kText,     // bytes, too
    kName,     // of a class or function: "module.name"
    kList,     // tuples, too
    kDict,     // items: key, value, key, value ...
    kObject,   // items: what was called, its arguments, its state if it has one
    kPersistent,  // items: the id of something that lies elsewhere
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  absl::string_view text = {};
  std::vector<size_t> items = {};
};

class PickleReader {
 public:
  // `bytes` must outlive the reader. `expected` ends the messages about pickles
  // of something else: "only batches of CIFAR are read".
  PickleReader(std::span<const std::byte> bytes, absl::string_view expected)
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        expected_(expected) {}

  // The number of the next pickle's value; its memo begins empty.
  //   INVALID_ARGUMENT  an operation that the expected pickles do not have, or
  //                     more than 2^21 values.
  //   DATA_LOSS         truncated, or no pickle.
  absl::StatusOr<size_t> Read();

  const PickleValue& value(size_t number) const { return values_[number]; }
  // The bytes behind the pickles that have been read.
  std::span<const std::byte> rest() const {
    return std::as_bytes(std::span(rest_.data(), rest_.size()));
  }
  // INVALID_ARGUMENT: it holds `what`, which was not expected.
  absl::Status Unexpected(absl::string_view what) const;

 private:
  using Kind = PickleValue::Kind;

  absl::Status Step(uint8_t operation);
  absl::Status StepConstant(uint8_t operation);
  absl::Status StepContainer(uint8_t operation);
  absl::StatusOr<absl::string_view> Take(uint64_t size);
  absl::StatusOr<absl::string_view> TakeLine();
  // Little-endian.
  absl::StatusOr<uint64_t> TakeInteger(size_t size);

  void Push(PickleValue value);
  absl::Status PushInteger(size_t size);
  absl::Status PushBigInteger();
  absl::Status PushText(size_t size_of_size);
  absl::Status PushName(absl::string_view module, absl::string_view name);
  absl::Status Remember(absl::StatusOr<uint64_t> key);
  absl::Status Recall(absl::StatusOr<uint64_t> key);
  // The last `count` values, taken from the stack.
  absl::StatusOr<std::vector<size_t>> Pop(size_t count);
  absl::StatusOr<std::vector<size_t>> PopToMark();
  absl::Status Gather(absl::StatusOr<std::vector<size_t>> items, Kind kind);
  // Adds the items to the list or dict below them.
  absl::Status Extend(absl::StatusOr<std::vector<size_t>> items);
  absl::Status Call();
  absl::Status Build();

  absl::string_view rest_;
  const std::string expected_;
  std::deque<PickleValue> values_;
  std::deque<std::string> names_;  // that values refer to
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<uint64_t, size_t> memo_;
};

}  // namespace gandem
