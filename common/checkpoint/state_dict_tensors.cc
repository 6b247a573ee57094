// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/state_dict_tensors.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/pickle.h"
#include "common/status.h"

namespace gandem {
namespace {

// First pickle (the magic number) of a file before PyTorch 1.6.
constexpr char kStateDictMagic[] =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr size_t kMagicSize = sizeof(kStateDictMagic) - 1;

constexpr char kExpected[] =
    "only dicts of names and tensors are read: save the module's "
    "state_dict(), or its tensors as safetensors";

absl::Status DamagedStateDict(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged: ", what));
}

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

// Limited because tensors copy these values from the pickle, in which
// references take two bytes.
constexpr size_t kMaxTensors = size_t{1} << 18;  // chosen; no network has more
constexpr size_t kMaxStorageKeyBytes = 64;
constexpr size_t kMaxPickleRank = 64;  // PyTorch's own limit

using Kind = PickleValue::Kind;

struct NamedPlace {
  absl::string_view name;
  TensorPlace place;
};

// Reads the tensors of a dict without their elements.
class PlaceReader {
 public:
  explicit PlaceReader(const PickleReader& pickle) : pickle_(pickle) {}

  absl::StatusOr<std::vector<NamedPlace>> PlacesOf(size_t root) const {
    const PickleValue& dict = pickle_.value(root);
    if (dict.kind == Kind::kObject) return NotATensor(dict);
    if (dict.kind != Kind::kDict) {
      return absl::InvalidArgumentError(
          "it holds no dict: save the module's state_dict()");
    }
    // One object may be in many entries, each of which copies its shape.
    if (dict.items.size() / 2 > kMaxTensors) {
      return absl::InvalidArgumentError(
          absl::StrCat("it holds more than ", kMaxTensors, " tensors"));
    }
    std::vector<NamedPlace> places;
    std::set<absl::string_view> names;
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = pickle_.value(dict.items[i]);
      const PickleValue& value = pickle_.value(dict.items[i + 1]);
      if (key.kind != Kind::kText || value.kind != Kind::kObject) {
        return absl::InvalidArgumentError(
            absl::StrCat("its entry '", key.text,
                         "' is no tensor: save the module's state_dict()"));
      }
      if (!names.insert(key.text).second) {
        return DamagedStateDict(absl::StrCat("'", key.text, "' stands twice"));
      }
      GANDEM_ASSIGN_OR_RETURN(TensorPlace place, PlaceOf(value));
      places.push_back({.name = key.text, .place = std::move(place)});
    }
    return places;
  }

 private:
  absl::string_view FunctionOf(const PickleValue& object) const {
    return pickle_.value(object.items[0]).text;
  }
  const std::vector<size_t>& ArgumentsOf(const PickleValue& object) const {
    return pickle_.value(object.items[1]).items;
  }
  absl::Status NotATensor(const PickleValue& object) const {
    return pickle_.Unexpected(absl::StrCat("a ", FunctionOf(object)));
  }

  // Parses _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad,
  // ...), possibly inside _rebuild_parameter.
  absl::StatusOr<TensorPlace> PlaceOf(const PickleValue& object) const {
    const PickleValue* tensor = &object;
    if (FunctionOf(object) == "torch._utils._rebuild_parameter" &&
        !ArgumentsOf(object).empty()) {
      tensor = &pickle_.value(ArgumentsOf(object)[0]);
    }
    if (tensor->kind != Kind::kObject ||
        FunctionOf(*tensor) != "torch._utils._rebuild_tensor_v2") {
      return NotATensor(tensor->kind == Kind::kObject ? *tensor : object);
    }
    const std::vector<size_t>& arguments = ArgumentsOf(*tensor);
    if (arguments.size() < 4 ||
        pickle_.value(arguments[0]).kind != Kind::kPersistent ||
        pickle_.value(arguments[1]).kind != Kind::kInteger) {
      return DamagedStateDict("a tensor has another form");
    }
    GANDEM_ASSIGN_OR_RETURN(TensorPlace place,
                            StorageOf(pickle_.value(arguments[0])));
    place.offset = pickle_.value(arguments[1]).integer;
    GANDEM_ASSIGN_OR_RETURN(place.shape, Integers(arguments[2]));
    GANDEM_ASSIGN_OR_RETURN(place.strides, Integers(arguments[3]));
    if (place.shape.size() == place.strides.size()) return place;
    return DamagedStateDict("a tensor's shape and strides differ");
  }

  // Parses ("storage", class, key, device, elements). Before 1.6 a view of
  // another storage, or None, follows.
  absl::StatusOr<TensorPlace> StorageOf(const PickleValue& persistent) const {
    const std::vector<size_t>& items = pickle_.value(persistent.items[0]).items;
    if ((items.size() != 5 && items.size() != 6) ||
        pickle_.value(items[0]).text != "storage" ||
        pickle_.value(items[2]).kind != Kind::kText ||
        pickle_.value(items[2]).text.size() > kMaxStorageKeyBytes) {
      return DamagedStateDict("a storage has another form");
    }
    if (items.size() == 6 && pickle_.value(items[5]).kind != Kind::kNone) {
      return pickle_.Unexpected("a view of a storage");
    }
    const absl::string_view type = pickle_.value(items[1]).text;
    for (const auto& [name, dtype] : kStorageClasses) {
      if (type != name) continue;
      return TensorPlace{.dtype = dtype,
                         .storage = std::string(pickle_.value(items[2]).text)};
    }
    return pickle_.Unexpected(absl::StrCat("tensors of ", type));
  }

  absl::StatusOr<std::vector<int64_t>> Integers(size_t list) const {
    const std::vector<size_t>& items = pickle_.value(list).items;
    if (pickle_.value(list).kind != Kind::kList) {
      return DamagedStateDict("a shape is no tuple");
    }
    if (items.size() > kMaxPickleRank) {
      return DamagedStateDict(
          absl::StrCat("a shape of more than ", kMaxPickleRank, " dimensions"));
    }
    std::vector<int64_t> integers;
    for (const size_t item : items) {
      if (pickle_.value(item).kind != Kind::kInteger) {
        return DamagedStateDict("a shape has other things than integers");
      }
      integers.push_back(pickle_.value(item).integer);
    }
    return integers;
  }

  const PickleReader& pickle_;
};

struct Extent {
  int64_t count = 0;  // elements
  int64_t end = 0;    // one past the last element read; 0: none
};

absl::StatusOr<Extent> ExtentOf(const TensorPlace& place) {
  int64_t end = place.offset;
  const int64_t width = BytesPerElement(place.dtype);
  int64_t bytes = width;
  bool overflow = place.offset < 0;
  for (size_t i = 0; i < place.shape.size(); ++i) {
    const int64_t size = place.shape[i];
    int64_t reach = 0;
    overflow |= size < 0 || place.strides[i] < 0 ||
                __builtin_mul_overflow(size - 1, place.strides[i], &reach) ||
                __builtin_mul_overflow(bytes, size, &bytes) ||
                __builtin_add_overflow(end, reach, &end);
  }
  overflow |= __builtin_add_overflow(end, 1, &end);
  if (overflow) return DamagedStateDict("a tensor's shape is impossible");
  return bytes == 0 ? Extent{} : Extent{.count = bytes / width, .end = end};
}

// Returns whether two indices may refer to one element of the storage. They do
// not if each dimension, in order of stride, steps over the extent of the
// smaller ones, as in contiguous or permuted tensors and slices. A tensor
// without repetition is never larger than its storage.
bool RepeatsElements(const TensorPlace& place) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, size
  for (size_t i = 0; i < place.shape.size(); ++i) {
    if (place.shape[i] > 1) {
      dimensions.emplace_back(place.strides[i], place.shape[i]);
    }
  }
  std::ranges::sort(dimensions);
  int64_t reach = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

bool IsRowByRow(const TensorPlace& place) {
  int64_t stride = 1;
  for (size_t i = place.shape.size(); i-- > 0;) {
    if (place.shape[i] > 1 && place.strides[i] != stride) return false;
    stride *= place.shape[i];
  }
  return true;
}

// Copies a nonempty tensor within `storage` in row-major order.
SharedBytes CopyRows(const TensorPlace& place, int64_t count,
                     const SharedBytes& storage) {
  const auto width = static_cast<size_t>(BytesPerElement(place.dtype));
  const auto size = static_cast<size_t>(count) * width;
  if (IsRowByRow(place)) {
    return SharedBytes::Copy(storage.span().subspan(
        static_cast<size_t>(place.offset) * width, size));
  }
  std::vector<std::byte> rows(size);
  std::vector<int64_t> index(place.shape.size(), 0);
  int64_t from = place.offset;
  for (size_t to = 0; to < size; to += width) {
    std::memcpy(rows.data() + to,
                storage.data() + static_cast<size_t>(from) * width, width);
    for (size_t i = index.size(); i-- > 0;) {
      if (index[i] + 1 < place.shape[i]) {
        ++index[i];
        from += place.strides[i];
        break;
      }
      from -= std::exchange(index[i], 0) * place.strides[i];
    }
  }
  return SharedBytes(std::move(rows));
}

absl::StatusOr<NamedTensor> ReadTensor(const NamedPlace& named,
                                       const StorageBytes& storage,
                                       int64_t max_bytes) {
  const auto& [name, place] = named;
  const int64_t width = BytesPerElement(place.dtype);
  GANDEM_ASSIGN_OR_RETURN(const SharedBytes bytes, storage(place));
  GANDEM_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(place));
  if (extent.end > static_cast<int64_t>(bytes.size()) / width) {
    return DamagedStateDict(absl::StrCat(name, " reaches out of its storage"));
  }
  if (extent.count == 0) {
    return NamedTensor{std::string(name), place.dtype, place.shape, {}};
  }
  if (RepeatsElements(place)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor '", name,
                     "' repeats elements of its storage, as expand() makes "
                     "them: save its contiguous()"));
  }
  if (extent.count * width > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "from '", name, "' on its tensors have more than ", kMaxStateDictCopies,
        " times the file's bytes: save those that share a storage only once"));
  }
  return NamedTensor{std::string(name), place.dtype, place.shape,
                     CopyRows(place, extent.count, bytes)};
}

using Storages = std::map<std::string, SharedBytes>;

// Reads the storages after the pickles: for each key, the number of elements (8
// bytes) and the elements.
absl::StatusOr<Storages> TakeStorages(const PickleReader& pickle, size_t keys,
                                      const std::vector<NamedPlace>& places) {
  std::map<absl::string_view, DType> types;
  for (const NamedPlace& named : places) {
    types[named.place.storage] = named.place.dtype;
  }
  Storages storages;
  std::span<const std::byte> rest = pickle.rest();
  for (const size_t item : pickle.value(keys).items) {
    const absl::string_view key = pickle.value(item).text;
    const auto type = types.find(key);
    if (type == types.end()) return DamagedStateDict("a storage of no tensor");
    uint64_t count = 0;
    if (rest.size() < sizeof(count)) {
      return DamagedStateDict("it ends too early");
    }
    std::memcpy(&count, rest.data(), sizeof(count));
    rest = rest.subspan(sizeof(count));
    const auto width = static_cast<uint64_t>(BytesPerElement(type->second));
    if (count > rest.size() / width) {
      return DamagedStateDict("it ends too early");
    }
    storages[std::string(key)] =
        SharedBytes::Copy(rest.first(count * width));  // aligned
    rest = rest.subspan(count * width);
  }
  return storages;
}

absl::StatusOr<std::vector<NamedTensor>> ReadTensors(
    const std::vector<NamedPlace>& places, const StorageBytes& storage,
    int64_t max_bytes) {
  std::vector<NamedTensor> tensors;
  for (const NamedPlace& named : places) {
    GANDEM_ASSIGN_OR_RETURN(NamedTensor tensor,
                            ReadTensor(named, storage, max_bytes));
    max_bytes -= static_cast<int64_t>(tensor.bytes.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::vector<NamedTensor>> ParseStateDict(
    std::span<const std::byte> bytes, const StorageBytes& storage,
    int64_t max_bytes) {
  PickleReader pickle(bytes, kExpected);
  GANDEM_ASSIGN_OR_RETURN(const size_t root, pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const std::vector<NamedPlace> places,
                          PlaceReader(pickle).PlacesOf(root));
  return ReadTensors(places, storage, max_bytes);
}

bool IsPickleStream(absl::string_view prefix) {
  return prefix.substr(0, kMagicSize) ==
         absl::string_view(kStateDictMagic, kMagicSize);
}

// The file has five pickles (magic number, protocol version, machine, object,
// storage keys), then the storages.
absl::StatusOr<std::vector<NamedTensor>> ParsePickleStream(
    std::span<const std::byte> file) {
  PickleReader pickle(file, kExpected);
  for (int i = 0; i < 3; ++i) GANDEM_RETURN_IF_ERROR(pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const size_t root, pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const size_t keys, pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const std::vector<NamedPlace> places,
                          PlaceReader(pickle).PlacesOf(root));
  GANDEM_ASSIGN_OR_RETURN(const Storages storages,
                          TakeStorages(pickle, keys, places));
  const int64_t max_bytes =
      kMaxStateDictCopies * static_cast<int64_t>(file.size());
  return ReadTensors(
      places,
      [&](const TensorPlace& place) -> absl::StatusOr<SharedBytes> {
        const auto found = storages.find(place.storage);
        if (found == storages.end()) {
          return DamagedStateDict("a storage is missing");
        }
        return found->second;
      },
      max_bytes);
}

}  // namespace gandem
