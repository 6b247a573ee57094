// SPDX-License-Identifier: Apache-2.0
#include "training/state/state_dict_file.h"

#include <caffe2/serialize/inline_container.h>

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/state_dict_tensors.h"
#include "common/files/file.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

using caffe2::serialize::PyTorchStreamReader;

// Limit of data.pkl, which has about 100 bytes per tensor (chosen).
constexpr int64_t kMaxPickleBytes = 64 << 20;
constexpr size_t kPrefixBytes = 16;

// Reads records and rejects those that exceed the file's size. torch.save()
// does not compress records, so their total is at most the file's size. The
// limit keeps a forged file from requesting unlimited memory.
class RecordReader {
 public:
  RecordReader(PyTorchStreamReader& archive, int64_t file_bytes)
      : archive_(archive), left_(static_cast<size_t>(file_bytes)) {}

  absl::StatusOr<SharedBytes> Read(const std::string& name) {
    const size_t size = archive_.getRecordSize(name);
    if (size > left_) {
      return absl::InvalidArgumentError(
          "its records are compressed, or have more bytes than the file: "
          "write it with torch.save()");
    }
    left_ -= size;
    auto [data, read] = archive_.getRecord(name);
    auto owner = std::make_shared<at::DataPtr>(std::move(data));
    const auto* bytes = static_cast<const std::byte*>(owner->get());
    return SharedBytes(std::move(owner), {bytes, read});
  }

 private:
  PyTorchStreamReader& archive_;
  size_t left_;  // bytes of records that may still be read
};

absl::StatusOr<int64_t> BytesOfFile(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return FileError(error.value(), "cannot read", path);
  return static_cast<int64_t>(bytes);
}

absl::Status CheckZip(PyTorchStreamReader& archive, RecordReader& records) {
  if (!archive.hasRecord("data.pkl")) {
    return absl::InvalidArgumentError(
        "a zip archive that torch.save() has not written");
  }
  if (archive.getRecordSize("data.pkl") > size_t{kMaxPickleBytes}) {
    return absl::InvalidArgumentError("its data.pkl has more than 64 MiB");
  }
  if (archive.hasRecord("byteorder")) {
    GANDEM_ASSIGN_OR_RETURN(const SharedBytes order, records.Read("byteorder"));
    if (absl::string_view(reinterpret_cast<const char*>(order.data()),
                          order.size()) != "little") {
      return absl::InvalidArgumentError("written by a big-endian machine");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedTensor>> ReadZip(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const int64_t file_bytes, BytesOfFile(path));
  PyTorchStreamReader archive(path);
  RecordReader records(archive, file_bytes);
  GANDEM_RETURN_IF_ERROR(CheckZip(archive, records));
  GANDEM_ASSIGN_OR_RETURN(const SharedBytes text, records.Read("data.pkl"));
  const int64_t max_bytes = kMaxStateDictCopies * file_bytes;
  std::map<std::string, SharedBytes> read;
  return ParseStateDict(
      text.span(),
      [&](const TensorPlace& place) -> absl::StatusOr<SharedBytes> {
        const auto known = read.find(place.storage);
        if (known != read.end()) return known->second;
        GANDEM_ASSIGN_OR_RETURN(SharedBytes bytes,
                                records.Read("data/" + place.storage));
        return read[place.storage] = std::move(bytes);
      },
      max_bytes);
}

// Reports LibTorch's errors about an archive as damage of the file.
absl::Status AboutFile(const absl::Status& status, const std::string& path) {
  if (status.code() != absl::StatusCode::kInternal) {
    return Annotate(status, path);
  }
  return absl::DataLossError(
      absl::StrCat(path, ": damaged zip archive: ", status.message()));
}

}  // namespace

// If this is inlined, g++ 12 warns about an uninitialized std::string.
[[gnu::noinline]] bool IsZip(absl::string_view prefix) {
  constexpr absl::string_view kLocalSignature = "PK\x03\x04";
  return prefix.substr(0, kLocalSignature.size()) == kLocalSignature;
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
                                ReadPrefix(path, kPrefixBytes));
        if (IsZip(prefix)) return ReadZip(path);
        if (!IsPickleStream(prefix)) {
          return absl::InvalidArgumentError("torch.save() has not written it");
        }
        GANDEM_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
        return ParsePickleStream(std::as_bytes(std::span(file)));
      });
  if (!tensors.ok()) return AboutFile(tensors.status(), path);
  return tensors;
}

}  // namespace gandem
