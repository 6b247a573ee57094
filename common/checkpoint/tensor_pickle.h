// SPDX-License-Identifier: Apache-2.0
//
// The part of Python's pickle (protocol 2) that torch.save() uses for a state
// dict. Names of classes and functions are only compared, never looked up. Time
// and memory are at most a fixed multiple of the pickle's bytes: values refer
// to each other instead of being copied, and what is copied is short.
//
// Owner: state_dict_tensors.cc and state_dict_file.cc. Thread safety: one
// thread per object.
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
#include "common/checkpoint/safetensors.h"

namespace gandem {

// A tensor whose bytes are elsewhere.
struct TensorPlace {
  DType dtype = DType::kF32;
  std::string storage;  // its key
  int64_t offset = 0;   // elements
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // elements; as many as in shape
};

// A value of the pickle. Values refer to each other by their number, so neither
// depth nor cycles of a hostile file matter.
struct PickleValue {
  enum class Kind {
    kNone,     // also numbers that nobody asks for
    kInteger,  // booleans too
    kText,     // and the names of classes, "module.name"
    kList,     // and tuples
    kDict,     // items: key, value, key, value ...
    kTensor,   // also storages: no shape, yet
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  std::string text = {};
  std::vector<size_t> items = {};
  TensorPlace tensor = {};
};

class PickleReader {
 public:
  explicit PickleReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // The next pickle's value; its memo begins empty.
  //   INVALID_ARGUMENT  an operation or a function that a state dict has no
  //                     use for; names it. Or more than 2^21 values, or 2^18
  //                     storages and tensors.
  //   DATA_LOSS         truncated, or no pickle.
  absl::StatusOr<size_t> Read();

  const PickleValue& value(size_t number) const { return values_[number]; }
  // What follows the pickles that have been read.
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  using Kind = PickleValue::Kind;

  absl::Status Step(uint8_t operation);
  // What has been read is not more than a state dict needs.
  absl::Status CheckSizes() const;
  absl::StatusOr<absl::string_view> Take(size_t size);
  absl::StatusOr<uint64_t> TakeInteger(size_t size);
  absl::StatusOr<absl::string_view> TakeLine();
  absl::Status PushInteger(size_t size);
  absl::Status PushText(size_t size_of_size);
  absl::Status PushBigInteger();
  absl::Status PushName();
  absl::Status PutMemo(size_t size_of_key);
  absl::Status GetMemo(size_t size_of_key);
  absl::Status PushStorage();
  absl::Status Call();
  absl::Status RebuildTensor(const std::vector<size_t>& arguments);

  void Push(PickleValue value);
  // The last `count` values, taken from the stack.
  absl::StatusOr<std::vector<size_t>> Pop(size_t count);
  absl::StatusOr<std::vector<size_t>> PopToMark();
  absl::Status Gather(absl::StatusOr<std::vector<size_t>> items, Kind kind);
  absl::Status Append(absl::StatusOr<std::vector<size_t>> items);
  absl::StatusOr<std::vector<int64_t>> Integers(size_t list) const;

  std::span<const std::byte> bytes_;
  std::deque<PickleValue> values_;
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<uint64_t, size_t> memo_;
  size_t num_places_ = 0;  // values of the kind kTensor
};

}  // namespace gandem
