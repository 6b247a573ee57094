// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/train_features_command.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "absl/strings/str_format.h"
#include "common/process/exit_code.h"
#include "common/process/machine.h"
#include "common/status.h"
#include "evaluation/commands/command_lines.h"
#include "evaluation/features/train_features.h"
#include "pipeline/sources/named_dataset.h"

namespace gandem {
namespace {

constexpr char kTrainFeaturesCommandHelp[] = R"(Example:
  gandem train-features --dataset recipes/fashion_mnist_dcgan.textproto

The features of a small classifier of the same images replace those of the
Inception network where its weights are unavailable. Their distance is called
FD(<name of the network>), never FID. Compare only figures of the same network.

Exit codes: 0 done, 2 the arguments or the images must be repaired, 70 internal
error.)";

absl::StatusOr<TrainFeaturesReport> RunTraining(
    const TrainFeaturesFlags& flags) {
  GANDEM_ASSIGN_OR_RETURN(const NamedDataset dataset,
                          FindDataset(flags.dataset));
  return TrainFeatures(
      {.dataset = dataset,
       .cache_dir = flags.cache_dir,
       .epochs = flags.epochs,
       .seed = flags.seed,
       .threads = flags.threads > 0 ? flags.threads : UsableCores(),
       .progress = [](const std::string& line) {
         absl::PrintF("%s\n", line);
         std::fflush(stdout);
       }});
}

}  // namespace

void AddTrainFeaturesCommand(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<TrainFeaturesFlags>();
  CLI::App* const command = app.add_subcommand(
      "train-features",
      "Train a small classifier whose features replace Inception's in metrics");
  command
      ->add_option("--dataset", flags->dataset,
                   "Folder of IDX files, or a recipe whose section `data` "
                   "names the images")
      ->capture_default_str();
  command->add_option("--cache_dir", flags->cache_dir,
                      "Folder of classifiers [~/.cache/gandem/features]");
  command->add_option("--epochs", flags->epochs, "Passes over the images")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Random seed of the training")
      ->check(WholeFromZero())
      ->capture_default_str();
  command->add_option("--threads", flags->threads,
                      "Number of threads [one per core]");
  command->footer(kTrainFeaturesCommandHelp);
  command->callback(
      [flags, &exit_code] { exit_code = RunTrainFeatures(*flags); });
}

int RunTrainFeatures(const TrainFeaturesFlags& flags) {
  const absl::StatusOr<TrainFeaturesReport> report = RunTraining(flags);
  if (!report.ok()) return ReportFailure("train-features", report.status());
  absl::PrintF("%s: %s, %.2f%% accuracy on %d test images; %.0f s%s\n",
               report->path, report->name, 100 * report->test_accuracy,
               report->num_test_images, absl::ToDoubleSeconds(report->elapsed),
               report->cached ? " (already trained)" : "");
  return kExitOk;
}

}  // namespace gandem
