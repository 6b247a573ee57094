// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/cifar_pickle.h"
#include "pipeline/formats/gzip_file.h"
#include "pipeline/formats/tar.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/memory_images.h"

namespace gandem {
namespace {

constexpr int64_t kCifarSide = 32;
constexpr int64_t kCifarArea = kCifarSide * kCifarSide;
// The archives unpack to 180 MB.
constexpr int64_t kMaxCifarBytes = int64_t{1} << 30;

struct CifarVersion {
  absl::string_view folder;  // that the archive unpacks to
  absl::string_view name;
  std::array<absl::string_view, 5> files;  // of training images; "": no more
  size_t label_bytes;  // before each image, the last one counts; 0: a pickle
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

// "train" alone may be anything.
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

// A record's channels come one after the other; ours side by side.
void AddPixels(absl::string_view planes, std::vector<uint8_t>& pixels) {
  for (int64_t i = 0; i < kCifarArea; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      pixels.push_back(static_cast<uint8_t>(planes[c * kCifarArea + i]));
    }
  }
}

absl::Status AddRecords(absl::string_view bytes, size_t label_bytes,
                        MemoryContents& contents) {
  const size_t record_bytes = label_bytes + 3 * kCifarArea;
  if (bytes.empty() || bytes.size() % record_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", bytes.size(), " bytes, expected records of ",
                     record_bytes, "; get a fresh copy"));
  }
  for (; !bytes.empty(); bytes.remove_prefix(record_bytes)) {
    contents.labels.push_back(static_cast<uint8_t>(bytes[label_bytes - 1]));
    AddPixels(bytes.substr(label_bytes), contents.pixels);
  }
  return absl::OkStatus();
}

absl::Status AddPickle(absl::string_view bytes, MemoryContents& contents) {
  GANDEM_ASSIGN_OR_RETURN(const CifarBatch batch, ParseCifarPickle(bytes));
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    contents.labels.push_back(static_cast<uint8_t>(batch.labels[i]));
    AddPixels(absl::string_view(batch.pixels).substr(i * 3 * kCifarArea),
              contents.pixels);
  }
  return absl::OkStatus();
}

// `read` gives the bytes of one of the version's files.
template <typename ReadBytes>
absl::StatusOr<std::unique_ptr<ImageStore>> ReadCifar(
    const CifarVersion& version, const std::string& path, ReadBytes read) {
  MemoryContents contents = {
      .kind = std::string(version.name),
      .path = path,
      .shape = {.channels = 3, .height = kCifarSide, .width = kCifarSide},
      .format = "CIFAR"};
  if (version.has_ten_classes) {
    contents.class_names.assign(std::begin(kTenClasses), std::end(kTenClasses));
  }
  for (const absl::string_view file : version.files) {
    if (file.empty()) break;
    GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read(file));
    const absl::Status added =
        version.label_bytes > 0
            ? AddRecords(bytes, version.label_bytes, contents)
            : AddPickle(bytes, contents);
    if (!added.ok()) return Annotate(added, absl::StrCat(path, ": ", file));
  }
  return ImagesInMemory(std::move(contents));
}

absl::Status NoCifar(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path,
      "' is a compressed archive without CIFAR's files: unpack it and name the "
      "folder (images are read in any order, which gzip does not allow)"));
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifarArchive(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(std::string unpacked,
                          ReadGzip(path_or_url, kMaxCifarBytes));
  const std::string path = ShownUrl(path_or_url);
  const auto tar = FileInMemory(path, std::move(unpacked));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<TarMember> members, ListTar(*tar));
  const auto find = [&](absl::string_view folder, absl::string_view file) {
    const std::string name = absl::StrCat(folder, "/", file);
    const auto found =
        std::ranges::find_if(members, [&](const TarMember& member) {
          return member.name == name || member.name == "./" + name;
        });
    return found == members.end() ? nullptr : &*found;
  };
  for (const CifarVersion& version : kCifarVersions) {
    if (find(version.folder, version.files[0]) == nullptr) continue;
    return ReadCifar(
        version, path,
        [&](absl::string_view file) -> absl::StatusOr<std::string> {
          const TarMember* const member = find(version.folder, file);
          if (member == nullptr) {
            return absl::InvalidArgumentError(
                absl::StrCat("'", path, "' lacks ", version.folder, "/", file));
          }
          return tar->Read(member->offset, member->size);
        });
  }
  return NoCifar(path);
}

}  // namespace

bool LooksLikeCifar(const std::string& folder) {
  return FindCifar(folder).has_value();
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifar(const std::string& path) {
  const std::optional<CifarFolder> found = FindCifar(path);
  if (!found.has_value()) return OpenCifarArchive(path);
  return ReadCifar(*found->version, path, [&](absl::string_view file) {
    return ReadFile(absl::StrCat(found->path, "/", file), kMaxCifarBytes);
  });
}

}  // namespace gandem
