// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/command_lines.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/proto_json.h"
#include "common/process/cores.h"
#include "common/process/exit_code.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "evaluation/commands/evaluate_checkpoints.h"
#include "evaluation/commands/evaluate_command.h"
#include "evaluation/commands/sample_command.h"

namespace gandem {
namespace {

constexpr int kExitAboveThreshold = 1;

constexpr char kSampleHelp[] = R"(Example:
  gandem sample runs/demo -n 64 -o grid.png
  gandem sample runs/demo -n 8 --interpolate 10 -o ways.png
  gandem sample runs/cgan --per_class 10 -o classes.png
  gandem sample runs/faces --truncation_psi 0.7
  gandem sample runs/demo -n 50000 -o samples.npz
  gandem sample runs/demo --check --threshold 0.5

Exit codes: 0 done, 1 --check is above --threshold, 2 the arguments or the run
folder must be repaired, 70 internal error.)";

constexpr char kEvaluateHelp[] =
    R"(SOURCE is a run (its newest checkpoint), a checkpoint's folder, images (a
folder, an archive, Parquet, an .npz; docs/data.md lists all kinds) or a
statistics file. --reference takes the same kinds. A statistics file suffices
for fid only. docs/evaluation.md lists the options that reproduce the figures
of other programs.

Examples:
  gandem evaluate runs/a
  gandem evaluate runs/a --metric fid,is,kid,prdc --num 10000 --cores 2-3
  gandem evaluate runs/a --features inception-2015-12-05.pt
  gandem evaluate runs/a --metric fid,fid_infinity --features dinov2:vitl14.pth
  gandem evaluate runs/a --metric cmmd --features clip:vit-l-14-336.safetensors
  gandem evaluate runs/a --metric lpips --num 5000 --features lpips:alex.pth
  gandem evaluate runs/a --every_checkpoint --num 10000
  gandem evaluate images/ --reference other.tar --features net.pt
  gandem evaluate images/ --reference others/ --features inception.pth --json -
  gandem evaluate a.npz --reference b.npz

The same command resumes an interrupted evaluation, and prints the card of a
finished one. Exit codes: 0 done, 2 the arguments or the files must be
repaired, 70 internal error, 75 interrupted (the same command resumes).)";

// Adds an option that leaves `value` unset unless the user gives it.
template <typename Value>
CLI::Option* AddOptional(CLI::App& command, const std::string& name,
                         std::optional<Value>& value, const std::string& help) {
  return command.add_option_function<Value>(
      name, [&value](const Value& given) { value = given; }, help);
}

void AddCheckpointOptions(CLI::App& command, std::optional<int64_t>& step,
                          std::optional<uint64_t>& seed,
                          const std::string& of) {
  AddOptional(command, "--checkpoint", step,
              "Step of " + of + "checkpoint [the newest complete one]")
      ->check(CLI::NonNegativeNumber);
  AddOptional(command, "--seed", seed, "Seed of the noise [the run's]")
      ->check(WholeFromZero());
}

void AddSamplingOptions(CLI::App& command, NoiseOptions& noise,
                        StandingOptions& standing) {
  command.add_option("--truncation", noise.truncation,
                     "Truncation threshold: redraw noise values of a larger "
                     "magnitude [0: no truncation]");
  command.add_option("--noise_scale", noise.scale,
                     "Standard deviation of the noise [1]");
  command.add_option("--truncation_psi", noise.psi,
                     "Truncation psi of stylegan2: scale of the styles' "
                     "distance from their mean [1]");
  command
      .add_option_function<std::string>(
          "--noise",
          [&noise](const std::string& inputs) {
            noise.random_inputs = inputs == "random";
          },
          "Noise inputs of stylegan2: const (the same for all images) or "
          "random (drawn for each image, as in its published FID) [const]")
      ->check(CLI::IsMember({"const", "random"}));
  command.add_option("--standing_steps", standing.steps,
                     "Passes that recompute the statistics of batch norm [0: "
                     "keep the training averages]");
  command.add_option("--standing_batch", standing.max_batch,
                     "Largest batch of a pass of --standing_steps [64]");
}

void AddMetricOptions(CLI::App& command, EvaluateRequest& request) {
  command
      .add_option("--splits", request.splits,
                  "Number of splits for the Inception Score")
      ->capture_default_str();
  command
      .add_option("--kid_subset", request.kernel.subset_rows,
                  "Images in each subset for KID")
      ->capture_default_str();
  command
      .add_option("--kid_subsets", request.kernel.num_subsets,
                  "Number of subsets for KID")
      ->capture_default_str();
  command
      .add_option("--kid_degree", request.kernel.degree,
                  "Degree of the polynomial kernel used by KID")
      ->capture_default_str();
  AddOptional(command, "--prdc_k", request.neighbors,
              "Nearest neighbors for prdc [3 for precision and recall, 5 for "
              "density and coverage]");
  command
      .add_option("--halvings,--bootstrap", request.halvings,
                  "Random halvings of the images that estimate the standard "
                  "deviation of FID; 0: no estimate")
      ->capture_default_str();
}

struct SampleFlags {
  SampleRequest request;
  double threshold = std::numeric_limits<double>::infinity();
};

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

int RunSample(const SampleFlags& flags) {
  const FilePatience patience("gandem sample");
  const absl::StatusOr<SampleReport> report = RunSampleCommand(flags.request);
  if (!report.ok()) return ReportFailure("sample", report.status());
  return PrintReport(*report, flags);
}

struct EvaluateFlags {
  EvaluateRequest request;
  std::string cores = {};
  std::string json = {};  // path; "-": standard output instead of the text
  bool quiet = false;
  bool every_checkpoint = false;
  bool check_arguments = false;
};

// An evaluation that ran out of disk or memory can resume with its features.
int ReportEvaluateFailure(const absl::Status& status) {
  const int code = ReportFailure("evaluate", status);
  return absl::IsResourceExhausted(status) ? kExitResumable : code;
}

absl::Status PrintEvaluation(const EvaluateReport& report,
                             const EvaluateFlags& flags) {
  for (const std::string& skipped : report.skipped) {
    absl::FPrintF(stderr, "warning: %s\n", skipped);
  }
  const std::string json = ProtoJson(report.card, 2) + "\n";
  if (flags.json == "-") {
    absl::PrintF("%s", json);
    return absl::OkStatus();
  }
  if (report.was_there) absl::PrintF("evaluated before:\n");
  absl::PrintF("%scard: %s\n", MetricCardText(report.card), report.path);
  if (flags.json.empty()) return absl::OkStatus();
  return WriteFileDurably(flags.json, json);
}

// Must be called before any thread starts, since threads inherit the cores.
absl::Status TakeCores(const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::vector<int> cores,
                          ParseCores(text, AllowedCores()));
  return RunOnCores(cores);
}

int CheckEvaluateFlags(const EvaluateFlags& flags) {
  absl::Status checked = CheckEvaluateRequest(flags.request);
  if (checked.ok() && !flags.cores.empty()) {
    checked = ParseCores(flags.cores, AllowedCores()).status();
  }
  return checked.ok() ? kExitOk : ReportFailure("evaluate", checked);
}

int RunEvaluateCheckpoints(const EvaluateFlags& flags) {
  const absl::StatusOr<CheckpointsReport> report =
      EvaluateCheckpoints(flags.request);
  if (!report.ok()) return ReportEvaluateFailure(report.status());
  for (const std::string& skipped : report->skipped) {
    absl::FPrintF(stderr, "warning: left out: %s\n", skipped);
  }
  absl::PrintF("%s", CheckpointsText(*report));
  return kExitOk;
}

int RunEvaluate(EvaluateFlags& flags) {
  if (flags.check_arguments) return CheckEvaluateFlags(flags);
  const absl::Status taken = TakeCores(flags.cores);
  if (!taken.ok()) return ReportFailure("evaluate", taken);
  if (!flags.quiet) {
    flags.request.say = [](const std::string& line) {
      absl::FPrintF(stderr, "%s\n", line);
    };
  }
  if (flags.every_checkpoint) return RunEvaluateCheckpoints(flags);
  const absl::StatusOr<EvaluateReport> report =
      RunEvaluateCommand(flags.request);
  if (!report.ok()) return ReportEvaluateFailure(report.status());
  const absl::Status printed = PrintEvaluation(*report, flags);
  return printed.ok() ? kExitOk : ReportEvaluateFailure(printed);
}

}  // namespace

void AddPythonOption(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--python", [](const std::string&) {},
          "Python interpreter for networks of your own [that of $VIRTUAL_ENV]")
      ->take_last();
}

void AddSampleCommand(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<SampleFlags>();
  SampleRequest& request = flags->request;
  CLI::App* command = app.add_subcommand(
      "sample", "Generate images with the generator of a run");
  command->add_option("RUN_DIR", request.run_dir, "Run directory")->required();
  command
      ->add_option("-n,--num_images", request.num_images,
                   "Number of images, or of rows with --interpolate")
      ->check(CLI::Range(int64_t{1}, SampleRequest::kMaxExported))
      ->capture_default_str();
  command->add_option("-o,--output", request.output,
                      "Grid as .png, or single images as .tar, .npz or a "
                      "folder/ [RUN_DIR/samples/sample-STEP.png]");
  command->add_option("--interpolate", request.interpolate,
                      "Write a grid whose rows interpolate between two samples "
                      "in this number of steps");
  command->add_option("--per_class", request.per_class,
                      "Write a grid with one row of this many images per "
                      "class");
  AddOptional(*command, "--class", request.only_class,
              "Class of all images [drawn for each image]");
  AddPythonOption(*command);
  AddSamplingOptions(*command, request.noise, request.standing);
  AddCheckpointOptions(*command, request.checkpoint, request.seed, "the ");
  CLI::Option* check = command->add_flag(
      "--check", request.check,
      "Also print the distance of 2048 samples from the real images "
      "(docs/reference/sample_check.md)");
  command
      ->add_option("--threshold", flags->threshold,
                   "Largest distance of --check that exits with 0; above it "
                   "the exit code is 1")
      ->check(CLI::NonNegativeNumber)
      ->needs(check);
  command->footer(kSampleHelp);
  command->callback([flags, &exit_code] { exit_code = RunSample(*flags); });
}

void AddEvaluateCommand(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<EvaluateFlags>();
  EvaluateRequest& request = flags->request;
  SubjectRequest& subject = request.subject;
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Estimate FID and related metrics of a generator or of images");
  command
      ->add_option("SOURCE", subject.source,
                   "Run, checkpoint, images or statistics file to evaluate")
      ->required();
  AddCheckpointOptions(*command, subject.checkpoint, subject.seed,
                       "the run's ");
  AddSamplingOptions(*command, subject.noise, subject.standing);
  command->add_option("--device", subject.device,
                      "Device of the generator and the feature network: cpu or "
                      "cuda:N [cpu]");
  AddOptional(*command, "--num", request.num,
              "Number of images to evaluate, of pairs for lpips, of paths for "
              "ppl [50000 generated images, or all files]");
  command->add_flag("--first", request.first,
                    "With --num: take the first files by name instead of a "
                    "random subset");
  command
      ->add_option("--metric", request.metrics,
                   "Metrics, comma-separated: fid, is, kid, prdc (precision, "
                   "recall, density, coverage), fid_infinity (extrapolated to "
                   "infinitely many images), cmmd (CLIP features). lpips "
                   "(diversity) and ppl (path length) stand alone")
      ->capture_default_str();
  command->add_option("--reference", request.reference,
                      "Images to compare with, a recipe, or a statistics file "
                      "[the training data of the run]");
  command->add_option("--resize", request.resize,
                      "Kernel that resizes images to the size of the "
                      "reference: area, bilinear, bicubic, or none (the "
                      "network resizes) [refuse other sizes]");
  command->add_option("--input_resize", request.input_resize,
                      "Resizing of the input of the FID Inception: tf1 "
                      "(torch-fidelity), pytorch_fid or clean (clean-fid) "
                      "[tf1]");
  AddOptional(*command, "--dims", request.dims,
              "Layer of the FID Inception by its number of features, as in "
              "pytorch-fid: 64, 192, 768 or 2048 [2048]");
  command->add_option("--features", request.features,
                      "File of the feature network; clip:FILE or dinov2:FILE "
                      "for their weights [the classifier of `gandem "
                      "train-features`]");
  command->add_option("--precision", request.precision,
                      "Precision of the feature network: float32, bfloat16 or "
                      "float16 [float32]");
  command->add_option("--output", request.output,
                      "Folder for the metric cards [RUN/evaluation]");
  command->add_option("--save_statistics", request.save_statistics,
                      "Also write the mean and covariance of the features: "
                      ".npz as in pytorch-fid, or .safetensors");
  AddMetricOptions(*command, request);
  AddOptional(*command, "--workers", request.workers,
              "Threads that share the images; metrics do not depend on it [one "
              "per core, at most 16, at most one per 250 images]");
  command
      ->add_option("--feature_cache_gib", request.feature_cache_gib,
                   "Size limit in GiB of the feature cache in "
                   "~/.cache/gandem/features/images; the least recently used "
                   "features are deleted; 0: no cache")
      ->capture_default_str();
  command->add_option("--cores", flags->cores,
                      "Cores to run on, for example 0-3,6 [all]");
  CLI::Option* const json = command->add_option(
      "--json", flags->json,
      "File for the card as JSON; -: print JSON on standard output instead of "
      "text");
  command
      ->add_flag("--every_checkpoint", flags->every_checkpoint,
                 "Evaluate each checkpoint of the run that has no card yet, "
                 "and report the best one")
      ->excludes(json);
  AddPythonOption(*command);
  command->add_flag("--quiet", flags->quiet, "Print no progress");
  // `gandem train --evaluate_args` checks the arguments of a later evaluation.
  command->add_flag("--check_arguments", flags->check_arguments)->group("");
  command->footer(kEvaluateHelp);
  command->callback([flags, &exit_code] { exit_code = RunEvaluate(*flags); });
}

CLI::Validator WholeFromZero() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        uint64_t number = 0;
        if (absl::SimpleAtoi(text, &number)) return "";
        return absl::StrFormat(
            "there is no value '%s' (it is a whole number from 0 on)", text);
      },
      "");
}

int ReportFailure(absl::string_view command, const absl::Status& status) {
  absl::FPrintF(stderr, "gandem %s: %s\n", command, status.message());
  return ExitCodeOf(status);
}

}  // namespace gandem
