// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/cifar_pickle.h"
#include "pipeline/formats/gzip.h"
#include "pipeline/formats/tar.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

constexpr int64_t kCifarSide = 32;
constexpr int64_t kCifarArea = kCifarSide * kCifarSide;
// The archives unpack to 180 MB.
constexpr int64_t kMaxCifarBytes = int64_t{1} << 30;

struct CifarVersion {
  absl::string_view folder;  // name of the unpacked folder
  absl::string_view name;
  std::array<absl::string_view, 5> files;  // training images; "": unused
  size_t label_bytes;  // per image, the last one is used; 0: a pickle
  bool has_ten_classes;
};

constexpr CifarVersion kCifarVersions[] = {
    {"cifar-10-batches-bin",
     "CIFAR-10, binary version",
     {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
      "data_batch_4.bin", "data_batch_5.bin"},
     1,
     true},
    {"cifar-10-batches-py",
     "CIFAR-10, Python version",
     {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
      "data_batch_5"},
     0,
     true},
    {"cifar-100-binary", "CIFAR-100, binary version", {"train.bin"}, 2, false},
    {"cifar-100-python", "CIFAR-100, Python version", {"train"}, 0, false},
};

constexpr const char* kTenClasses[] = {
    "airplane", "automobile", "bird",  "cat",  "deer",
    "dog",      "frog",       "horse", "ship", "truck"};

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

struct CifarFolder {
  const CifarVersion* version = nullptr;
  std::string path = {};
};

// Requires "meta" for CIFAR-100, since "train" alone may be anything.
bool HasVersion(const std::string& folder, const CifarVersion& version) {
  return IsFile(absl::StrCat(folder, "/", version.files[0])) &&
         (version.files[0] != "train" || IsFile(folder + "/meta"));
}

std::optional<CifarFolder> FindCifar(const std::string& path) {
  for (const CifarVersion& version : kCifarVersions) {
    for (const std::string& folder :
         {path, absl::StrCat(path, "/", version.folder)}) {
      if (HasVersion(folder, version)) {
        return CifarFolder{.version = &version, .path = folder};
      }
    }
  }
  return std::nullopt;
}

// Adds the labels of one file to `contents` and locates its images.
absl::StatusOr<ArrayPart> FindRecords(absl::string_view bytes,
                                      size_t label_bytes,
                                      ArrayContents& contents) {
  const size_t record_bytes = label_bytes + 3 * kCifarArea;
  if (bytes.empty() || bytes.size() % record_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", bytes.size(), " bytes, expected records of ",
                     record_bytes, "; get a fresh copy"));
  }
  for (size_t at = 0; at < bytes.size(); at += record_bytes) {
    contents.labels.push_back(
        static_cast<uint8_t>(bytes[at + label_bytes - 1]));
  }
  return ArrayPart{.offset = static_cast<int64_t>(label_bytes),
                   .stride = static_cast<int64_t>(record_bytes),
                   .images = static_cast<int64_t>(bytes.size() / record_bytes)};
}

// Adds the labels of a pickle to `contents` and locates its images: in the
// file, or in memory if they must be converted.
absl::StatusOr<ArrayPart> FindPickled(absl::string_view pickle,
                                      ArrayContents& contents) {
  GANDEM_ASSIGN_OR_RETURN(const CifarBatch batch, ParseCifarPickle(pickle));
  contents.labels.insert(contents.labels.end(), batch.labels.begin(),
                         batch.labels.end());
  ArrayPart part = {.stride = 3 * kCifarArea,
                    .images = std::ssize(batch.labels)};
  if (batch.decoded == nullptr) {
    part.offset = batch.pixels.data() - pickle.data();
  } else {
    part.memory = HeldBytes(std::string(batch.pixels));
  }
  return part;
}

// The content of a CIFAR file. `file` is null if it is only in memory.
struct CifarBytes {
  SharedBytes bytes;
  std::shared_ptr<const RandomAccessFile> file = nullptr;
};

absl::StatusOr<std::unique_ptr<ImageStore>> ReadCifar(
    const CifarVersion& version, const std::string& path,
    absl::FunctionRef<absl::StatusOr<CifarBytes>(absl::string_view)> read) {
  ArrayContents contents = {
      .kind = std::string(version.name),
      .path = path,
      .shape = {.channels = 3, .height = kCifarSide, .width = kCifarSide},
      .has_planes = true,
      .format = "CIFAR"};
  if (version.has_ten_classes) {
    contents.class_names.assign(std::begin(kTenClasses), std::end(kTenClasses));
  }
  for (const absl::string_view file : version.files) {
    if (file.empty()) break;
    GANDEM_ASSIGN_OR_RETURN(const CifarBytes held, read(file));
    const absl::string_view bytes(
        reinterpret_cast<const char*>(held.bytes.data()), held.bytes.size());
    absl::StatusOr<ArrayPart> part =
        version.label_bytes > 0
            ? FindRecords(bytes, version.label_bytes, contents)
            : FindPickled(bytes, contents);
    if (!part.ok()) {
      return Annotate(part.status(), absl::StrCat(path, ": ", file));
    }
    if (part->memory.empty()) {
      part->file = held.file;
      if (held.file == nullptr) part->memory = held.bytes;
    }
    contents.parts.push_back(*std::move(part));
  }
  return ImagesOfArray(std::move(contents));
}

absl::Status NoCifar(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path,
      "' is a compressed archive without CIFAR's files: unpack it and name the "
      "folder (images are read in any order, which gzip does not allow)"));
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifarArchive(
    const Location& at) {
  const std::string path = at.Shown();
  GANDEM_ASSIGN_OR_RETURN(const auto file, OpenFile(at.path));
  if (file->size() > kMaxCifarBytes) return NoCifar(path);
  GANDEM_ASSIGN_OR_RETURN(std::vector<uint8_t> unpacked,
                          Unpacked(*file, kMaxCifarBytes));
  const SharedBytes archive = HeldBytes(std::move(unpacked));
  GANDEM_ASSIGN_OR_RETURN(const TarListing listing,
                          ListTar(*FileInMemory(path, archive)));
  std::map<std::string, SharedBytes> members;
  for (const TarMember& member : listing.members) {
    members[member.name] = archive.Slice(static_cast<size_t>(member.offset),
                                         static_cast<size_t>(member.size));
  }
  for (const CifarVersion& version : kCifarVersions) {
    const auto name_of = [&](absl::string_view name) {
      return absl::StrCat(version.folder, "/", name);
    };
    if (!members.contains(name_of(version.files[0]))) continue;
    return ReadCifar(version, path,
                     [&](absl::string_view name) -> absl::StatusOr<CifarBytes> {
                       const auto found = members.find(name_of(name));
                       if (found != members.end())
                         return CifarBytes{found->second};
                       return absl::InvalidArgumentError(
                           absl::StrCat("'", path, "' lacks ", name_of(name)));
                     });
  }
  return NoCifar(path);
}

}  // namespace

bool LooksLikeCifar(const Location& at) {
  return at.is_folder ? FindCifar(at.path).has_value()
                      : at.HasEnding(".tar.gz") || at.HasEnding(".tgz");
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifar(const Location& at) {
  if (!at.is_folder) return OpenCifarArchive(at);
  const std::optional<CifarFolder> found = FindCifar(at.path);
  GANDEM_CHECK(found.has_value());
  return ReadCifar(
      *found->version, at.path,
      [&](absl::string_view name) -> absl::StatusOr<CifarBytes> {
        CifarBytes held;
        GANDEM_ASSIGN_OR_RETURN(
            held.file, OpenLocalFile(absl::StrCat(found->path, "/", name)));
        GANDEM_ASSIGN_OR_RETURN(
            std::string bytes,
            held.file->Read(0, std::min(held.file->size(), kMaxCifarBytes)));
        held.bytes = HeldBytes(std::move(bytes));
        return held;
      });
}

}  // namespace gandem
