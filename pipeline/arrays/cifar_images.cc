// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/cifar_pickle.h"
#include "pipeline/formats/gzip_file.h"
#include "pipeline/formats/tar.h"
#include "pipeline/random_access_file.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

constexpr int64_t kCifarSide = 32;
constexpr int64_t kCifarArea = kCifarSide * kCifarSide;
// The archives unpack to 180 MB.
constexpr int64_t kMaxCifarBytes = int64_t{1} << 30;
constexpr int64_t kUnpackedPiece = 1 << 20;

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

// Adds the labels of one file to `contents`, and says where its images lie.
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

// The same of a pickle. Where it has the pixels in another form the result has
// them in memory.
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
    part.memory = HoldBytes(std::string(batch.pixels));
  }
  return part;
}

// `read` gives the bytes of one of the version's files. They stay in memory
// unless they lie in `folder`, which is null for an archive.
absl::StatusOr<std::unique_ptr<ImageStore>> ReadCifar(
    const CifarVersion& version, const std::string& path,
    absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view)> read,
    const CifarFolder* folder) {
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
    GANDEM_ASSIGN_OR_RETURN(std::string bytes, read(file));
    absl::StatusOr<ArrayPart> part =
        version.label_bytes > 0
            ? FindRecords(bytes, version.label_bytes, contents)
            : FindPickled(bytes, contents);
    if (!part.ok()) {
      return Annotate(part.status(), absl::StrCat(path, ": ", file));
    }
    if (part->memory.empty() && folder != nullptr) {
      GANDEM_ASSIGN_OR_RETURN(
          part->file, OpenLocalFile(absl::StrCat(folder->path, "/", file)));
    } else if (part->memory.empty()) {
      part->memory = HoldBytes(std::move(bytes));
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

bool IsCifarName(absl::string_view name) {
  return std::ranges::any_of(kCifarVersions, [&](const CifarVersion& version) {
    return std::ranges::any_of(version.files, [&](absl::string_view file) {
      return !file.empty() && name == absl::StrCat(version.folder, "/", file);
    });
  });
}

// The files of CIFAR in a compressed archive, by name. It is unpacked piece by
// piece, so that another archive takes no memory.
absl::StatusOr<std::map<std::string, std::string>> ReadCifarMembers(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(GzipFile archive, GzipFile::Open(path_or_url));
  int64_t at = 0;
  std::vector<uint8_t> piece(kUnpackedPiece);
  const auto read = [&](int64_t offset,
                        int64_t size) -> absl::StatusOr<std::string> {
    if (offset > kMaxCifarBytes - size) return NoCifar(archive.name());
    std::string bytes;
    bytes.reserve(static_cast<size_t>(size));
    while (at < offset + size) {
      const int64_t end = at < offset ? offset : offset + size;
      const int64_t wanted = std::min(kUnpackedPiece, end - at);
      GANDEM_ASSIGN_OR_RETURN(const int64_t found,
                              archive.Read(std::span(piece).first(wanted)));
      if (found < wanted) {
        return absl::DataLossError(
            absl::StrCat("'", archive.name(), "': the tar archive in it ends ",
                         "early, at byte ", at + found));
      }
      if (at >= offset) bytes.append(piece.begin(), piece.begin() + wanted);
      at += wanted;
    }
    return bytes;
  };
  std::map<std::string, std::string> members;
  const auto keep = [&](const TarEntry& entry) -> absl::Status {
    absl::string_view name = entry.file.name;
    absl::ConsumePrefix(&name, "./");
    if (!IsCifarName(name)) return absl::OkStatus();
    GANDEM_ASSIGN_OR_RETURN(members[std::string(name)],
                            read(entry.file.offset, entry.file.size));
    return absl::OkStatus();
  };
  GANDEM_RETURN_IF_ERROR(
      ScanTar(archive.name(), INT64_MAX, read, keep).status());
  // The checksum of the compressed data is at their end.
  for (int64_t found = 1; found > 0 && at < kMaxCifarBytes; at += found) {
    GANDEM_ASSIGN_OR_RETURN(found, archive.Read(piece));
  }
  return members;
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifarArchive(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(auto members, ReadCifarMembers(path_or_url));
  const std::string path = ShownUrl(path_or_url);
  const auto name_of = [](const CifarVersion& version, absl::string_view file) {
    return absl::StrCat(version.folder, "/", file);
  };
  for (const CifarVersion& version : kCifarVersions) {
    if (!members.contains(name_of(version, version.files[0]))) continue;
    return ReadCifar(
        version, path,
        [&](absl::string_view file) -> absl::StatusOr<std::string> {
          const auto found = members.find(name_of(version, file));
          if (found == members.end()) {
            return absl::InvalidArgumentError(
                absl::StrCat("'", path, "' lacks ", name_of(version, file)));
          }
          return std::move(found->second);
        },
        /*folder=*/nullptr);
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
  return ReadCifar(
      *found->version, path,
      [&](absl::string_view file) {
        return ReadFile(absl::StrCat(found->path, "/", file), kMaxCifarBytes);
      },
      &*found);
}

}  // namespace gandem
