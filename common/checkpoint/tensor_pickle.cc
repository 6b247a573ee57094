// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/tensor_pickle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"

namespace gandem {
namespace {

// Operations, named as in Python's pickletools.
enum PickleOperation : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyList = ']',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

constexpr uint8_t kProtocol = 2;

// A byte of a pickle can cost a hundred of memory, and a reference of two bytes
// a copy of something large. 65536 tensors of ten dimensions stay below all of
// these limits.
constexpr size_t kMaxValues = size_t{1} << 21;  // also on the stack, remembered
constexpr size_t kMaxPlaces = size_t{1} << 18;  // storages and tensors
constexpr size_t kMaxStorageKeyBytes = 64;
constexpr size_t kMaxPickleRank = 64;  // PyTorch's own limit

struct StorageClass {
  absl::string_view name;
  DType dtype;
};
constexpr StorageClass kStorageClasses[] = {
    {"torch.FloatStorage", DType::kF32},
    {"torch.DoubleStorage", DType::kF64},
    {"torch.HalfStorage", DType::kF16},
    {"torch.BFloat16Storage", DType::kBF16},
    {"torch.LongStorage", DType::kI64},
    {"torch.IntStorage", DType::kI32},
    {"torch.ByteStorage", DType::kU8},
    {"torch.BoolStorage", DType::kBool},
};

absl::Status DamagedPickle(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged pickle: ", what));
}

absl::Status NotAStateDict(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "it holds ", what,
      ", and only dicts of names and tensors are read: save the module's "
      "state_dict(), or its tensors as safetensors"));
}

}  // namespace

absl::StatusOr<absl::string_view> PickleReader::Take(size_t size) {
  if (size > bytes_.size()) return DamagedPickle("it ends too early");
  const absl::string_view taken(reinterpret_cast<const char*>(bytes_.data()),
                                size);
  bytes_ = bytes_.subspan(size);
  return taken;
}

absl::StatusOr<uint64_t> PickleReader::TakeInteger(size_t size) {
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(size));
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

absl::StatusOr<absl::string_view> PickleReader::TakeLine() {
  const absl::string_view rest(reinterpret_cast<const char*>(bytes_.data()),
                               bytes_.size());
  const size_t size = rest.find('\n');
  if (size == absl::string_view::npos)
    return DamagedPickle("a name has no end");
  GANDEM_RETURN_IF_ERROR(Take(size + 1));
  return rest.substr(0, size);
}

void PickleReader::Push(PickleValue value) {
  num_places_ += value.kind == Kind::kTensor;
  stack_.push_back(values_.size());
  values_.push_back(std::move(value));
}

absl::Status PickleReader::CheckSizes() const {
  if (std::max({values_.size(), stack_.size(), marks_.size(), memo_.size()}) >
      kMaxValues) {
    return NotAStateDict(absl::StrCat("more than ", kMaxValues, " values"));
  }
  if (num_places_ > kMaxPlaces) {
    return NotAStateDict(
        absl::StrCat("more than ", kMaxPlaces, " tensors and storages"));
  }
  return absl::OkStatus();
}

absl::Status PickleReader::PushInteger(size_t size) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t value, TakeInteger(size));
  // Only those of four bytes have a sign.
  Push({.kind = Kind::kInteger,
        .integer = size == 4 ? int64_t{static_cast<int32_t>(value)}
                             : static_cast<int64_t>(value)});
  return absl::OkStatus();
}

absl::Status PickleReader::PushText(size_t size_of_size) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t size, TakeInteger(size_of_size));
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view text, Take(size));
  Push({.kind = Kind::kText, .text = std::string(text)});
  return absl::OkStatus();
}

// Two's complement of any size; of more than eight bytes only the magic number
// of the layout before 1.6, which nobody asks for.
absl::Status PickleReader::PushBigInteger() {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t size, TakeInteger(1));
  if (size > sizeof(int64_t)) {
    GANDEM_RETURN_IF_ERROR(Take(size));
    Push({.kind = Kind::kNone});
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(uint64_t value, TakeInteger(size));
  if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) {
    value |= ~uint64_t{0} << (8 * size);
  }
  Push({.kind = Kind::kInteger, .integer = static_cast<int64_t>(value)});
  return absl::OkStatus();
}

absl::Status PickleReader::PushName() {
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view module, TakeLine());
  GANDEM_ASSIGN_OR_RETURN(const absl::string_view name, TakeLine());
  Push({.kind = Kind::kText, .text = absl::StrCat(module, ".", name)});
  return absl::OkStatus();
}

absl::Status PickleReader::PutMemo(size_t size_of_key) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t key, TakeInteger(size_of_key));
  if (stack_.empty()) return DamagedPickle("nothing to remember");
  memo_[key] = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleReader::GetMemo(size_t size_of_key) {
  GANDEM_ASSIGN_OR_RETURN(const uint64_t key, TakeInteger(size_of_key));
  const auto found = memo_.find(key);
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
  const size_t floor = std::exchange(marks_.back(), 0);
  marks_.pop_back();
  return Pop(stack_.size() - floor);
}

absl::Status PickleReader::Gather(absl::StatusOr<std::vector<size_t>> items,
                                  Kind kind) {
  GANDEM_RETURN_IF_ERROR(items);
  Push({.kind = kind, .items = *std::move(items)});
  return absl::OkStatus();
}

absl::Status PickleReader::Append(absl::StatusOr<std::vector<size_t>> items) {
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

absl::StatusOr<std::vector<int64_t>> PickleReader::Integers(size_t list) const {
  std::vector<int64_t> integers;
  if (values_[list].kind != Kind::kList)
    return DamagedPickle("a shape is no tuple");
  if (values_[list].items.size() > kMaxPickleRank) {
    return DamagedPickle(
        absl::StrCat("a shape of more than ", kMaxPickleRank, " dimensions"));
  }
  for (const size_t item : values_[list].items) {
    if (values_[item].kind != Kind::kInteger) {
      return DamagedPickle("a shape has other things than integers");
    }
    integers.push_back(values_[item].integer);
  }
  return integers;
}

// ("storage", class, key, device, elements), and before 1.6 a view of another
// storage, or None.
absl::Status PickleReader::PushStorage() {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> top, Pop(1));
  const std::vector<size_t>& items = values_[top[0]].items;
  if ((items.size() != 5 && items.size() != 6) ||
      values_[items[0]].text != "storage" ||
      values_[items[2]].kind != Kind::kText ||
      values_[items[2]].text.size() > kMaxStorageKeyBytes ||
      values_[items[4]].kind != Kind::kInteger) {
    return DamagedPickle("a storage has another form");
  }
  if (items.size() == 6 && values_[items[5]].kind != Kind::kNone) {
    return NotAStateDict("a view of a storage");
  }
  for (const auto& [name, dtype] : kStorageClasses) {
    if (values_[items[1]].text != name) continue;
    Push({.kind = Kind::kTensor,
          .tensor = {.dtype = dtype, .storage = values_[items[2]].text}});
    return absl::OkStatus();
  }
  return NotAStateDict(absl::StrCat("tensors of ", values_[items[1]].text));
}

// (storage, offset, shape, strides, requires_grad, hooks ...)
absl::Status PickleReader::RebuildTensor(const std::vector<size_t>& arguments) {
  if (arguments.size() < 4 || values_[arguments[0]].kind != Kind::kTensor ||
      values_[arguments[1]].kind != Kind::kInteger) {
    return DamagedPickle("a tensor has another form");
  }
  TensorPlace place = values_[arguments[0]].tensor;
  place.offset = values_[arguments[1]].integer;
  GANDEM_ASSIGN_OR_RETURN(place.shape, Integers(arguments[2]));
  GANDEM_ASSIGN_OR_RETURN(place.strides, Integers(arguments[3]));
  if (place.shape.size() != place.strides.size()) {
    return DamagedPickle("a tensor's shape and strides differ");
  }
  Push({.kind = Kind::kTensor, .tensor = std::move(place)});
  return absl::OkStatus();
}

absl::Status PickleReader::Call() {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> call, Pop(2));
  // No copies: what they refer to stays where it is when values_ grows.
  const std::string& function = values_[call[0]].text;
  const std::vector<size_t>& arguments = values_[call[1]].items;
  if (function == "torch._utils._rebuild_tensor_v2") {
    return RebuildTensor(arguments);
  }
  if (function == "torch._utils._rebuild_parameter" && !arguments.empty()) {
    stack_.push_back(arguments[0]);
    return absl::OkStatus();
  }
  if (function == "collections.OrderedDict" && arguments.empty()) {
    Push({.kind = Kind::kDict});
    return absl::OkStatus();
  }
  return NotAStateDict(absl::StrCat("a ", function));
}

absl::Status PickleReader::Step(uint8_t operation) {
  switch (operation) {
    case kProto: {
      GANDEM_ASSIGN_OR_RETURN(const uint64_t protocol, TakeInteger(1));
      if (protocol == kProtocol) return absl::OkStatus();
      return NotAStateDict(absl::StrCat("a pickle of protocol ", protocol));
    }
    case kMark:
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case kBinInt:
      return PushInteger(4);
    case kBinInt1:
      return PushInteger(1);
    case kBinInt2:
      return PushInteger(2);
    case kLong1:
      return PushBigInteger();
    case kNone:
      Push({});
      return absl::OkStatus();
    case kNewTrue:
    case kNewFalse:
      Push({.kind = Kind::kInteger, .integer = operation == kNewTrue});
      return absl::OkStatus();
    case kBinUnicode:
    case kBinString:
      return PushText(4);
    case kShortBinString:
      return PushText(1);
    case kGlobal:
      return PushName();
    case kBinPut:
      return PutMemo(1);
    case kLongBinPut:
      return PutMemo(4);
    case kBinGet:
      return GetMemo(1);
    case kLongBinGet:
      return GetMemo(4);
    case kEmptyTuple:
    case kEmptyList:
      return Gather(Pop(0), Kind::kList);
    case kEmptyDict:
      return Gather(Pop(0), Kind::kDict);
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return Gather(Pop(operation - kTuple1 + 1), Kind::kList);
    case kTuple:
      return Gather(PopToMark(), Kind::kList);
    case kAppend:
      return Append(Pop(1));
    case kSetItem:
      return Append(Pop(2));
    case kAppends:
    case kSetItems:
      return Append(PopToMark());
    case kBinPersId:
      return PushStorage();
    case kReduce:
      return Call();
    case kBuild:  // attributes of an OrderedDict: the module's version
      return Pop(1).status();
    default:
      return NotAStateDict(absl::StrFormat(
          "an operation 0x%02x that no state dict has", operation));
  }
}

absl::StatusOr<size_t> PickleReader::Read() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(const uint64_t operation, TakeInteger(1));
    if (operation == kStop) break;
    GANDEM_RETURN_IF_ERROR(Step(static_cast<uint8_t>(operation)));
    GANDEM_RETURN_IF_ERROR(CheckSizes());
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<size_t> result, Pop(1));
  return result[0];
}

}  // namespace gandem
