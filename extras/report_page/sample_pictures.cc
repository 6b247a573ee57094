// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/sample_pictures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"

namespace gandem {
namespace {

// File names by round.
absl::StatusOr<std::map<int64_t, std::string>> ListPictures(
    const std::string& folder) {
  std::map<int64_t, std::string> names;
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                          ListDirectory(folder));
  for (const std::string& name : all) {
    absl::string_view digits = name;
    int64_t round = 0;
    if (absl::ConsumePrefix(&digits, "round-") &&
        absl::ConsumeSuffix(&digits, ".png") &&
        absl::SimpleAtoi(digits, &round) && round >= 0) {
      names[round] = name;
    }
  }
  return names;
}

}  // namespace

std::vector<int64_t> EvenlyOf(int64_t size, int64_t count) {
  std::vector<int64_t> chosen;
  count = std::min(size, count);
  for (int64_t i = 0; i < count; ++i) {
    chosen.push_back(count == 1 ? size - 1 : i * (size - 1) / (count - 1));
  }
  return chosen;
}

absl::StatusOr<SamplePictures> ReadSamplePictures(const std::string& folder) {
  SamplePictures result;
  if (!PathExists(folder)) return result;
  GANDEM_ASSIGN_OR_RETURN(const auto by_round, ListPictures(folder));
  const std::vector<std::pair<int64_t, std::string>> all(by_round.begin(),
                                                         by_round.end());
  const auto size = static_cast<int64_t>(all.size());
  const std::vector<int64_t> chosen = EvenlyOf(size, kMaxPictures);
  const auto most = std::max<int64_t>(
      1, kMaxPictureBytes / std::max<int64_t>(1, std::ssize(chosen)));
  for (const int64_t i : chosen) {
    const auto& [round, name] = all[i];
    const auto png = ReadFile(absl::StrCat(folder, "/", name), most);
    if (!png.ok() || ImageEnding(*png) != ".png") {
      result.notes.push_back(absl::StrCat(
          "left out: samples/", name, ": ",
          png.ok() ? "not a PNG file" : std::string(png.status().message())));
      continue;
    }
    result.pictures.push_back(
        {.round = round,
         .data_uri =
             absl::StrCat("data:image/png;base64,", absl::Base64Escape(*png))});
  }
  if (std::ssize(chosen) < size) {
    result.notes.push_back(absl::StrCat(chosen.size(), " of ", size,
                                        " grids of samples are shown"));
  }
  return result;
}

}  // namespace gandem
