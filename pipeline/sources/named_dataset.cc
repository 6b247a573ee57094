// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/named_dataset.h"

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"

namespace gandem {
namespace {

constexpr char kTrainPrefix[] = "train-";
constexpr char kTest[] = "t10k-";

// Returns the test file that belongs to the training file `path`; "": none.
std::string TestFileOf(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = file.filename().string();
  if (!absl::StartsWith(name, kTrainPrefix)) return "";
  const std::string test =
      file.parent_path() /
      absl::StrCat(kTest, name.substr(sizeof(kTrainPrefix) - 1));
  return PathExists(test) ? test : "";
}

absl::StatusOr<DataConfig> FromFolder(const std::string& folder) {
  DataConfig data;
  data.set_idx_images(PlainOrGzip(folder + "/train-images-idx3-ubyte"));
  data.set_idx_labels(PlainOrGzip(folder + "/train-labels-idx1-ubyte"));
  if (data.idx_images().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder,
                     ": expected train-images-idx3-ubyte or the same with .gz "
                     "there; name such a folder or a recipe"));
  }
  return data;
}

}  // namespace

absl::StatusOr<NamedDataset> FindDataset(const std::string& name) {
  NamedDataset result;
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) {
    GANDEM_ASSIGN_OR_RETURN(result.data, FromFolder(name));
  } else {
    GANDEM_ASSIGN_OR_RETURN(const RunConfig recipe, LoadRunConfig(name, {}));
    result.data = recipe.data();
  }
  result.test_images = TestFileOf(result.data.idx_images());
  result.test_labels = TestFileOf(result.data.idx_labels());
  if (result.test_labels.empty()) result.test_images.clear();
  return result;
}

}  // namespace gandem
