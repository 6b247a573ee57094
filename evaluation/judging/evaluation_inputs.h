// SPDX-License-Identifier: Apache-2.0
//
// From what a user writes to what an evaluation reads: a run, a checkpoint or
// files to judge, a reference to judge them by, a network to see them with.
//
// Owner: values. Thread safety: one compute thread.
// Errors: NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION: each says what
// would be accepted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/images/sample_noise.h"
#include "evaluation/images/standing_statistics.h"
#include "evaluation/metrics/statistics_file.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// What is judged.
struct SubjectRequest {
  // Run folder, checkpoint folder, images, or a statistics file.
  std::string source;
  std::optional<int64_t> checkpoint = {};  // step; runs only
  std::optional<uint64_t> seed = {};       // none: that of the run
  NoiseOptions noise = {};
  StandingOptions standing = {};
  // Of the generator and of the network of features.
  std::string device = {};
};

struct Subject {
  ImagesSpec images;  // none where there are statistics
  std::optional<FeatureStatistics> statistics = {};
  // Where cards and the work go unless the user says otherwise.
  std::string output;
  // The folder of the run; empty: the images belong to no run.
  std::string tensorboard;
  // What identifies the weights, from the manifest; empty for files.
  std::string manifest;
  std::string stem;  // of the card's name: "step-000000500"
  std::string name;  // of the run, the checkpoint or the files
  // Newer checkpoints that are damaged, and why: another step is judged.
  std::vector<std::string> skipped = {};
};

//   NOT_FOUND            no such folder or file; no (such) checkpoint.
//   FAILED_PRECONDITION  a checkpoint that is being written.
//   INVALID_ARGUMENT     options of generators for files.
//   and those of ReadStatistics.
absl::StatusOr<Subject> FindSubject(const SubjectRequest& request);

// What it is compared with: images, or statistics of some.
struct Reference {
  std::optional<ImagesSpec> images;
  std::optional<FeatureStatistics> statistics;
  std::string name;
};

// `text` is a statistics file, a dataset (a recipe, or a folder of IDX files)
// or images; empty: the images that the subject was trained on.
//   INVALID_ARGUMENT  it is empty and the subject was not trained by gandem.
absl::StatusOr<Reference> FindReference(const std::string& text,
                                        const Subject& subject);

// The file of the features' network. `path` empty: the classifier of the
// dataset that the subject was trained on, else (or where the subject's images
// are resized) that of the reference; trained
// first where the cache has none, with lines for the user to `say`.
absl::StatusOr<std::string> FindNetwork(
    const std::string& path, const Subject& subject, const Reference& reference,
    const std::function<void(const std::string&)>& say);

}  // namespace gandem
