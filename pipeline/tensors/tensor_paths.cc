// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tensors/tensor_paths.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/in_parallel.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

constexpr absl::string_view kNpyEnding = ".npy";
constexpr absl::string_view kSampleWords[] = {"images", "latents", "waveforms",
                                              "samples", "data"};
constexpr absl::string_view kLabelsWord = "labels";
// Concurrent searches for the labels of remote shards.
constexpr int64_t kMostLabelLooks = 16;

bool IsNpyName(absl::string_view name) {
  return absl::EndsWithIgnoreCase(name, kNpyEnding);
}

bool IsTensorName(absl::string_view name) {
  return IsNpyName(name) || absl::EndsWithIgnoreCase(name, ".safetensors");
}

// Lists possible names of the labels of `name`, an .npy.
std::vector<std::string> LabelNamesOf(const std::string& name) {
  const size_t stem = name.size() - kNpyEnding.size();
  std::vector<std::string> names;
  for (const absl::string_view join : {"_", "-", "."}) {
    names.push_back(absl::StrCat(name.substr(0, stem), join, kLabelsWord,
                                 name.substr(stem)));
  }
  const size_t slash = name.rfind('/') + 1;  // 0: no slash
  for (const absl::string_view word : kSampleWords) {
    const size_t at = name.rfind(std::string(word));
    if (at == std::string::npos || at < slash) continue;
    names.push_back(absl::StrCat(name.substr(0, at), kLabelsWord,
                                 name.substr(at + word.size())));
  }
  return names;
}

// Returns a file of samples and its labels, if any. A signed URL is valid for
// one file only, so URLs with a query have none.
absl::StatusOr<TensorPaths> WithLabels(const std::string& path) {
  TensorPaths paths = {.samples = path};
  if (!IsNpyName(NamePart(path)) || NamePart(path).size() < path.size()) {
    return paths;
  }
  for (const std::string& labels : LabelNamesOf(path)) {
    GANDEM_ASSIGN_OR_RETURN(const bool found, FileExists(labels));
    if (!found) continue;
    paths.labels = labels;
    break;
  }
  return paths;
}

std::vector<TensorPaths> FindInTensorFolder(const std::string& folder) {
  const std::vector<std::string> names = NamesIn(folder, IsTensorName);
  const std::set<std::string> there(names.begin(), names.end());
  std::vector<TensorPaths> found;
  std::set<std::string> labels;
  for (const std::string& name : names) {
    TensorPaths paths = {.samples = absl::StrCat(folder, "/", name)};
    if (IsNpyName(name)) {
      for (const std::string& candidate : LabelNamesOf(name)) {
        if (!there.contains(candidate)) continue;
        paths.labels = absl::StrCat(folder, "/", candidate);
        labels.insert(paths.labels);
        break;
      }
    }
    found.push_back(std::move(paths));
  }
  std::erase_if(found, [&](const TensorPaths& paths) {
    return labels.contains(paths.samples);
  });
  return found;
}

}  // namespace

bool LooksLikeTensors(const Location& at) {
  if (!at.is_folder) return IsTensorName(at.name);
  // List only once: the folder may have a million files.
  bool has_images = false;
  bool has_tensors = false;
  NamesIn(at.path, [&](absl::string_view name) {
    has_images = has_images || IsImageName(name);
    has_tensors = has_tensors || IsTensorName(name);
    return false;
  });
  return has_tensors && !has_images;
}

absl::StatusOr<std::vector<TensorPaths>> FindTensorPaths(const Location& at) {
  if (at.is_folder) return FindInTensorFolder(at.path);
  return MakeInParallel<TensorPaths>(
      std::ssize(at.files), at.is_url ? kMostLabelLooks : 1,
      [&](int64_t i) { return WithLabels(at.files[i]); });
}

}  // namespace gandem
