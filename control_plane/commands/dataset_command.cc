// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/dataset_command.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/files/printable.h"
#include "common/process/exit_code.h"
#include "common/process/machine.h"
#include "common/process/signals.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "pipeline/formats/exclude_list.h"
#include "pipeline/interruptible_reads.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/pack_images.h"
#include "pipeline/sources/resolve_data.h"
#include "pipeline/sources/survey.h"
#include "pipeline/tensor_samples.h"

namespace gandem {
namespace {

constexpr int64_t kShownImages = 64;
constexpr int64_t kShownSurvey = 4096;  // images that `show` reads
constexpr int64_t kProgressEvery = 64;  // images

using Counts = std::vector<std::pair<std::string, int64_t>>;

Counts CountsOf(const std::map<std::string, int64_t>& counts) {
  return {counts.begin(), counts.end()};
}

std::string ClassesText(const ImageStore& store) {
  Counts classes;
  for (int64_t i = 0; i < store.size(); ++i) {
    const int64_t label = store.LabelOf(i);
    if (label == kNoLabel) return "none";
    while (std::ssize(classes) <= label) {
      const auto number = std::ssize(classes);
      classes.emplace_back(number < std::ssize(store.class_names())
                               ? store.class_names()[number]
                               : absl::StrCat(number),
                           0);
    }
    ++classes[label].second;
  }
  return absl::StrCat(classes.size(), ": ", CountsText(classes));
}

std::string SeenText(const DataConfig& data, const ImageStore& store) {
  if (store.tensors().has_value()) {
    return absl::StrCat(TensorShapeText(store.tensors()->shape),
                        " as they are stored, times ", data.tensor_scale(),
                        data.horizontal_flip() ? ", mirrored at random" : "");
  }
  const std::string text =
      absl::StrCat(data.image_size(), " x ", data.image_size(),
                   data.channels() == 1 ? ", gray, " : ", RGB, ");
  if (data.fit() == PAD) return absl::StrCat(text, "padded with black");
  return absl::StrCat(
      text, "crop ", absl::AsciiStrToLower(DataConfig::Crop_Name(data.crop())),
      ", kernel ",
      absl::AsciiStrToLower(DataConfig::Kernel_Name(data.resize())),
      data.horizontal_flip() ? ", mirrored at random" : "");
}

// Progress bar on one line of a terminal; prints nothing to other outputs.
class SurveyProgress {
 public:
  SurveyProgress(int64_t total, std::ostream& err)
      : total_(total), shown_(isatty(STDERR_FILENO) == 1), err_(err) {}
  ~SurveyProgress() {
    if (shown_) err_ << "\r\033[K" << std::flush;
  }

  void Show(int64_t done) const {
    if (!shown_ || total_ == 0) return;
    constexpr int kWidth = 32;
    const auto filled = static_cast<size_t>(kWidth * done / total_);
    err_ << "\r[" << std::string(filled, '#')
         << std::string(kWidth - filled, '.') << "] " << done << " of "
         << total_ << " images" << std::flush;
  }

 private:
  const int64_t total_;
  const bool shown_;
  std::ostream& err_;
};

Survey SurveyWithProgress(const ImageStore& store, int64_t most,
                          std::ostream& err) {
  const std::vector<int64_t> images = SpreadPlaces(store.size(), most);
  const SurveyProgress progress(std::ssize(images), err);
  return SurveyImages(store, images, UsableCores(),
                      [&](int64_t done) { progress.Show(done); });
}

// Returns the recipe's data section, or defaults, with options.source alone.
absl::StatusOr<DataConfig> DataOf(const DatasetOptions& options) {
  DataConfig data;
  if (!options.recipe.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const RunConfig recipe,
                            LoadRunConfig(options.recipe, {}));
    data = recipe.data();
  } else {
    data.set_image_size(options.image_size);
  }
  data.set_idx_images("");
  data.set_idx_labels("");
  data.set_idx_inputs("");
  data.set_num_classes(0);
  data.set_source(options.source);
  data.clear_listing_sha256();
  if (!options.member.empty()) data.set_member(options.member);
  if (!options.exclude.empty()) {
    data.set_exclude(options.exclude);
    data.clear_exclude_sha256();
  }
  return data;
}

// Keeps the stored shape and scale of tensors.
void TakeAsStored(const ImageStore& store, DataConfig& data) {
  data.set_image_size(store.tensors()->shape.height);
  data.set_tensor_scale(1);
}

// Escapes control characters for a terminal.
std::string Shown(absl::string_view text) {
  return Printable(text, std::numeric_limits<int>::max());
}

// Returns the reason without the image's name, which has the source's path.
std::string ReasonAlone(const ImageStore& store, const UnreadableImage& image) {
  absl::string_view reason = image.reason;
  absl::ConsumePrefix(&reason, absl::StrCat(store.NameOf(image.index), ": "));
  return std::string(reason);
}

absl::Status WriteExcludeList(const std::string& path, const ImageStore& store,
                              const std::vector<UnreadableImage>& unreadable) {
  std::vector<ExcludedImage> images;
  for (const UnreadableImage& image : unreadable) {
    if (!image.is_content) {
      return absl::UnavailableError(absl::StrCat(
          "no list was written: ", image.reason,
          "; the image itself may be intact. Lists contain damaged images "
          "only: try again"));
    }
    images.push_back(
        {.key = store.KeyOf(image.index), .reason = ReasonAlone(store, image)});
  }
  return WriteFileDurably(path, FormatExcludeList(std::move(images)));
}

// Packs until all images are done or a signal arrives.
absl::StatusOr<PackedImages> PackWithProgress(const ImageStore& store,
                                              const DatasetOptions& options,
                                              std::ostream& err) {
  std::atomic<bool> stop = false;
  const SignalThread signals(SignalsToHear({SIGINT, SIGTERM}),
                             [&stop](int /*signal*/) { stop = true; });
  const SurveyProgress progress(store.size(), err);
  return PackImages(
      store,
      {.folder = options.output,
       .shard_bytes = options.shard_bytes,
       .resize = options.resize,
       .crop = options.crop == "CENTER",
       .num_threads = UsableCores()},
      [&](int64_t done) -> absl::Status {
        if (done % kProgressEvery == 0) progress.Show(done);
        if (!stop) return absl::OkStatus();
        return absl::CancelledError(absl::StrCat(
            "interrupted at ", done, " of ", store.size(), " images"));
      });
}

// Adds advice on the next step to the error of a failed `pack`.
absl::Status WithWayOn(const absl::Status& status,
                       const DatasetOptions& options) {
  std::string way;
  if (absl::IsCancelled(status) || absl::IsResourceExhausted(status)) {
    way = absl::StrCat("; the shards that are finished stay in '",
                       options.output, "', the same command resumes");
  } else if (IsUnreadable(status)) {
    way = absl::StrCat("; `gandem dataset verify '", ShownUrl(options.source),
                       "' --exclude bad.txt` lists all such images, and ",
                       "--exclude bad.txt leaves them out here");
  }
  return absl::Status(status.code(), absl::StrCat(status.message(), way));
}

void SayUnused(const ImageStore& store, std::ostream& out) {
  const std::string text = UnusedText(store.info().unused);
  if (!text.empty()) out << Shown(text) << "\n";
}

void SayIfTooMany(int64_t left_out, int64_t images, double most,
                  std::ostream& out) {
  if (static_cast<double>(left_out) <= most * static_cast<double>(images)) {
    return;
  }
  out << "that leaves out more than data.max_excluded, a share of " << most
      << ": inspect these images, and raise it if training can do without "
         "them\n";
}

// Draws a grid of tensors of any shape, scaled down to magnitudes up to 1.
absl::StatusOr<PixelImage> TensorSheet(const ImageStore& store) {
  const StoredFormat format = *store.tensors();
  const auto sample_values = static_cast<size_t>(format.shape.NumValues());
  std::vector<float> values;
  float most = 0;
  for (const int64_t i : SpreadPlaces(store.size(), kShownImages)) {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, store.Fetch(i));
    values.resize(values.size() + sample_values);
    most = std::max(most, ReadTensor(stored, format.dtype, /*scale=*/1,
                                     std::span(values).last(sample_values)));
  }
  for (float& value : values) value /= std::max(most, 1.0f);
  return TileImages(values, format.shape,
                    /*columns=*/format.shape.height == 1 ? 1 : 0);
}

absl::StatusOr<PixelImage> ContactSheet(const OpenedData& opened,
                                        const DataConfig& data) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          DatasetOf(opened, data));
  const auto image_values = static_cast<size_t>(dataset->shape().NumValues());
  std::vector<float> values;
  for (const int64_t i : SpreadPlaces(dataset->size(), kShownImages)) {
    values.resize(values.size() + image_values);
    GANDEM_RETURN_IF_ERROR(
        dataset->Read(i, std::span(values).last(image_values)));
  }
  return TileImages(values, dataset->shape());
}

}  // namespace

// Rejects output in the folder of the images: it would join the dataset.
absl::Status CheckOutput(const DatasetOptions& options) {
  if (IsUrl(options.source)) return absl::OkStatus();
  std::error_code error;
  const auto source = std::filesystem::canonical(options.source, error);
  if (error || !std::filesystem::is_directory(source, error)) {
    return absl::OkStatus();
  }
  const auto inside = std::filesystem::weakly_canonical(options.output, error)
                          .lexically_relative(source);
  if (error || inside.empty() || *inside.begin() == "..") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", options.output, "' would be among the images of '",
                   options.source, "': choose another place by -o"));
}

absl::Status ShowDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err) {
  GANDEM_RETURN_IF_ERROR(CheckOutput(options));
  GANDEM_ASSIGN_OR_RETURN(DataConfig data, DataOf(options));
  const double most_excluded = data.max_excluded();
  data.set_max_excluded(1);  // `show` accepts any number of exclusions
  GANDEM_ASSIGN_OR_RETURN(const OpenedData opened, OpenData(data));
  const std::shared_ptr<const ImageStore>& store = opened.images;
  if (store->tensors().has_value() && options.recipe.empty()) {
    TakeAsStored(*store, data);
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string description,
                          ResolveAndDescribe(*store, data));
  const Survey survey = SurveyWithProgress(*store, kShownSurvey, err);
  out << "data: " << Shown(description) << "\n";
  SayIfTooMany(store->info().left_out, store->size() + store->info().left_out,
               most_excluded, out);
  if (survey.num_images < store->size()) {
    out << "looked at " << survey.num_images << " of them, evenly spread:\n";
  }
  out << "stored as: " << CountsText(CountsOf(survey.kinds)) << "\n"
      << "sizes: " << CountsText(CountsOf(survey.sizes)) << "\n"
      << "classes: " << Shown(ClassesText(*store)) << "\n"
      << "training sees: " << SeenText(data, *store) << "\n";
  if (!survey.unreadable.empty()) {
    out << survey.unreadable.size() << " cannot be read, such as "
        << Shown(survey.unreadable.front().reason)
        << "; `gandem dataset verify` lists all of them\n";
  }
  GANDEM_ASSIGN_OR_RETURN(const PixelImage sheet,
                          store->tensors().has_value()
                              ? TensorSheet(*store)
                              : ContactSheet(opened, data));
  GANDEM_RETURN_IF_ERROR(WritePng(options.output, sheet));
  out << "some images: " << options.output << "\n";
  return absl::OkStatus();
}

absl::StatusOr<int> VerifyDataset(const DatasetOptions& options,
                                  std::ostream& out, std::ostream& err) {
  if (!options.exclude.empty() && PathExists(options.exclude)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.exclude, "' is there already and is not ",
                     "overwritten: name another file, or remove it"));
  }
  OpenedSource opened = [&] {
    // The time limit applies to opening the source, not to reading all images.
    const FilePatience patience("gandem dataset");
    return OpenSource(options.source, {.member = options.member});
  }();
  GANDEM_ASSIGN_OR_RETURN(const auto store, std::move(opened));
  const Survey survey = SurveyWithProgress(*store, store->size(), err);
  for (const UnreadableImage& image : survey.unreadable) {
    out << Shown(image.reason) << "\n";
  }
  const auto count = survey.unreadable.size();
  if (count == 0) {
    out << "all " << survey.num_images << " images can be read\n";
  } else {
    out << count << " of " << survey.num_images << " images cannot be read\n";
  }
  SayUnused(*store, out);
  if (count == 0) return kExitOk;
  if (options.exclude.empty()) return kExitUsage;
  GANDEM_RETURN_IF_ERROR(
      WriteExcludeList(options.exclude, *store, survey.unreadable));
  out << "written: " << options.exclude
      << "; `gandem train` leaves them out by --set data.exclude="
      << options.exclude << "\n";
  SayIfTooMany(static_cast<int64_t>(count), survey.num_images,
               DataConfig().max_excluded(), out);
  return kExitOk;
}

absl::StatusOr<std::shared_ptr<const ImageStore>> OpenToPack(
    const DatasetOptions& options) {
  const FilePatience patience("gandem dataset");
  DataConfig data;
  data.set_source(options.source);
  data.set_member(options.member);
  data.set_exclude(options.exclude);
  data.set_max_excluded(1);  // `pack` accepts any number of exclusions
  return OpenImages(data);
}

absl::Status PackDataset(const DatasetOptions& options, std::ostream& out,
                         std::ostream& err) {
  absl::StatusOr<std::shared_ptr<const ImageStore>> opened = [&] {
    const InterruptibleReads reads;
    auto found = OpenToPack(options);
    const absl::Status explained = reads.Explain(found.status());
    return explained.ok() ? std::move(found) : explained;
  }();
  GANDEM_ASSIGN_OR_RETURN(const auto store, std::move(opened));
  const auto packed = PackWithProgress(*store, options, err);
  if (!packed.ok()) return WithWayOn(packed.status(), options);
  GANDEM_ASSIGN_OR_RETURN(const std::string shards,
                          ShardsOfFolder(options.output));
  SayUnused(*store, out);
  out << "packed " << packed->images << " images, "
      << (store->info().left_out > 0
              ? absl::StrCat(store->info().left_out, " left out, ")
              : "")
      << packed->shards << (packed->shards == 1 ? " shard" : " shards");
  if (packed->kept_shards > 0) {
    out << ", of which " << packed->kept_shards << " were there";
  }
  out << ": " << options.output << "\n"
      << "`gandem train` takes it by --data " << options.output << " (or '"
      << shards << "')\n";
  return absl::OkStatus();
}

}  // namespace gandem
