// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/pack_images.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/tar_index.h"
#include "pipeline/kernel_resampler.h"

namespace gandem {
namespace {

constexpr int64_t kMostPackShards = 1'000'000;  // six digits
// Images encoded at a time, per thread.
constexpr int64_t kPackAhead = 32;
constexpr int64_t kMaxRecordBytes = 1 << 20;
constexpr char kPackFormat[] = "gandem pack 1";
constexpr int64_t kMaxPackImages = int64_t{1} << 40;

std::string RecordName(const std::string& folder) {
  return folder + "/pack.json";
}

std::string ShardName(const std::string& folder, int64_t shard) {
  return absl::StrCat(folder, "/shard-", absl::StrFormat("%06d", shard),
                      ".tar");
}

absl::string_view StemOf(absl::string_view name) {
  return name.substr(0, name.rfind('.'));
}

struct EncodedImage {
  std::string bytes;
  std::string ending;  // ".png"
};

absl::StatusOr<EncodedImage> EncodeForPack(const ImageStore& source,
                                           const PackOptions& options,
                                           int64_t index) {
  GANDEM_ASSIGN_OR_RETURN(std::string stored, source.Fetch(index));
  const absl::string_view ending = ImageEnding(stored);
  if (options.resize == 0 && !ending.empty()) {
    return EncodedImage{.bytes = std::move(stored),
                        .ending = std::string(ending)};
  }
  GANDEM_ASSIGN_OR_RETURN(DecodedImage decoded, source.Decode(index, stored));
  PixelImage image = std::move(decoded.pixels);
  if (options.resize > 0) {
    if (options.crop) image = CropSquare(image, std::nullopt);
    image = KernelResampler(ResizeKernel::kBicubic, image.height, image.width,
                            options.resize, options.resize)
                .Apply(image);
  }
  EncodedImage encoded = {.bytes = "", .ending = ".png"};
  GANDEM_ASSIGN_OR_RETURN(encoded.bytes, EncodePng(image));
  return encoded;
}

// Encodes the images from `first` on in several threads; returns them in order.
class EncodedImages {
 public:
  EncodedImages(const ImageStore& source, const PackOptions& options,
                int64_t first)
      : source_(source), options_(options), next_(first) {}

  // Returns the next image, which stays valid until Pop.
  const absl::StatusOr<EncodedImage>& Front() {
    if (ready_.empty()) MakeSome();
    return ready_.front();
  }
  void Pop() { ready_.pop_front(); }

 private:
  void MakeSome() {
    const int64_t count =
        std::min(kPackAhead * options_.num_threads, source_.size() - next_);
    ready_.resize(static_cast<size_t>(count));
    std::atomic<int64_t> taken = 0;
    std::vector<Thread> threads;
    for (int t = 0; t < options_.num_threads; ++t) {
      threads.emplace_back("pack", [&] {
        for (int64_t i = taken++; i < count; i = taken++) {
          ready_[i] = EncodeForPack(source_, options_, next_ + i);
        }
      });
    }
    threads.clear();  // joins
    next_ += count;
  }

  const ImageStore& source_;
  const PackOptions& options_;
  int64_t next_;
  std::deque<absl::StatusOr<EncodedImage>> ready_;
};

class Packer {
 public:
  Packer(const ImageStore& source, const PackOptions& options,
         const std::function<absl::Status(int64_t)>& progress)
      : source_(source), options_(options), progress_(progress) {}

  absl::StatusOr<PackedImages> Run() {
    GANDEM_RETURN_IF_ERROR(Begin());
    PackedImages packed = {.images = source_.size()};
    int64_t done = 0;
    while (done < source_.size()) {
      const int64_t kept =
          ImagesOfShard(ShardName(options_.folder, packed.shards), done);
      if (kept == 0) break;
      done += kept;
      ++packed.shards;
      GANDEM_RETURN_IF_ERROR(progress_(done));
    }
    packed.kept_shards = packed.shards;
    EncodedImages images(source_, options_, done);
    while (done < source_.size()) {
      if (packed.shards == kMostPackShards) return TooManyShards();
      GANDEM_RETURN_IF_ERROR(
          WriteShard(ShardName(options_.folder, packed.shards), images, done));
      ++packed.shards;
    }
    record_.shards = packed.shards;
    GANDEM_RETURN_IF_ERROR(WriteFileDurably(RecordName(options_.folder),
                                            FormatPackRecord(record_)));
    return packed;
  }

 private:
  static std::string NameOf(int64_t image) {
    return absl::StrFormat("%09d", image);
  }

  // Records the source in the folder, before the first shard is written.
  absl::Status Begin() {
    GANDEM_ASSIGN_OR_RETURN(const std::string fingerprint,
                            source_.Fingerprint());
    record_ = {.settings = absl::StrCat(
                   "source ", fingerprint, ", shard_bytes ",
                   options_.shard_bytes, ", resize ", options_.resize,
                   options_.resize > 0 && !options_.crop ? ", crop NONE" : ""),
               .images = source_.size()};
    const std::string path = RecordName(options_.folder);
    if (PathExists(path)) return CheckRecord(path);
    GANDEM_RETURN_IF_ERROR(CreateDirectories(options_.folder));
    GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            ListDirectory(options_.folder));
    if (!names.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", options_.folder, "' is not empty ('", names.front(),
          "'), and nothing was packed into it: name another folder"));
    }
    return WriteFileDurably(path, FormatPackRecord(record_));
  }

  absl::Status CheckRecord(const std::string& path) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(path, kMaxRecordBytes));
    const std::optional<PackRecord> found = ParsePackRecord(text);
    if (found.has_value() && found->settings == record_.settings &&
        found->images == record_.images) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "'", options_.folder, "' holds another pack (",
        found.has_value() ? found->settings : "its pack.json is damaged",
        "; now ", record_.settings,
        "): name another folder, or remove that one"));
  }

  // Returns the number of images in a complete shard that begins with image
  // `first`; 0 if there is none.
  int64_t ImagesOfShard(const std::string& path, int64_t first) const {
    const auto file = OpenLocalFile(path);
    if (!file.ok()) return 0;
    const auto index = ReadTarIndex(**file);
    if (!index.ok() || !index->has_value()) return 0;
    const std::vector<IndexedFile>& files = (*index)->files;
    if (std::ssize(files) > source_.size() - first ||
        (*index)->class_names != source_.class_names()) {
      return 0;
    }
    for (int64_t i = 0; i < std::ssize(files); ++i) {
      if (StemOf(files[i].name) != absl::string_view(NameOf(first + i)) ||
          files[i].label != source_.LabelOf(first + i)) {
        return 0;
      }
    }
    return std::ssize(files);
  }

  absl::Status Add(int64_t index, const EncodedImage& image, TarWriter& tar,
                   std::vector<IndexedFile>& files) const {
    const std::string name = NameOf(index);
    const int64_t label = source_.LabelOf(index);
    if (label != kNoLabel) {
      GANDEM_RETURN_IF_ERROR(tar.Add(name + ".cls", absl::StrCat(label, "\n")));
    }
    const int64_t offset = tar.written().size + kTarBlockBytes;
    GANDEM_RETURN_IF_ERROR(tar.Add(name + image.ending, image.bytes));
    files.push_back({.name = name + image.ending,
                     .offset = offset,
                     .size = std::ssize(image.bytes),
                     .crc32c = TextCrc32c(image.bytes),
                     .label = label});
    return absl::OkStatus();
  }

  // Adds the images that fit into the shard; increases `done` by them.
  absl::Status FillShard(EncodedImages& images, TarWriter& tar,
                         std::vector<IndexedFile>& files, int64_t& done) {
    int64_t bytes = 0;
    while (done < source_.size()) {
      const absl::StatusOr<EncodedImage>& image = images.Front();
      GANDEM_RETURN_IF_ERROR(image);
      bytes += std::ssize(image->bytes);
      if (!files.empty() && bytes > options_.shard_bytes) break;
      GANDEM_RETURN_IF_ERROR(Add(done, *image, tar, files));
      images.Pop();
      GANDEM_RETURN_IF_ERROR(progress_(++done));
    }
    return absl::OkStatus();
  }

  absl::Status WriteShard(const std::string& path, EncodedImages& images,
                          int64_t& done) {
    const std::string unfinished = path + ".tmp";
    const auto write = [&]() -> absl::Status {
      GANDEM_ASSIGN_OR_RETURN(TarWriter tar, TarWriter::Create(unfinished));
      TarIndex index = {.class_names = source_.class_names()};
      GANDEM_RETURN_IF_ERROR(FillShard(images, tar, index.files, done));
      GANDEM_RETURN_IF_ERROR(AddTarIndex(index, tar));
      GANDEM_RETURN_IF_ERROR(tar.Finish());
      return RenameDurably(unfinished, path);
    };
    const absl::Status written = write();
    // The write error is more informative than one of the removal.
    if (!written.ok()) RemoveAll(unfinished).IgnoreError();
    return written;
  }

  absl::Status TooManyShards() const {
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard_bytes ", options_.shard_bytes, " makes more than ",
        kMostPackShards, " shards: give a larger one"));
  }

  const ImageStore& source_;
  const PackOptions& options_;
  const std::function<absl::Status(int64_t)>& progress_;
  PackRecord record_;
};

}  // namespace

std::string FormatPackRecord(const PackRecord& record) {
  const nlohmann::ordered_json json = {{"format", kPackFormat},
                                       {"settings", record.settings},
                                       {"images", record.images},
                                       {"shards", record.shards}};
  return json.dump(1) + "\n";
}

std::optional<PackRecord> ParsePackRecord(absl::string_view text) {
  using Type = nlohmann::json::value_t;
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto has = [&](const char* key, Type type) {
    const auto found = json.find(key);
    return found != json.end() && found->type() == type;
  };
  if (!has("format", Type::string) || json["format"] != kPackFormat ||
      !has("settings", Type::string) || !has("images", Type::number_unsigned) ||
      !has("shards", Type::number_unsigned)) {
    return std::nullopt;
  }
  const PackRecord record = {.settings = json["settings"].get<std::string>(),
                             .images = json["images"].get<int64_t>(),
                             .shards = json["shards"].get<int64_t>()};
  if (record.images < 1 || record.images > kMaxPackImages ||
      record.shards < 0 || record.shards > kMostPackShards) {
    return std::nullopt;
  }
  return record;
}

absl::StatusOr<PackedImages> PackImages(
    const ImageStore& source, const PackOptions& options,
    const std::function<absl::Status(int64_t done)>& progress) {
  if (source.tensors().has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", source.NameOf(0),
                     "' is a tensor, and images are packed: tensors are read "
                     "as they are, in shards"));
  }
  return Packer(source, options, progress).Run();
}

bool IsPackedFolder(const std::string& path) {
  return PathExists(RecordName(path));
}

absl::StatusOr<std::string> ShardsOfFolder(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(RecordName(path), kMaxRecordBytes));
  const std::optional<PackRecord> record = ParsePackRecord(text);
  if (!record.has_value()) {
    return absl::DataLossError(absl::StrCat(
        "'", RecordName(path), "' is not what `gandem dataset pack` writes: ",
        "pack the images again, into another folder"));
  }
  if (record->shards == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path, "' is not packed completely: give the same `gandem dataset ",
        "pack` again, it goes on where it was"));
  }
  return absl::StrCat(path, "/shard-{000000..",
                      absl::StrFormat("%06d", record->shards - 1), "}.tar");
}

}  // namespace gandem
