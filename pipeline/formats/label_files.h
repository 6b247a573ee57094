// SPDX-License-Identifier: Apache-2.0
//
// Labels of images by name, from a file beside the images:
//
//   dataset.json    StyleGAN: {"labels": [["00000/img00000000.png", 6], ...]}
//   labels.csv      lines NAME,LABEL
//   metadata.csv, metadata.jsonl
//                   Hugging Face's imagefolder: the fields file_name and label
//   0001.json       WebDataset: the field label, for one sample
//
// Texts are UTF-8; a leading byte order mark is skipped. Names are relative to
// the file's folder and normalized (member_name.h).
//
// Thread safety: pure functions. Errors: INVALID_ARGUMENT names the line or row
// and the expected content. One image with two labels is an error, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Labels as written, by image name: integers in [0, kMaxLabel], or class names.
// Images without a label are absent.
using LabelTexts = std::map<std::string, std::string>;

// Requires numeric labels. Returns an empty map if the list is null or missing.
absl::StatusOr<LabelTexts> ParseDatasetJson(absl::string_view text);

// Fields may be double-quoted (RFC 4180). The first line is a heading if no
// image has its name.
absl::StatusOr<LabelTexts> ParseLabelsCsv(absl::string_view text);

// Return an empty map if there is no field `label`.
absl::StatusOr<LabelTexts> ParseMetadataCsv(absl::string_view text);
absl::StatusOr<LabelTexts> ParseMetadataJsonl(absl::string_view text);

// Returns "" if there is no field `label`.
absl::StatusOr<std::string> ParseSampleJson(absl::string_view text);

// Maps label texts to numbers: integers in [0, kMaxLabel] to themselves, if all
// texts are; otherwise, or with `are_names`, class names in byte order.
class LabelNumbers {
 public:
  explicit LabelNumbers(std::vector<std::string> texts, bool are_names = false);

  // `text` must be one of `texts`.
  int64_t NumberOf(const std::string& text) const;
  // Names of classes 0, 1, ...; empty: labels are numbers.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  std::vector<std::string> class_names_;  // sorted
};

}  // namespace gandem
