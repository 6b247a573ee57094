// SPDX-License-Identifier: Apache-2.0
#include "evaluation/formats/state_dict_file.h"

#include <caffe2/serialize/inline_container.h>

#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"
#include "evaluation/formats/tensor_pickle.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

using caffe2::serialize::PyTorchStreamReader;

// The first pickle of a file from before 1.6: its magic number.
constexpr char kStateDictMagic[] =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr size_t kMagicSize = sizeof(kStateDictMagic) - 1;
// A state dict's pickle is some hundred bytes for each tensor.
constexpr int64_t kMaxPickleBytes = 64 << 20;

// Bytes of a storage, by its key.
using StorageBytes =
    std::function<absl::StatusOr<SharedBytes>(const TensorPlace&)>;

absl::Status DamagedStateDict(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged: ", what));
}

// One past the last element that the tensor reads, or DATA_LOSS.
absl::StatusOr<int64_t> EndOf(const TensorPlace& place) {
  int64_t end = place.offset;
  int64_t count = 1;
  bool overflow = place.offset < 0;
  for (size_t i = 0; i < place.shape.size(); ++i) {
    const int64_t size = place.shape[i];
    int64_t reach = 0;
    overflow |= size < 0 || place.strides[i] < 0 ||
                __builtin_mul_overflow(size - 1, place.strides[i], &reach) ||
                __builtin_mul_overflow(count, size, &count) ||
                __builtin_add_overflow(end, reach, &end);
  }
  if (overflow) return DamagedStateDict("a tensor's shape is impossible");
  return count == 0 ? 0 : end + 1;
}

at::ScalarType OfSize(int64_t bytes) {
  switch (bytes) {
    case 1:
      return at::kByte;
    case 2:
      return at::kShort;
    case 4:
      return at::kInt;
    default:
      return at::kLong;
  }
}

absl::StatusOr<NamedTensor> ReadTensor(const std::string& name,
                                       const TensorPlace& place,
                                       const StorageBytes& storage) {
  const int64_t width = BytesPerElement(place.dtype);
  GANDEM_ASSIGN_OR_RETURN(const SharedBytes bytes, storage(place));
  GANDEM_ASSIGN_OR_RETURN(const int64_t end, EndOf(place));
  if (end > static_cast<int64_t>(bytes.size()) / width) {
    return DamagedStateDict(absl::StrCat(name, " reaches out of its storage"));
  }
  if (end == 0) return NamedTensor{name, place.dtype, place.shape, {}};
  // Only moves elements, so any type of their size will do. from_blob wants a
  // mutable pointer; contiguous and clone only read it.
  const at::Tensor view = torch::from_blob(
      const_cast<std::byte*>(bytes.data()) + place.offset * width, place.shape,
      place.strides, OfSize(width));
  const at::Tensor rows = view.contiguous();
  return NamedTensor{
      name, place.dtype, place.shape,
      SharedBytes::Copy({static_cast<const std::byte*>(rows.const_data_ptr()),
                         static_cast<size_t>(rows.nbytes())})};
}

absl::StatusOr<std::vector<NamedTensor>> ReadTensors(
    const PickleReader& pickle, size_t root, const StorageBytes& storage) {
  const PickleValue& dict = pickle.value(root);
  if (dict.kind != PickleValue::Kind::kDict) {
    return absl::InvalidArgumentError(
        "it holds no dict: save the module's state_dict()");
  }
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& key = pickle.value(dict.items[i]);
    const PickleValue& value = pickle.value(dict.items[i + 1]);
    if (key.kind != PickleValue::Kind::kText ||
        value.kind != PickleValue::Kind::kTensor) {
      return absl::InvalidArgumentError(
          absl::StrCat("its entry '", key.text,
                       "' is no tensor: save the module's state_dict()"));
    }
    GANDEM_ASSIGN_OR_RETURN(NamedTensor tensor,
                            ReadTensor(key.text, value.tensor, storage));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

SharedBytes StateDictRecord(PyTorchStreamReader& archive,
                            const std::string& name) {
  auto [data, size] = archive.getRecord(name);
  auto owner = std::make_shared<at::DataPtr>(std::move(data));
  const auto* bytes = static_cast<const std::byte*>(owner->get());
  return SharedBytes(std::move(owner), {bytes, size});
}

absl::StatusOr<std::vector<NamedTensor>> ReadZip(const std::string& path) {
  PyTorchStreamReader archive(path);
  if (!archive.hasRecord("data.pkl")) {
    return absl::InvalidArgumentError(
        "a zip archive that torch.save() has not written");
  }
  if (archive.getRecordSize("data.pkl") > size_t{kMaxPickleBytes}) {
    return absl::InvalidArgumentError("its data.pkl has more than 64 MiB");
  }
  if (archive.hasRecord("byteorder")) {
    const SharedBytes order = StateDictRecord(archive, "byteorder");
    if (absl::string_view(reinterpret_cast<const char*>(order.data()),
                          order.size()) != "little") {
      return absl::InvalidArgumentError("written by a big-endian machine");
    }
  }
  const SharedBytes text = StateDictRecord(archive, "data.pkl");
  PickleReader pickle(text.span());
  GANDEM_ASSIGN_OR_RETURN(const size_t root, pickle.Read());
  std::map<std::string, SharedBytes> read;
  return ReadTensors(
      pickle, root,
      [&](const TensorPlace& place) -> absl::StatusOr<SharedBytes> {
        SharedBytes& bytes = read[place.storage];
        if (bytes.empty())
          bytes = StateDictRecord(archive, "data/" + place.storage);
        return bytes;
      });
}

// Magic number, protocol version, facts about the machine, the object, the
// storages' keys: five pickles. Then each storage: how many elements, 8 bytes,
// and the elements.
absl::StatusOr<std::vector<NamedTensor>> ReadPickles(
    std::span<const std::byte> file) {
  PickleReader pickle(file);
  for (int i = 0; i < 3; ++i) GANDEM_RETURN_IF_ERROR(pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const size_t root, pickle.Read());
  GANDEM_ASSIGN_OR_RETURN(const size_t keys, pickle.Read());
  std::map<std::string, DType> dtypes;
  for (const size_t item : pickle.value(root).items) {
    const PickleValue& value = pickle.value(item);
    if (value.kind == PickleValue::Kind::kTensor) {
      dtypes[value.tensor.storage] = value.tensor.dtype;
    }
  }
  std::map<std::string, SharedBytes> storages;
  std::span<const std::byte> rest = pickle.rest();
  for (const size_t item : pickle.value(keys).items) {
    const std::string& key = pickle.value(item).text;
    const auto dtype = dtypes.find(key);
    if (dtype == dtypes.end())
      return DamagedStateDict("a storage of no tensor");
    uint64_t count = 0;
    if (rest.size() < sizeof(count))
      return DamagedStateDict("it ends too early");
    std::memcpy(&count, rest.data(), sizeof(count));
    rest = rest.subspan(sizeof(count));
    const auto width = static_cast<uint64_t>(BytesPerElement(dtype->second));
    if (count > rest.size() / width)
      return DamagedStateDict("it ends too early");
    storages[key] = SharedBytes::Copy(rest.first(count * width));  // aligned
    rest = rest.subspan(count * width);
  }
  return ReadTensors(
      pickle, root,
      [&](const TensorPlace& place) -> absl::StatusOr<SharedBytes> {
        const auto found = storages.find(place.storage);
        if (found == storages.end())
          return DamagedStateDict("a storage is missing");
        return found->second;
      });
}

// Inlined, it makes g++ 12 believe that a std::string is uninitialized.
[[gnu::noinline]] bool BeginsWith(absl::string_view text,
                                  absl::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// LibTorch's complaints about an archive are about the file.
absl::Status AboutFile(const absl::Status& status, const std::string& path) {
  if (status.code() != absl::StatusCode::kInternal) {
    return Annotate(status, path);
  }
  return absl::DataLossError(
      absl::StrCat(path, ": damaged zip archive: ", status.message()));
}

}  // namespace

bool IsZip(absl::string_view prefix) {
  return BeginsWith(prefix, "PK\x03\x04");
}

bool IsPickleStream(absl::string_view prefix) {
  return BeginsWith(prefix, {kStateDictMagic, kMagicSize});
}

absl::StatusOr<bool> HoldsTorchScript(const std::string& path) {
  const auto result = CatchTorchOr([&]() -> absl::StatusOr<bool> {
    return PyTorchStreamReader(path).hasRecord("constants.pkl");
  });
  if (!result.ok()) return AboutFile(result.status(), path);
  return result;
}

absl::StatusOr<std::vector<NamedTensor>> ReadStateDict(
    const std::string& path) {
  auto tensors =
      CatchTorchOr([&]() -> absl::StatusOr<std::vector<NamedTensor>> {
        GANDEM_ASSIGN_OR_RETURN(const std::string prefix,
                                ReadPrefix(path, kMagicSize));
        if (IsZip(prefix)) return ReadZip(path);
        if (!IsPickleStream(prefix)) {
          return absl::InvalidArgumentError("torch.save() has not written it");
        }
        GANDEM_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
        return ReadPickles(std::as_bytes(std::span(file)));
      });
  if (!tensors.ok()) return AboutFile(tensors.status(), path);
  return tensors;
}

}  // namespace gandem
