// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/location.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/status.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/remote_store.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxShards = 1'000'000;

absl::Status BadRange(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", ShownUrl(path),
      "': expected one range of numbers in braces, the smaller one "
      "first and as many digits as in the names, as in "
      "name-{000000..000009}.tar"));
}

// Returns NOT_FOUND unless some object's key begins with that of `url`.
absl::Status CheckRemoteFolder(const std::string& url) {
  GANDEM_ASSIGN_OR_RETURN(const Url parsed, ParseUrl(url));
  GANDEM_ASSIGN_OR_RETURN(const auto objects,
                          ProcessRemoteStore().List(parsed, /*most=*/1));
  if (!objects.empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("'", ShownUrl(url), "': no object's key begins with that"));
}

}  // namespace

bool Location::HasEnding(absl::string_view ending) const {
  return absl::EndsWithIgnoreCase(name, ending);
}

std::string Location::Shown() const { return ShownUrl(path); }

absl::StatusOr<Location> Locate(const std::string& path) {
  Location at = {.path = path,
                 .name = std::string(NamePart(path)),
                 .files = {path},
                 .is_url = IsUrl(path)};
  if (at.is_url) {
    at.is_folder = absl::EndsWith(at.name, "/");
    if (at.is_folder) {
      GANDEM_RETURN_IF_ERROR(CheckRemoteFolder(path));
      return at;
    }
    GANDEM_ASSIGN_OR_RETURN(at.files, ExpandShards(path));
  } else if (PathExists(path)) {
    GANDEM_RETURN_IF_ERROR(CheckIsFileOrFolder(path));
    std::error_code error;
    at.is_folder = fs::is_directory(path, error);
    if (at.is_folder) return at;
  } else if (absl::StrContains(path, '{')) {
    GANDEM_ASSIGN_OR_RETURN(at.files, ExpandShards(path));
  } else {
    return absl::NotFoundError(
        absl::StrCat("'", path, "': no such file or folder"));
  }
  GANDEM_ASSIGN_OR_RETURN(at.start,
                          ReadFileStart(at.files.front(), kStartBytes));
  return at;
}

absl::StatusOr<std::vector<std::string>> ExpandShards(const std::string& path) {
  const size_t open = path.find('{');
  if (open == std::string::npos) return std::vector<std::string>{path};
  const size_t close = path.find('}', open);
  const size_t dots = path.find("..", open);
  if (close == std::string::npos || dots > close ||
      path.find('{', open + 1) != std::string::npos) {
    return BadRange(path);
  }
  const std::string first_text = path.substr(open + 1, dots - open - 1);
  const std::string last_text = path.substr(dots + 2, close - dots - 2);
  int64_t first = 0;
  int64_t last = 0;
  if (!absl::SimpleAtoi(first_text, &first) ||
      !absl::SimpleAtoi(last_text, &last) || first < 0 || last < first ||
      last - first >= kMaxShards) {
    return BadRange(path);
  }
  std::vector<std::string> paths;
  for (int64_t number = first; number <= last; ++number) {
    paths.push_back(absl::StrCat(
        path.substr(0, open),
        absl::StrFormat("%0*d", static_cast<int>(first_text.size()), number),
        path.substr(close + 1)));
  }
  return paths;
}

std::vector<std::string> NamesIn(
    const std::string& folder,
    absl::FunctionRef<bool(absl::string_view name)> wanted) {
  std::vector<std::string> names;
  std::error_code error;
  const auto next = [&](fs::directory_iterator it) {
    const FileWait wait(folder);
    return it == fs::directory_iterator()
               ? fs::directory_iterator(folder, error)
               : it.increment(error);
  };
  for (auto it = next({}); !error && it != fs::directory_iterator();
       it = next(std::move(it))) {
    const std::string name = it->path().filename().string();
    if (name.front() != '.' && wanted(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gandem
