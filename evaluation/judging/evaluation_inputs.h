// SPDX-License-Identifier: Apache-2.0
//
// Finds the inputs of an evaluation that a user names: a run, a checkpoint or
// files to evaluate, a reference, and a feature network.
//
// Owner: values. Thread safety: one compute thread.
// Errors: NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION: messages say what
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

// The source to evaluate, as the user names it.
struct SubjectRequest {
  // Run folder, checkpoint folder, images, or a statistics file.
  std::string source;
  std::optional<int64_t> checkpoint = {};  // step; runs only
  std::optional<uint64_t> seed = {};       // default: the run's
  NoiseOptions noise = {};
  StandingOptions standing = {};
  // Device of the generator and of the feature network.
  std::string device = {};
};

struct Subject {
  ImagesSpec images;  // none if there are statistics
  std::optional<FeatureStatistics> statistics = {};
  // Default folder of cards and work files.
  std::string output;
  // The run's folder for TensorBoard; empty: no run made the images.
  std::string tensorboard;
  // The checkpoint's manifest, which identifies the weights; empty for files.
  std::string manifest;
  std::string stem;  // of the card's file: "step-000000500"
  std::string name;  // the run, the checkpoint or the files
  // Messages about newer, damaged checkpoints that were skipped.
  std::vector<std::string> skipped = {};
};

//   NOT_FOUND            no such folder or file; no (such) checkpoint.
//   FAILED_PRECONDITION  a checkpoint that is being written.
//   INVALID_ARGUMENT     options of generators for files.
//   and those of ReadStatistics.
absl::StatusOr<Subject> FindSubject(const SubjectRequest& request);

// Reference images, or statistics of them.
struct Reference {
  std::optional<ImagesSpec> images;
  std::optional<FeatureStatistics> statistics;
  std::string name;
};

// `text` is a statistics file, a dataset (a recipe, or a folder of IDX files)
// or images; empty: the images that the subject was trained on.
//   INVALID_ARGUMENT  `text` is empty, and gandem did not train the subject.
absl::StatusOr<Reference> FindReference(const std::string& text,
                                        const Subject& subject);

// Returns the file of the feature network: `path` or, if it is empty, the
// classifier of the subject's training dataset. Without one, or if the
// subject's images are resized, the classifier is that of the reference. It is
// trained first if the cache has none, with lines for the user to `say`.
absl::StatusOr<std::string> FindNetwork(
    const std::string& path, const Subject& subject, const Reference& reference,
    const std::function<void(const std::string&)>& say);

}  // namespace gandem
