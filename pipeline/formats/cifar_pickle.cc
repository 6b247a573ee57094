// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/cifar_pickle.h"

#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kCifarPixelBytes = 3072;

absl::Status NoCifarPickle(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("it is no batch of CIFAR in Python's form: ", what));
}

absl::Status DamagedPickle() {
  return absl::DataLossError("the pickle is truncated or damaged");
}

// Values refer to each other by their number, so neither depth nor cycles of a
// hostile file matter; bytes are not copied.
struct CifarValue {
  enum class Kind { kOther, kInteger, kBytes, kList, kDict, kObject };
  Kind kind = Kind::kOther;
  int64_t integer = 0;
  absl::string_view bytes = {};
  // kList (and tuples): its values; kDict: key, value, key, value ...; kObject:
  // what was called, its arguments, and, where it has one, its state.
  std::vector<size_t> items = {};
};

// The stack machine of pickles.
class CifarMachine {
 public:
  using Kind = CifarValue::Kind;

  explicit CifarMachine(absl::string_view pickle) : rest_(pickle) {}

  // The number of the pickle's value.
  absl::StatusOr<size_t> Run() {
    while (true) {
      GANDEM_ASSIGN_OR_RETURN(const uint64_t operation, TakeInteger(1));
      if (operation == '.') break;
      GANDEM_RETURN_IF_ERROR(Step(static_cast<char>(operation)));
    }
    if (stack_.size() != 1) return DamagedPickle();
    return stack_.back();
  }
  const CifarValue& value(size_t number) const { return values_[number]; }

 private:
  absl::Status Step(char operation);
  absl::Status StepConstant(char operation);
  absl::Status StepContainer(char operation);

  absl::StatusOr<absl::string_view> Take(uint64_t size) {
    if (size > rest_.size()) return DamagedPickle();
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  // Little-endian.
  absl::StatusOr<uint64_t> TakeInteger(size_t size) {
    GANDEM_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(size));
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
  }
  absl::StatusOr<absl::string_view> TakeLine() {
    const size_t end = rest_.find('\n');
    if (end == absl::string_view::npos) return DamagedPickle();
    GANDEM_ASSIGN_OR_RETURN(absl::string_view line, Take(end + 1));
    line.remove_suffix(1);
    return line;
  }

  void Push(CifarValue value) {
    stack_.push_back(values_.size());
    values_.push_back(std::move(value));
  }
  absl::Status PushBytes(size_t size_of_size) {
    GANDEM_ASSIGN_OR_RETURN(const uint64_t size, TakeInteger(size_of_size));
    GANDEM_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(size));
    Push({.kind = Kind::kBytes, .bytes = bytes});
    return absl::OkStatus();
  }
  absl::Status PushInteger(size_t size) {
    GANDEM_ASSIGN_OR_RETURN(const uint64_t value, TakeInteger(size));
    const auto number = size == 4 ? int64_t{static_cast<int32_t>(value)}
                                  : static_cast<int64_t>(value);
    Push({.kind = Kind::kInteger, .integer = number});
    return absl::OkStatus();
  }
  // The last `count` values, taken from the stack, as one.
  absl::StatusOr<CifarValue> Pop(size_t count, Kind kind) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (count > stack_.size() - floor) return DamagedPickle();
    CifarValue value = {.kind = kind};
    value.items.assign(stack_.end() - static_cast<ptrdiff_t>(count),
                       stack_.end());
    stack_.resize(stack_.size() - count);
    return value;
  }
  absl::StatusOr<CifarValue> PopToMark(Kind kind) {
    if (marks_.empty()) return DamagedPickle();
    const size_t mark = marks_.back();
    GANDEM_ASSIGN_OR_RETURN(CifarValue value, Pop(stack_.size() - mark, kind));
    marks_.pop_back();
    return value;
  }
  absl::Status Gather(absl::StatusOr<CifarValue> value) {
    GANDEM_RETURN_IF_ERROR(value);
    Push(*std::move(value));
    return absl::OkStatus();
  }
  // Adds what was popped to the container below it.
  absl::Status Extend(absl::StatusOr<CifarValue> added) {
    GANDEM_RETURN_IF_ERROR(added);
    if (stack_.empty()) return DamagedPickle();
    std::vector<size_t>& items = values_[stack_.back()].items;
    items.insert(items.end(), added->items.begin(), added->items.end());
    return absl::OkStatus();
  }
  absl::Status Remember(uint64_t key) {
    if (stack_.empty()) return DamagedPickle();
    memo_[key] = stack_.back();
    return absl::OkStatus();
  }
  absl::Status Recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return DamagedPickle();
    stack_.push_back(found->second);
    return absl::OkStatus();
  }
  absl::Status Memo(size_t size, bool recall) {
    GANDEM_ASSIGN_OR_RETURN(const uint64_t key, TakeInteger(size));
    return recall ? Recall(key) : Remember(key);
  }

  absl::string_view rest_;
  std::deque<CifarValue> values_;
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<uint64_t, size_t> memo_;
};

absl::Status CifarMachine::Step(char operation) {
  switch (operation) {
    case '\x80':  // PROTO
      return TakeInteger(1).status();
    case '\x95':  // FRAME
      return TakeInteger(8).status();
    case 'q':
      return Memo(1, /*recall=*/false);
    case 'r':
      return Memo(4, /*recall=*/false);
    case '\x94':  // MEMOIZE
      return Remember(memo_.size());
    case 'h':
      return Memo(1, /*recall=*/true);
    case 'j':
      return Memo(4, /*recall=*/true);
    case '0':  // POP
      return Pop(1, Kind::kList).status();
    default:
      return StepConstant(operation);
  }
}

absl::Status CifarMachine::StepConstant(char operation) {
  switch (operation) {
    case 'U':     // SHORT_BINSTRING
    case 'C':     // SHORT_BINBYTES
    case '\x8c':  // SHORT_BINUNICODE
      return PushBytes(1);
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
    case 'X':  // BINUNICODE
      return PushBytes(4);
    case '\x8d':  // BINUNICODE8
    case '\x8e':  // BINBYTES8
    case '\x96':  // BYTEARRAY8
      return PushBytes(8);
    case 'K':
      return PushInteger(1);
    case 'M':
      return PushInteger(2);
    case 'J':
      return PushInteger(4);
    case 'N':
      Push({});
      return absl::OkStatus();
    case '\x88':  // NEWTRUE
    case '\x89':  // NEWFALSE
      Push({.kind = Kind::kInteger, .integer = operation == '\x88' ? 1 : 0});
      return absl::OkStatus();
    case 'G':  // BINFLOAT
      Push({});
      return Take(8).status();
    default:
      return StepContainer(operation);
  }
}

absl::Status CifarMachine::StepContainer(char operation) {
  switch (operation) {
    case '(':
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case '}':
      Push({.kind = Kind::kDict});
      return absl::OkStatus();
    case ']':
    case ')':
      Push({.kind = Kind::kList});
      return absl::OkStatus();
    case 'd':
      return Gather(PopToMark(Kind::kDict));
    case 'l':
    case 't':
      return Gather(PopToMark(Kind::kList));
    case '\x85':  // TUPLE1, TUPLE2, TUPLE3
    case '\x86':
    case '\x87':
      return Gather(Pop(static_cast<size_t>(operation - '\x84'), Kind::kList));
    case 'a':
      return Extend(Pop(1, Kind::kList));
    case 's':
      return Extend(Pop(2, Kind::kList));
    case 'e':
    case 'u':
      return Extend(PopToMark(Kind::kList));
    case 'c': {  // GLOBAL: a name, which is all that we want of it
      GANDEM_RETURN_IF_ERROR(TakeLine());
      GANDEM_ASSIGN_OR_RETURN(const absl::string_view name, TakeLine());
      Push({.kind = Kind::kBytes, .bytes = name});
      return absl::OkStatus();
    }
    case '\x93': {  // STACK_GLOBAL
      GANDEM_ASSIGN_OR_RETURN(const CifarValue names, Pop(2, Kind::kList));
      stack_.push_back(names.items[1]);
      return absl::OkStatus();
    }
    case 'R':  // called; kept as what and with which
      return Gather(Pop(2, Kind::kObject));
    case 'b':  // BUILD
      return Extend(Pop(1, Kind::kList));
    default:
      return NoCifarPickle(absl::StrCat(
          "operation ", static_cast<int>(static_cast<unsigned char>(operation)),
          " has no use in one"));
  }
}

// Looks into the values of a machine that has run.
class CifarDict {
 public:
  using Kind = CifarValue::Kind;

  CifarDict(const CifarMachine& machine, size_t dict)
      : machine_(machine), dict_(machine.value(dict)) {}

  absl::StatusOr<CifarBatch> ToBatch() const {
    if (dict_.kind != Kind::kDict) return NoCifarPickle("it is not a dict");
    const CifarValue* const data = Find("data");
    if (data == nullptr) return NoCifarPickle("it has no 'data'");
    const CifarValue* labels = Find("labels");
    if (labels == nullptr) labels = Find("fine_labels");
    if (labels == nullptr || labels->kind != Kind::kList) {
      return NoCifarPickle("it has no 'labels' and no 'fine_labels'");
    }
    CifarBatch batch;
    GANDEM_RETURN_IF_ERROR(TakePixels(*data, batch));
    for (const size_t number : labels->items) {
      const CifarValue& label = machine_.value(number);
      if (label.kind != Kind::kInteger || label.integer < 0 ||
          label.integer > 255) {
        return NoCifarPickle("a label is not in [0, 255]");
      }
      batch.labels.push_back(label.integer);
    }
    const int64_t images = std::ssize(batch.pixels) / kCifarPixelBytes;
    if (images != std::ssize(batch.labels)) {
      return NoCifarPickle(
          absl::StrCat(images, " images and ", batch.labels.size(), " labels"));
    }
    return batch;
  }

 private:
  const CifarValue* Find(absl::string_view key) const {
    for (size_t i = 0; i + 1 < dict_.items.size(); i += 2) {
      const CifarValue& name = machine_.value(dict_.items[i]);
      if (name.kind == Kind::kBytes && name.bytes == key) {
        return &machine_.value(dict_.items[i + 1]);
      }
    }
    return nullptr;
  }

  // What numpy's arrays keep for __setstate__: version, shape, dtype, is it
  // Fortran's order, bytes.
  absl::Status TakePixels(const CifarValue& array, CifarBatch& batch) const {
    if (array.kind != Kind::kObject || array.items.size() != 3) {
      return NoCifarPickle("'data' is no numpy array");
    }
    const CifarValue& state = machine_.value(array.items[2]);
    if (state.items.size() != 5) {
      return NoCifarPickle("'data' is no numpy array");
    }
    const CifarValue& shape = machine_.value(state.items[1]);
    const CifarValue& fortran = machine_.value(state.items[3]);
    if (shape.items.size() != 2 ||
        !IsByteType(machine_.value(state.items[2]))) {
      return NoCifarPickle("'data' is not of bytes in rows");
    }
    const int64_t rows = machine_.value(shape.items[0]).integer;
    const int64_t columns = machine_.value(shape.items[1]).integer;
    if (!TakeBytes(machine_.value(state.items[4]), batch) ||
        columns != kCifarPixelBytes || rows < 1 ||
        rows != std::ssize(batch.pixels) / columns ||
        std::ssize(batch.pixels) % columns != 0) {
      return NoCifarPickle(absl::StrCat("'data' is ", rows, " x ", columns,
                                        ", expected rows of 3072 bytes"));
    }
    if (fortran.integer != 0) Keep(Transposed(batch.pixels, rows), batch);
    return absl::OkStatus();
  }

  static void Keep(std::string pixels, CifarBatch& batch) {
    batch.decoded = std::make_unique<const std::string>(std::move(pixels));
    batch.pixels = *batch.decoded;
  }

  // numpy.dtype('u1', ...)
  bool IsByteType(const CifarValue& type) const {
    if (type.kind != Kind::kObject || type.items.size() < 2) return false;
    const CifarValue& arguments = machine_.value(type.items[1]);
    return !arguments.items.empty() &&
           machine_.value(arguments.items[0]).bytes == "u1";
  }

  // Bytes, or _codecs.encode(text, 'latin1'), which is how Python 3 writes them
  // for Python 2. False: neither.
  bool TakeBytes(const CifarValue& value, CifarBatch& batch) const {
    if (value.kind == Kind::kBytes) {
      batch.pixels = value.bytes;
      return true;
    }
    if (value.kind != Kind::kObject || value.items.size() != 2 ||
        machine_.value(value.items[0]).bytes != "encode") {
      return false;
    }
    const CifarValue& arguments = machine_.value(value.items[1]);
    if (arguments.items.empty()) return false;
    const absl::string_view text = machine_.value(arguments.items[0]).bytes;
    std::string bytes;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x80) {
        bytes.push_back(text[i]);
      } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.size()) {
        bytes.push_back(static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f)));
      } else {
        return false;
      }
    }
    Keep(std::move(bytes), batch);
    return true;
  }

  static std::string Transposed(absl::string_view columns, int64_t rows) {
    std::string out(columns.size(), '\0');
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < kCifarPixelBytes; ++i) {
        out[row * kCifarPixelBytes + i] = columns[i * rows + row];
      }
    }
    return out;
  }

  const CifarMachine& machine_;
  const CifarValue& dict_;
};

}  // namespace

absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view pickle) {
  CifarMachine machine(pickle);
  GANDEM_ASSIGN_OR_RETURN(const size_t value, machine.Run());
  return CifarDict(machine, value).ToBatch();
}

}  // namespace gandem
