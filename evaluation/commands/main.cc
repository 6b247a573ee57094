// SPDX-License-Identifier: Apache-2.0
//
// evaluation_job: `gandem sample`, `gandem models` and the like run it with the
// same arguments.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "evaluation/commands/evaluate_flags.h"
#include "evaluation/commands/models_command.h"
#include "evaluation/commands/sample_command.h"
#include "evaluation/commands/train_features_command.h"

namespace gandem {
namespace {

constexpr int kExitAboveThreshold = 1;

constexpr char kSampleHelp[] = R"(Example:
  gandem sample runs/demo -n 64 -o grid.png
  gandem sample runs/demo -n 8 --interpolate 10 -o ways.png
  gandem sample runs/cgan --per_class 10 -o classes.png
  gandem sample runs/demo -n 50000 -o samples.npz
  gandem sample runs/demo --check --threshold 0.5

Exit codes: 0 done, 1 --check is above --threshold, 2 the arguments or the run
folder must be repaired, 70 internal.)";

struct SampleFlags {
  SampleRequest request;
  int64_t checkpoint = 0;
  int64_t only_class = 0;
  uint64_t seed = 0;
  double threshold = std::numeric_limits<double>::infinity();
};

CLI::App* AddSampleCommand(CLI::App& app, SampleFlags& flags) {
  CLI::App* command = app.add_subcommand(
      "sample", "Write images made by a run's newest checkpoint");
  command->add_option("RUN_DIR", flags.request.run_dir, "Folder of the run")
      ->required();
  command
      ->add_option("-n,--num_images", flags.request.num_images,
                   "Images, or rows of --interpolate")
      ->check(CLI::Range(int64_t{1}, SampleRequest::kMaxExported))
      ->capture_default_str();
  command->add_option("-o,--output", flags.request.output,
                      "A grid as .png, or single images: .tar, .npz, or a "
                      "folder (ends with /) [RUN_DIR/samples/sample-STEP.png]");
  command->add_option("--interpolate", flags.request.interpolate,
                      "A grid whose rows lead from one sample to another in "
                      "so many steps");
  command->add_option("--per_class", flags.request.per_class,
                      "A grid with a row of so many images for each class");
  command->add_option("--class", flags.only_class,
                      "Only images of this class [labels are drawn]");
  command->add_option("--truncation", flags.request.noise.truncation,
                      "Draw noise values above this again [0: never]");
  command->add_option("--noise_scale", flags.request.noise.scale,
                      "Standard deviation of the noise [1]");
  command->add_option("--standing_steps", flags.request.standing.steps,
                      "Gather batch norm's statistics afresh in so many passes "
                      "[0: the averages of the training]");
  command->add_option("--standing_batch", flags.request.standing.max_batch,
                      "Largest batch of such a pass [64]");
  command
      ->add_option("--checkpoint", flags.checkpoint,
                   "Step of the checkpoint [the newest complete one]")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", flags.seed, "Seed of the noise [the run's]");
  CLI::Option* check = command->add_flag(
      "--check", flags.request.check,
      "Also print the distance of 2048 samples from the real images "
      "(docs/sample_check.md)");
  command
      ->add_option("--threshold", flags.threshold,
                   "Exit with 1 when that distance is above")
      ->check(CLI::NonNegativeNumber)
      ->needs(check);
  command->footer(kSampleHelp);
  return command;
}

int PrintReport(const SampleReport& report, const SampleFlags& flags) {
  for (const std::string& skipped : report.skipped) {
    absl::FPrintF(stderr, "skipped %s\n", skipped);
  }
  absl::PrintF("checkpoint of step %d: %s\n", report.step, report.checkpoint);
  absl::PrintF("%d images: %s\n", report.num_images, report.output);
  if (!report.distance.has_value()) return kExitOk;
  const SampleDistance& distance = *report.distance;
  absl::PrintF("check %.4f = structure %.4f + histogram %.4f + roughness %.4f",
               distance.Total(), distance.structure, distance.histogram,
               distance.roughness);
  const bool above = !(distance.Total() <= flags.threshold);
  if (flags.threshold < std::numeric_limits<double>::infinity()) {
    absl::PrintF(" (%s the threshold %g)", above ? "above" : "within",
                 flags.threshold);
  }
  absl::PrintF("\n");
  return above ? kExitAboveThreshold : kExitOk;
}

int RunSample(const CLI::App& command, SampleFlags flags) {
  if (command.count("--checkpoint") > 0) {
    flags.request.checkpoint = flags.checkpoint;
  }
  if (command.count("--seed") > 0) flags.request.seed = flags.seed;
  if (command.count("--class") > 0) {
    flags.request.only_class = flags.only_class;
  }
  const absl::StatusOr<SampleReport> report = RunSampleCommand(flags.request);
  if (!report.ok()) {
    absl::FPrintF(stderr, "gandem sample: %s\n", report.status().message());
    return ExitCodeOf(report.status());
  }
  return PrintReport(*report, flags);
}

int Main(int argc, char** argv) {
  CLI::App app("Judges what a run has made.", "evaluation_job");
  app.require_subcommand(1);
  SampleFlags sample_flags;
  const CLI::App* const sample = AddSampleCommand(app, sample_flags);
  EvaluateFlags evaluate_flags;
  const CLI::App* const evaluate = AddEvaluateCommand(app, evaluate_flags);
  ExtractFlags extract_flags;
  const CLI::App* const extract = AddExtractCommand(app, extract_flags);
  TrainFeaturesFlags train_features_flags;
  const CLI::App* const train_features =
      AddTrainFeaturesCommand(app, train_features_flags);
  ModelsFlags models_flags;
  const CLI::App* const models = AddModelsCommand(app, models_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (train_features->parsed()) return RunTrainFeatures(train_features_flags);
  if (models->parsed()) return RunModels(models_flags);
  if (evaluate->parsed()) return RunEvaluate(*evaluate, evaluate_flags);
  if (extract->parsed()) return RunExtract(extract_flags);
  return RunSample(*sample, sample_flags);
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  const absl::Status armed = gandem::ArmFailpointFromEnvironment("evaluation");
  if (!armed.ok()) {
    absl::FPrintF(stderr, "evaluation_job: %s\n", armed.message());
    return gandem::ExitCodeOf(armed);
  }
  return gandem::Main(argc, argv);
}
