// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/train_features_command.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "common/process/exit_code.h"
#include "common/status.h"
#include "evaluation/features/train_features.h"
#include "pipeline/sources/named_dataset.h"

namespace gandem {
namespace {

constexpr char kTrainFeaturesCommandHelp[] = R"(Example:
  gandem train-features --dataset recipes/fashion_mnist_dcgan.textproto

Where no Inception can be had, the features of a small classifier of the same
images stand in. Their distance is called FD(<name of the network>), never FID,
and only figures of the same network can be compared.

Exit codes: 0 done, 2 the arguments or the images must be repaired, 70
internal.)";

int NumUsableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

absl::StatusOr<TrainFeaturesReport> RunTraining(
    const TrainFeaturesFlags& flags) {
  GANDEM_ASSIGN_OR_RETURN(const NamedDataset dataset,
                          FindDataset(flags.dataset));
  return TrainFeatures(
      {.data = dataset.data,
       .test_images = dataset.test_images,
       .test_labels = dataset.test_labels,
       .cache_dir = flags.cache_dir,
       .epochs = flags.epochs,
       .seed = flags.seed,
       .threads = flags.threads > 0 ? flags.threads : NumUsableCores(),
       .progress = [](const std::string& line) {
         absl::PrintF("%s\n", line);
         std::fflush(stdout);
       }});
}

}  // namespace

CLI::App* AddTrainFeaturesCommand(CLI::App& app, TrainFeaturesFlags& flags) {
  CLI::App* const command = app.add_subcommand(
      "train-features",
      "Train a small classifier whose features stand in for an Inception's");
  command
      ->add_option("--dataset", flags.dataset,
                   "Folder of IDX files, or a recipe for its section `data`")
      ->capture_default_str();
  command->add_option("--cache_dir", flags.cache_dir,
                      "Where classifiers are kept [~/.cache/gandem/features]");
  command->add_option("--epochs", flags.epochs, "Passes over the images")
      ->capture_default_str();
  command->add_option("--seed", flags.seed, "Seed of the training")
      ->capture_default_str();
  command->add_option("--threads", flags.threads,
                      "Threads [as many as there are cores]");
  command->footer(kTrainFeaturesCommandHelp);
  return command;
}

int RunTrainFeatures(const TrainFeaturesFlags& flags) {
  const absl::StatusOr<TrainFeaturesReport> report = RunTraining(flags);
  if (!report.ok()) {
    absl::FPrintF(stderr, "gandem train-features: %s\n",
                  report.status().message());
    return ExitCodeOf(report.status());
  }
  absl::PrintF("%s: %s, %.2f%% of %d test images are right; %.0f s%s\n",
               report->path, report->name, 100 * report->test_accuracy,
               report->num_test_images, absl::ToDoubleSeconds(report->elapsed),
               report->cached ? " (it was there)" : "");
  return kExitOk;
}

}  // namespace gandem
