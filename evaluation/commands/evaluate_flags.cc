// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_flags.h"

#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/metric_card.h"
#include "common/process/cores.h"
#include "common/process/exit_code.h"
#include "common/status.h"
#include "evaluation/features/extract_features.h"
#include "evaluation/features/feature_store.h"

namespace gandem {
namespace {

constexpr char kEvaluateFlagsHelp[] =
    R"(SOURCE is a run (its newest checkpoint), a checkpoint's folder, or images: a
folder of PNG files, a .tar of them, or an .npz (docs/evaluation.md).

Examples:
  gandem evaluate runs/a
  gandem evaluate runs/a --metric fid,is,kid,prdc --num 10000 --cores 2-3
  gandem evaluate runs/a --features inception-2015-12-05.pt
  gandem evaluate images/ --reference other.tar --features net.pt

The same command goes on with what a killed one has begun, and shows the card
if there is one. Exit codes: 0 done, 2 the arguments or the files must be
repaired, 75 the same command goes on, 70 internal.)";

int Fail(const absl::Status& status) {
  absl::FPrintF(stderr, "gandem evaluate: %s\n", status.message());
  return ExitCodeOf(status);
}

// Before anything starts threads.
absl::Status TakeCores(const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::vector<int> cores,
                          ParseCores(text, AllowedCores()));
  return RunOnCores(cores);
}

void AddSubjectOptions(CLI::App& command, EvaluateFlags& flags) {
  SubjectRequest& subject = flags.request.subject;
  command.add_option("SOURCE", subject.source, "Run, checkpoint or images")
      ->required();
  command
      .add_option("--checkpoint", flags.checkpoint,
                  "Step of the run's checkpoint [the newest complete one]")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", flags.seed, "Seed of the noise [the run's]");
  command.add_option("--truncation", subject.noise.truncation,
                     "Draw noise values above this again [0: never]");
  command.add_option("--noise_scale", subject.noise.scale,
                     "Standard deviation of the noise [1]");
  command.add_option("--standing_steps", subject.standing.steps,
                     "Gather batch norm's statistics afresh in so many passes "
                     "[0: the averages of the training]");
  command.add_option("--standing_batch", subject.standing.max_batch,
                     "Largest batch of such a pass [64]");
  command.add_option("--device", subject.device,
                     "Where the generator runs: cpu or cuda:N [cpu]");
  command.add_option(
      "--num", flags.num,
      "Images to judge [50000 generated ones, or all of the files]");
}

}  // namespace

CLI::App* AddEvaluateCommand(CLI::App& app, EvaluateFlags& flags) {
  EvaluateRequest& request = flags.request;
  CLI::App* command = app.add_subcommand(
      "evaluate", "Judge a generator, or images, by FID and its like");
  AddSubjectOptions(*command, flags);
  command
      ->add_option("--metric", request.metrics,
                   "Any of fid, is, kid, prdc (precision, recall, density, "
                   "coverage), intra_fid (of each class), with commas between")
      ->capture_default_str();
  command->add_option("--reference", request.reference,
                      "Dataset (recipe or folder of IDX files), statistics "
                      "file or images [what the run trains on]");
  command->add_option("--resize", request.resize,
                      "Kernel that brings images of another size to that of "
                      "the reference: area, bilinear or bicubic [refuse them]");
  command->add_option("--features", request.features,
                      "File of the network that sees the images [a classifier "
                      "of the dataset; `gandem train-features`]");
  command->add_option("--output", request.output,
                      "Folder for the cards [RUN/evaluation]");
  command->add_option("--save_statistics", request.save_statistics,
                      "Also write the images' mean and covariance: .npz as "
                      "pytorch-fid, or .safetensors");
  command->add_option("--splits", request.splits, "Of the inception score")
      ->capture_default_str();
  command
      ->add_option("--bootstrap", request.bootstrap,
                   "Replicates for the distance's standard deviation; 0: none")
      ->capture_default_str();
  command->add_option("--workers", flags.workers,
                      "Processes that share the images; the figures do not "
                      "depend on it [one a core, at most 16, and one in 1,024 "
                      "images]");
  command->add_option("--cores", flags.cores,
                      "Cores to run on, as in 0-3,6 [all]");
  command->add_flag("--quiet", flags.quiet, "Print no progress");
  command->footer(kEvaluateFlagsHelp);
  return command;
}

int RunEvaluate(const CLI::App& command, EvaluateFlags flags) {
  const absl::Status taken = TakeCores(flags.cores);
  if (!taken.ok()) return Fail(taken);
  EvaluateRequest& request = flags.request;
  if (command.count("--checkpoint") > 0) {
    request.subject.checkpoint = flags.checkpoint;
  }
  if (command.count("--seed") > 0) request.subject.seed = flags.seed;
  if (command.count("--num") > 0) request.num = flags.num;
  if (command.count("--workers") > 0) request.workers = flags.workers;
  if (!flags.quiet) {
    request.say = [](const std::string& line) {
      absl::FPrintF(stderr, "%s\n", line);
    };
  }
  const absl::StatusOr<EvaluateReport> report = RunEvaluateCommand(request);
  if (!report.ok()) return Fail(report.status());
  if (report->was_there) absl::PrintF("judged before:\n");
  absl::PrintF("%scard: %s\n", MetricCardText(report->card), report->path);
  return kExitOk;
}

CLI::App* AddExtractCommand(CLI::App& app, ExtractFlags& flags) {
  CLI::App* command = app.add_subcommand("extract");
  command->group("");  // not in the help
  command->add_option("FOLDER", flags.folder)->required();
  command->add_option("--num", flags.num)->required();
  command->add_option("--worker", flags.worker)->required();
  command->add_option("--workers", flags.workers)->required();
  return command;
}

int RunExtract(const ExtractFlags& flags) {
  const absl::StatusOr<FeatureStore> store = FeatureStore::Open(flags.folder);
  if (!store.ok()) return Fail(store.status());
  const absl::Status done = ExtractShare(
      *store, flags.num, {.index = flags.worker, .size = flags.workers});
  return done.ok() ? kExitOk : Fail(done);
}

}  // namespace gandem
