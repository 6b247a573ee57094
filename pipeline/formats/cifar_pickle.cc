// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/cifar_pickle.h"

#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/pickle.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kCifarPixelBytes = 3072;

absl::Status NoCifarPickle(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("it is no batch of CIFAR in Python's form: ", what));
}

class CifarDict {
 public:
  using Kind = PickleValue::Kind;

  CifarDict(const PickleReader& pickle, size_t dict)
      : pickle_(pickle), dict_(pickle.value(dict)) {}

  absl::StatusOr<CifarBatch> ToBatch() const {
    if (dict_.kind != Kind::kDict) return NoCifarPickle("it is not a dict");
    const PickleValue* const data = Find("data");
    if (data == nullptr) return NoCifarPickle("it has no 'data'");
    const PickleValue* labels = Find("labels");
    if (labels == nullptr) labels = Find("fine_labels");
    if (labels == nullptr || labels->kind != Kind::kList) {
      return NoCifarPickle("it has no 'labels' and no 'fine_labels'");
    }
    CifarBatch batch;
    GANDEM_RETURN_IF_ERROR(TakePixels(*data, batch));
    for (const size_t number : labels->items) {
      const PickleValue& label = pickle_.value(number);
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
  const PickleValue* Find(absl::string_view key) const {
    for (size_t i = 0; i + 1 < dict_.items.size(); i += 2) {
      const PickleValue& name = pickle_.value(dict_.items[i]);
      if (name.kind == Kind::kText && name.text == key) {
        return &pickle_.value(dict_.items[i + 1]);
      }
    }
    return nullptr;
  }

  // Parses an array's state: version, shape, dtype, Fortran order, bytes.
  absl::Status TakePixels(const PickleValue& array, CifarBatch& batch) const {
    if (array.kind != Kind::kObject || array.items.size() != 3) {
      return NoCifarPickle("'data' is no numpy array");
    }
    const PickleValue& state = pickle_.value(array.items[2]);
    if (state.items.size() != 5) {
      return NoCifarPickle("'data' is no numpy array");
    }
    const PickleValue& shape = pickle_.value(state.items[1]);
    const PickleValue& fortran = pickle_.value(state.items[3]);
    if (shape.items.size() != 2 || !IsByteType(pickle_.value(state.items[2]))) {
      return NoCifarPickle("'data' is not of bytes in rows");
    }
    const int64_t rows = pickle_.value(shape.items[0]).integer;
    const int64_t columns = pickle_.value(shape.items[1]).integer;
    if (!TakeBytes(pickle_.value(state.items[4]), batch) ||
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

  // Matches numpy.dtype('u1', ...).
  bool IsByteType(const PickleValue& type) const {
    if (type.kind != Kind::kObject || type.items.size() < 2) return false;
    const PickleValue& arguments = pickle_.value(type.items[1]);
    return !arguments.items.empty() &&
           pickle_.value(arguments.items[0]).text == "u1";
  }

  // Accepts bytes, or _codecs.encode(text, 'latin1'), as written by Python 3
  // for Python 2. Returns false for anything else.
  bool TakeBytes(const PickleValue& value, CifarBatch& batch) const {
    if (value.kind == Kind::kText) {
      batch.pixels = value.text;
      return true;
    }
    if (value.kind != Kind::kObject || value.items.size() != 2 ||
        pickle_.value(value.items[0]).text != "_codecs.encode") {
      return false;
    }
    const PickleValue& arguments = pickle_.value(value.items[1]);
    if (arguments.items.empty()) return false;
    const absl::string_view text = pickle_.value(arguments.items[0]).text;
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

  const PickleReader& pickle_;
  const PickleValue& dict_;
};

}  // namespace

absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view pickle) {
  PickleReader reader(std::as_bytes(std::span(pickle.data(), pickle.size())),
                      "only batches of CIFAR in Python's form are read");
  GANDEM_ASSIGN_OR_RETURN(const size_t value, reader.Read());
  return CifarDict(reader, value).ToBatch();
}

}  // namespace gandem
