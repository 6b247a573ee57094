// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/evaluation_inputs.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "evaluation/features/train_features.h"
#include "evaluation/images/generated_images.h"
#include "evaluation/images/load_generator.h"
#include "pipeline/formats/npz.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/named_dataset.h"

namespace gandem {
namespace {

constexpr char kConfigName[] = "/config.textproto";

// Removes final slashes, because the last part names things.
std::string Trimmed(absl::string_view path) {
  while (path.size() > 1 && absl::ConsumeSuffix(&path, "/")) {
  }
  return std::string(path);
}

std::string BaseName(absl::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

bool IsRun(const std::string& path) {
  return PathExists(path + "/checkpoints") || PathExists(path + "/state");
}

bool IsCheckpoint(const std::string& path) {
  return PathExists(absl::StrCat(path, "/", kManifestName));
}

// Finds a checkpoint that a killed evaluation kept and that training has pruned
// since.
std::optional<std::string> FindKept(const std::string& output, int64_t step) {
  const std::string work = output + "/work";
  const auto names = ListDirectory(work);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    const std::string kept =
        absl::StrCat(work, "/", name, "/", BaseName(CheckpointPath("", step)));
    if (IsCheckpoint(kept)) return kept;
  }
  return std::nullopt;
}

absl::StatusOr<FoundCheckpoint> CheckpointOfRun(const std::string& run_dir,
                                                const std::string& output,
                                                std::optional<int64_t> step) {
  absl::StatusOr<FoundCheckpoint> found = FindCheckpoint(run_dir, step);
  if (absl::IsNotFound(found.status()) && step.has_value()) {
    const std::optional<std::string> kept = FindKept(output, *step);
    if (kept.has_value()) {
      return FoundCheckpoint{.path = *kept,
                             .step = *step,
                             .manifest = {},
                             .skipped_with_reason = {}};
    }
  }
  return found;
}

// Returns the run of a checkpoint: RUN/checkpoints/step-N, or one kept below
// RUN/evaluation. Empty: the checkpoint lies elsewhere.
std::string RunOf(const std::string& checkpoint) {
  std::string folder = checkpoint;
  for (int level = 0; level < 4; ++level) {
    folder = ParentOf(folder);
    if (IsRun(folder)) return folder;
  }
  return "";
}

absl::StatusOr<Subject> SubjectOfCheckpoint(const SubjectRequest& request,
                                            const std::string& checkpoint,
                                            const std::string& run_dir) {
  Subject subject;
  const std::string base = run_dir.empty() ? ParentOf(checkpoint) : run_dir;
  subject.output = base + "/evaluation";
  if (!run_dir.empty()) {
    subject.tensorboard = run_dir + "/tensorboard/evaluation";
  }
  subject.stem = BaseName(checkpoint);
  subject.name = run_dir.empty() ? checkpoint : run_dir;
  GANDEM_ASSIGN_OR_RETURN(
      subject.manifest, ReadFile(absl::StrCat(checkpoint, "/", kManifestName)));
  ImagesSpec::Generated& generated = *subject.images.mutable_generated();
  generated.set_checkpoint(checkpoint);
  SetSampling(request.noise, request.standing, generated);
  generated.set_device(request.device);
  if (request.seed.has_value()) {
    generated.set_seed(*request.seed);
  } else {
    GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                            LoadRunConfig(checkpoint + kConfigName, {}));
    generated.set_seed(config.seed());
  }
  return subject;
}

// Whether the file has statistics instead of images: ours, a pickle, or an .npz
// with one of the two sets of arrays.
bool HoldsStatistics(const std::string& path) {
  if (absl::EndsWith(path, ".safetensors") || absl::EndsWith(path, ".pkl")) {
    return true;
  }
  if (!LooksLikeZip(path)) return false;
  const auto reader = NpzReader::Open(path);
  return reader.ok() && (reader->Has("mu") || reader->Has("raw_mean"));
}

// A pattern of several shards, "data-{000000..000009}.tar", names no file.
bool IsMissing(const std::string& source) {
  return !IsUrl(source) && !absl::StrContains(source, "{") &&
         !PathExists(source);
}

absl::StatusOr<Subject> SubjectOfFiles(const SubjectRequest& request,
                                       const std::string& source) {
  if (IsMissing(source)) {
    return absl::NotFoundError(
        absl::StrCat("'", source, "': no such file or folder"));
  }
  const bool statistics = HoldsStatistics(source);
  if (request.checkpoint.has_value() || request.seed.has_value() ||
      request.noise != NoiseOptions() || request.standing.steps != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", source, "' holds ", statistics ? "statistics" : "images",
        ": --checkpoint, --seed, --truncation, --noise_scale, "
        "--truncation_psi, --noise and --standing_steps are for runs and "
        "checkpoints"));
  }
  Subject subject;
  if (statistics) {
    GANDEM_ASSIGN_OR_RETURN(subject.statistics, ReadStatistics(source));
  } else if (absl::EndsWith(source, ".textproto")) {
    GANDEM_ASSIGN_OR_RETURN(const NamedDataset dataset, FindDataset(source));
    *subject.images.mutable_dataset() = dataset.data;
  } else {
    subject.images.set_files(source);
  }
  subject.output = "evaluation";
  subject.stem = BaseName(source);
  subject.name = source;
  return subject;
}

}  // namespace

absl::StatusOr<Subject> FindSubject(const SubjectRequest& request) {
  const std::string source = Trimmed(request.source);
  const std::string name = BaseName(source);
  if (absl::StartsWith(name, "step-") && absl::EndsWith(name, ".tmp")) {
    return absl::FailedPreconditionError(absl::StrCat(
        source,
        " is a checkpoint that is being written: wait until its name has no "
        ".tmp, or name the run to evaluate its newest complete one"));
  }
  if (IsRun(source)) {
    GANDEM_ASSIGN_OR_RETURN(
        const FoundCheckpoint found,
        CheckpointOfRun(source, source + "/evaluation", request.checkpoint));
    GANDEM_ASSIGN_OR_RETURN(Subject subject,
                            SubjectOfCheckpoint(request, found.path, source));
    for (const std::string& skipped : found.skipped_with_reason) {
      subject.skipped.push_back(
          absl::StrCat("a newer checkpoint is damaged, so that of step ",
                       found.step, " is evaluated: ", skipped));
    }
    return subject;
  }
  if (!IsCheckpoint(source)) return SubjectOfFiles(request, source);
  if (request.checkpoint.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, " is one checkpoint: --checkpoint is for a run's folder"));
  }
  return SubjectOfCheckpoint(request, source, RunOf(source));
}

absl::StatusOr<Reference> FindReference(const std::string& text,
                                        const Subject& subject) {
  Reference reference;
  if (text.empty()) {
    if (!subject.images.has_generated()) {
      return absl::InvalidArgumentError(
          "a source that no run has made needs a --reference: other images (a "
          "folder, an archive, Parquet ...), a recipe, or a statistics file");
    }
    const std::string config =
        subject.images.generated().checkpoint() + kConfigName;
    GANDEM_ASSIGN_OR_RETURN(const NamedDataset dataset, FindDataset(config));
    *reference.images.emplace().mutable_dataset() = dataset.data;
    reference.name = ImagesPath(dataset.data);
    return reference;
  }
  reference.name = text;
  if (IsMissing(text)) {
    return absl::NotFoundError(
        absl::StrCat("--reference '", text, "': no such file or folder"));
  }
  if (HoldsStatistics(text)) {
    GANDEM_ASSIGN_OR_RETURN(reference.statistics, ReadStatistics(text));
    return reference;
  }
  const absl::StatusOr<NamedDataset> dataset = FindDataset(text);
  if (dataset.ok()) {
    *reference.images.emplace().mutable_dataset() = dataset->data;
    return reference;
  }
  // For a recipe, its own fault is the useful message.
  if (absl::EndsWith(text, ".textproto")) return dataset.status();
  reference.images.emplace().set_files(text);
  return reference;
}

absl::StatusOr<std::string> FindNetwork(
    const std::string& path, const Subject& subject, const Reference& reference,
    const std::function<void(const std::string&)>& say) {
  if (!path.empty()) return path;
  std::string dataset;
  // Resized images have the size of the reference's images.
  if (subject.images.has_generated() && !subject.images.has_resize()) {
    dataset = subject.images.generated().checkpoint() + kConfigName;
  } else if (reference.images.has_value() && reference.images->has_dataset()) {
    dataset = reference.name;
  } else {
    return absl::InvalidArgumentError(
        "no feature network: name one with --features: a TorchScript file, "
        "weights of the FID Inception, of CLIP or of DINOv2, or a file of "
        "`gandem train-features`");
  }
  TrainFeaturesRequest request;
  GANDEM_ASSIGN_OR_RETURN(request.dataset, FindDataset(dataset));
  request.threads = UsableCores();
  request.progress = say;
  GANDEM_ASSIGN_OR_RETURN(const TrainFeaturesReport report,
                          TrainFeatures(request));
  if (!report.cached && say != nullptr) {
    say(absl::StrFormat(
        "the classifier is right on %.1f%% of the test images and is kept as "
        "%s",
        100 * report.test_accuracy, report.path));
  }
  return report.path;
}

}  // namespace gandem
