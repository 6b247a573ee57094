// SPDX-License-Identifier: Apache-2.0
//
// Labels of images by their names, from a file beside them:
//
//   dataset.json    StyleGAN: {"labels": [["00000/img00000000.png", 6], ...]}
//   labels.csv      lines NAME,LABEL
//   metadata.csv, metadata.jsonl
//                   Hugging Face's imagefolder: the fields file_name and label
//   0001.json       WebDataset: the field label, for one sample
//
// Texts are UTF-8; a byte order mark at their beginning is skipped. Names are
// relative to the folder of the file, and normal (member_name.h).
//
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT says in which line or row, and what was expected;
// also: one image has two labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// The labels as they are written, by the names of the images: whole numbers in
// [0, kMaxLabel], or names of classes. An image without a label is left out.
using LabelTexts = std::map<std::string, std::string>;

// Labels are numbers. With null or nothing in place of the list: empty.
absl::StatusOr<LabelTexts> ParseDatasetJson(absl::string_view text);

// A field may stand in double quotes (RFC 4180). The first line is a heading if
// no image has its name.
absl::StatusOr<LabelTexts> ParseLabelsCsv(absl::string_view text);

// Both are empty if there is no field `label`: it is about something else.
absl::StatusOr<LabelTexts> ParseMetadataCsv(absl::string_view text);
absl::StatusOr<LabelTexts> ParseMetadataJsonl(absl::string_view text);

// "": it has no field `label`.
absl::StatusOr<std::string> ParseSampleJson(absl::string_view text);

// Numbers of label texts. If all texts are whole numbers in [0, kMaxLabel],
// they stand for themselves. Otherwise they are names of classes, which are
// numbered in the order of their bytes. `are_names`: numbers are names, too.
class LabelNumbers {
 public:
  explicit LabelNumbers(std::vector<std::string> texts, bool are_names = false);

  // `text` is one of `texts`.
  int64_t NumberOf(const std::string& text) const;
  // The names of the classes from 0 on; empty: labels are numbers.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  std::vector<std::string> class_names_;  // sorted
};

}  // namespace gandem
