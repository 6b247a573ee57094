// SPDX-License-Identifier: Apache-2.0
//
// Labels of images by their names, from a file beside them: StyleGAN's
// dataset.json, or a labels.csv of lines NAME,LABEL.
//
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT says in which line or row, and what was expected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct ImageLabels {
  std::map<std::string, int64_t> by_name;  // none negative
  // Of the labels from 0 on, where the file has names in place of numbers.
  std::vector<std::string> class_names = {};
};

// {"labels": [["00000/img00000000.png", 6], ...]}; with null or nothing there
// are no labels.
absl::StatusOr<ImageLabels> ParseDatasetJson(absl::string_view text);

// Labels are whole numbers, or else names, whose numbers are their places in
// the order of their bytes. A field may stand in double quotes. The first line
// is a heading if no image has its name.
absl::StatusOr<ImageLabels> ParseLabelsCsv(absl::string_view text);

}  // namespace gandem
