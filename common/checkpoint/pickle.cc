// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/pickle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"

namespace gandem {
namespace {

// Limit of all values, of the stack and of the memo: a byte can take 100 bytes
// of memory. 65536 tensors of ten dimensions fit, and CIFAR's images.
constexpr size_t kMaxValues = size_t{1} << 21;
// Limited because names are copied, while a reference has two bytes.
constexpr size_t kMaxNameBytes = 256;

absl::Status DamagedPickle(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged pickle: ", what));
}

}  // namespace

absl::Status PickleReader::Unexpected(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("it holds ", what, ", and ", expected_));
}

absl::StatusOr<absl::string_view> PickleReader::Take(uint64_t size) {
  if (size > rest_.size()) return DamagedPickle("it ends too early");
  const absl::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

absl::StatusOr<absl::string_view> PickleReader::TakeLine() {
  const size_t size = rest_.find('\n');
  if (size == absl::string_view::npos) {
    return DamagedPickle("a name has no end");
  }
  const absl::string_view line = rest_.substr(0, size);
  rest_.remove_prefix(size + 1);
  return line;
}

absl::StatusOr<uint64_t> PickleReader::TakeInteger(size_t size) {
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(size));
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

void PickleReader::Push(PickleValue value) {
  stack_.push_back(values_.size());
  values_.push_back(std::move(value));
}

absl::Status PickleReader::PushInteger(size_t size) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t value, TakeInteger(size));
  // Only four-byte integers are signed.
  Push({.kind = Kind::kInteger,
        .integer = size == 4 ? int64_t{static_cast<int32_t>(value)}
                             : static_cast<int64_t>(value)});
  return absl::OkStatus();
}

// Reads a two's complement integer. Skips integers above eight bytes; only the
// unused magic number of torch.save() before 1.6 is that long.
absl::Status PickleReader::PushBigInteger() {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t size, TakeInteger(1));
  if (size > sizeof(int64_t)) {
    Push({});
    return Take(size).status();
  }
  GANDEM_ASSIGN_OR_RETURN(uint64_t value, TakeInteger(size));
  if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) {
    value |= ~uint64_t{0} << (8 * size);
  }
  Push({.kind = Kind::kInteger, .integer = static_cast<int64_t>(value)});
  return absl::OkStatus();
}

absl::Status PickleReader::PushText(size_t size_of_size) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t size, TakeInteger(size_of_size));
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view text, Take(size));
  Push({.kind = Kind::kText, .text = text});
  return absl::OkStatus();
}

absl::Status PickleReader::PushName(absl::string_view module,
                                    absl::string_view name) {
  if (module.size() + name.size() > kMaxNameBytes) {
    return DamagedPickle("a name is too long");
  }
  Push({.kind = Kind::kName,
        .text = names_.emplace_back(absl::StrCat(module, ".", name))});
  return absl::OkStatus();
}

absl::Status PickleReader::Remember(absl::StatusOr<uint64_t> key) {
  GANDEM_RETURN_IF_ERROR(key);
  if (stack_.empty()) return DamagedPickle("nothing to remember");
  memo_[*key] = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleReader::Recall(absl::StatusOr<uint64_t> key) {
  GANDEM_RETURN_IF_ERROR(key);
  const auto found = memo_.find(*key);
  if (found == memo_.end()) return DamagedPickle("an unknown reference");
  stack_.push_back(found->second);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<size_t>> PickleReader::Pop(size_t count) {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) return DamagedPickle("a value is missing");
  std::vector<size_t> items(stack_.end() - static_cast<ptrdiff_t>(count),
                            stack_.end());
  stack_.resize(stack_.size() - count);
  return items;
}

absl::StatusOr<std::vector<size_t>> PickleReader::PopToMark() {
  if (marks_.empty()) return DamagedPickle("a mark is missing");
  const size_t mark = marks_.back();
  marks_.pop_back();
  return Pop(stack_.size() - mark);
}

absl::Status PickleReader::Gather(absl::StatusOr<std::vector<size_t>> items,
                                  Kind kind) {
  GANDEM_RETURN_IF_ERROR(items);
  Push({.kind = kind, .items = *std::move(items)});
  return absl::OkStatus();
}

absl::Status PickleReader::Extend(absl::StatusOr<std::vector<size_t>> items) {
  GANDEM_RETURN_IF_ERROR(items);
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return DamagedPickle("nothing to append to");
  PickleValue& target = values_[stack_.back()];
  const bool of_pairs = target.kind == Kind::kDict;
  if ((!of_pairs && target.kind != Kind::kList) ||
      (of_pairs && items->size() % 2 != 0)) {
    return DamagedPickle("items that belong to no list or dict");
  }
  target.items.insert(target.items.end(), items->begin(), items->end());
  return absl::OkStatus();
}

// Records the callee and its arguments instead of calling.
absl::Status PickleReader::Call() {
  GANDEM_ASSIGN_OR_RETURN(std::vector<size_t> call, Pop(2));
  if (value(call[0]).text == "collections.OrderedDict" &&
      value(call[1]).items.empty()) {
    Push({.kind = Kind::kDict});
    return absl::OkStatus();
  }
  Push({.kind = Kind::kObject, .items = std::move(call)});
  return absl::OkStatus();
}

// Adds an object's state, except an OrderedDict's (module version).
absl::Status PickleReader::Build() {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> state, Pop(1));
  if (stack_.empty()) return DamagedPickle("a state of nothing");
  PickleValue& object = values_[stack_.back()];
  if (object.kind == Kind::kObject) object.items.push_back(state[0]);
  return absl::OkStatus();
}

// Names of operations are those of Python's pickletools.
absl::Status PickleReader::Step(uint8_t operation) {
  switch (operation) {
    case 0x80:  // PROTO
      return TakeInteger(1).status();
    case 0x95:  // FRAME
      return TakeInteger(8).status();
    case 'q':  // BINPUT
      return Remember(TakeInteger(1));
    case 'r':  // LONG_BINPUT
      return Remember(TakeInteger(4));
    case 0x94:  // MEMOIZE
      return Remember(memo_.size());
    case 'h':  // BINGET
      return Recall(TakeInteger(1));
    case 'j':  // LONG_BINGET
      return Recall(TakeInteger(4));
    case '0':  // POP
      return Pop(1).status();
    case 'c': {  // GLOBAL
      GANDEM_ASSIGN_OR_RETURN(const absl::string_view module, TakeLine());
      GANDEM_ASSIGN_OR_RETURN(const absl::string_view name, TakeLine());
      return PushName(module, name);
    }
    case 0x93: {  // STACK_GLOBAL
      GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> names, Pop(2));
      return PushName(value(names[0]).text, value(names[1]).text);
    }
    case 'R':  // REDUCE
      return Call();
    case 'b':  // BUILD
      return Build();
    default:
      return StepConstant(operation);
  }
}

absl::Status PickleReader::StepConstant(uint8_t operation) {
  switch (operation) {
    case 'N':  // NONE
      Push({});
      return absl::OkStatus();
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      Push({.kind = Kind::kInteger, .integer = operation == 0x88});
      return absl::OkStatus();
    case 'K':  // BININT1
      return PushInteger(1);
    case 'M':  // BININT2
      return PushInteger(2);
    case 'J':  // BININT
      return PushInteger(4);
    case 0x8a:  // LONG1
      return PushBigInteger();
    case 'G':  // BINFLOAT
      Push({});
      return Take(8).status();
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
    case 0x8c:  // SHORT_BINUNICODE
      return PushText(1);
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
    case 'X':  // BINUNICODE
      return PushText(4);
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return PushText(8);
    default:
      return StepContainer(operation);
  }
}

absl::Status PickleReader::StepContainer(uint8_t operation) {
  switch (operation) {
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case ')':  // EMPTY_TUPLE
    case ']':  // EMPTY_LIST
      return Gather(Pop(0), Kind::kList);
    case '}':  // EMPTY_DICT
      return Gather(Pop(0), Kind::kDict);
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return Gather(Pop(operation - 0x84), Kind::kList);
    case 't':  // TUPLE
    case 'l':  // LIST
      return Gather(PopToMark(), Kind::kList);
    case 'd':  // DICT
      return Gather(PopToMark(), Kind::kDict);
    case 'a':  // APPEND
      return Extend(Pop(1));
    case 's':  // SETITEM
      return Extend(Pop(2));
    case 'e':  // APPENDS
    case 'u':  // SETITEMS
      return Extend(PopToMark());
    case 'Q':  // BINPERSID
      return Gather(Pop(1), Kind::kPersistent);
    default:
      return Unexpected(absl::StrFormat("an operation 0x%02x", operation));
  }
}

absl::StatusOr<size_t> PickleReader::Read() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(const uint64_t operation, TakeInteger(1));
    if (operation == '.') break;  // STOP
    GANDEM_RETURN_IF_ERROR(Step(static_cast<uint8_t>(operation)));
    if (std::max({values_.size(), stack_.size(), marks_.size(), memo_.size()}) >
        kMaxValues) {
      return Unexpected(absl::StrCat("more than ", kMaxValues, " values"));
    }
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> result, Pop(1));
  return result[0];
}

}  // namespace gandem
