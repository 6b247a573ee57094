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
folder must be repaired, 70 internal.)";

constexpr char kEvaluateHelp[] =
    R"(SOURCE is a run (its newest checkpoint), a checkpoint's folder, or images: a
folder, an archive, Parquet, an .npz ... (docs/data.md lists all kinds), or a
statistics file, as --reference may be, of which there is fid alone;
docs/evaluation.md has which options give the number of which other program.

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

The same command goes on with what a killed one has begun, and shows the card
if there is one. Exit codes: 0 done, 2 the arguments or the files must be
repaired, 75 the same command goes on, 70 internal.)";

// An option whose value is only there if it is given.
template <typename Value>
CLI::Option* AddOptional(CLI::App& command, const std::string& name,
                         std::optional<Value>& value, const std::string& help) {
  return command.add_option_function<Value>(
      name, [&value](const Value& given) { value = given; }, help);
}

// Which checkpoint of a run, and the seed of what it makes.
void AddCheckpointOptions(CLI::App& command, std::optional<int64_t>& step,
                          std::optional<uint64_t>& seed,
                          const std::string& of) {
  AddOptional(command, "--checkpoint", step,
              "Step of " + of + "checkpoint [the newest complete one]")
      ->check(CLI::NonNegativeNumber);
  AddOptional(command, "--seed", seed, "Seed of the noise [the run's]")
      ->check(WholeFromZero());
}

// How its generator makes images.
void AddSamplingOptions(CLI::App& command, NoiseOptions& noise,
                        StandingOptions& standing) {
  command.add_option("--truncation", noise.truncation,
                     "Draw noise values above this again [0: never]");
  command.add_option("--noise_scale", noise.scale,
                     "Standard deviation of the noise [1]");
  command.add_option("--truncation_psi", noise.psi,
                     "Of stylegan2: styles go this part of the way from their "
                     "mean [1]");
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
                     "Gather batch norm's statistics afresh in so many passes "
                     "[0: the averages of the training]");
  command.add_option("--standing_batch", standing.max_batch,
                     "Largest batch of such a pass [64]");
}

// How the metrics are computed.
void AddMetricOptions(CLI::App& command, EvaluateRequest& request) {
  command.add_option("--splits", request.splits, "Of the inception score")
      ->capture_default_str();
  command
      .add_option("--kid_subset", request.kernel.subset_rows,
                  "Images of a subset of kid")
      ->capture_default_str();
  command
      .add_option("--kid_subsets", request.kernel.num_subsets, "Subsets of kid")
      ->capture_default_str();
  command
      .add_option("--kid_degree", request.kernel.degree, "Of kid's polynomial")
      ->capture_default_str();
  AddOptional(command, "--prdc_k", request.neighbors,
              "Nearest neighbors of prdc [3 for precision and recall, 5 for "
              "density and coverage]");
  command
      .add_option("--halvings,--bootstrap", request.halvings,
                  "Random halvings of the images for the distance's standard "
                  "deviation; 0: none")
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
  std::string json = {};  // "-": standard output
  bool quiet = false;
  bool every_checkpoint = false;
  bool check_arguments = false;
};

// What lack of room ended goes on where there is some, and what was computed is
// there.
int ReportEvaluateFailure(const absl::Status& status) {
  const int code = ReportFailure("evaluate", status);
  return absl::IsResourceExhausted(status) ? kExitResumable : code;
}

// Instead of the text where it is "-".
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
  if (report.was_there) absl::PrintF("judged before:\n");
  absl::PrintF("%scard: %s\n", MetricCardText(report.card), report.path);
  if (flags.json.empty()) return absl::OkStatus();
  return WriteFileDurably(flags.json, json);
}

// Before anything starts threads.
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
          "Interpreter for networks of your own [that of $VIRTUAL_ENV]")
      ->take_last();
}

void AddSampleCommand(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<SampleFlags>();
  SampleRequest& request = flags->request;
  CLI::App* command = app.add_subcommand(
      "sample", "Write images made by a run's newest checkpoint");
  command->add_option("RUN_DIR", request.run_dir, "Folder of the run")
      ->required();
  command
      ->add_option("-n,--num_images", request.num_images,
                   "Images, or rows of --interpolate")
      ->check(CLI::Range(int64_t{1}, SampleRequest::kMaxExported))
      ->capture_default_str();
  command->add_option("-o,--output", request.output,
                      "A grid as .png, or single images: .tar, .npz, or a "
                      "folder (ends with /) [RUN_DIR/samples/sample-STEP.png]");
  command->add_option("--interpolate", request.interpolate,
                      "A grid whose rows lead from one sample to another in "
                      "so many steps");
  command->add_option("--per_class", request.per_class,
                      "A grid with a row of so many images for each class");
  AddOptional(*command, "--class", request.only_class,
              "Only images of this class [labels are drawn]");
  AddPythonOption(*command);
  AddSamplingOptions(*command, request.noise, request.standing);
  AddCheckpointOptions(*command, request.checkpoint, request.seed, "the ");
  CLI::Option* check = command->add_flag(
      "--check", request.check,
      "Also print the distance of 2048 samples from the real images "
      "(docs/reference/sample_check.md)");
  command
      ->add_option("--threshold", flags->threshold,
                   "Exit with 1 when that distance is above")
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
      "evaluate", "Judge a generator, or images, by FID and its like");
  command
      ->add_option("SOURCE", subject.source,
                   "Run, checkpoint, images or a statistics file")
      ->required();
  AddCheckpointOptions(*command, subject.checkpoint, subject.seed,
                       "the run's ");
  AddSamplingOptions(*command, subject.noise, subject.standing);
  command->add_option("--device", subject.device,
                      "Where the networks run, generator and features: cpu or "
                      "cuda:N [cpu]");
  AddOptional(*command, "--num", request.num,
              "Images to judge, or pairs of lpips and ways of ppl [50000 "
              "generated ones, or all of the files]; of files they are drawn "
              "at random");
  command->add_flag("--first", request.first,
                    "With --num: the first files by name, not drawn ones");
  command
      ->add_option("--metric", request.metrics,
                   "Any of fid, is, kid, prdc (precision, recall, density, "
                   "coverage), fid_infinity (extrapolated to any number of "
                   "images), cmmd (of CLIP's features), with commas between; "
                   "or lpips (how much images "
                   "differ), or ppl (path length), by itself")
      ->capture_default_str();
  command->add_option("--reference", request.reference,
                      "Images as SOURCE, a recipe, or a statistics file [what "
                      "the run trains on]");
  command->add_option("--resize", request.resize,
                      "Kernel that brings images of another size to that of "
                      "the reference: area, bilinear or bicubic; none: leave "
                      "it to the network [refuse them]");
  command->add_option("--input_resize", request.input_resize,
                      "How weights of the FID Inception get their input: tf1 "
                      "(torch-fidelity), pytorch_fid or clean (clean-fid) "
                      "[tf1]");
  AddOptional(*command, "--dims", request.dims,
              "Layer of weights of the FID Inception by its size, as "
              "pytorch-fid's: 64, 192, 768 or 2048 [2048]");
  command->add_option("--features", request.features,
                      "File of the network that sees the images, clip:FILE or "
                      "dinov2:FILE for weights of these [a classifier of the "
                      "dataset; `gandem train-features`]");
  command->add_option("--precision", request.precision,
                      "Of the features' network: float32, bfloat16 or float16 "
                      "[float32]");
  command->add_option("--output", request.output,
                      "Folder for the cards [RUN/evaluation]");
  command->add_option("--save_statistics", request.save_statistics,
                      "Also write the images' mean and covariance: .npz as "
                      "pytorch-fid, or .safetensors");
  AddMetricOptions(*command, request);
  AddOptional(*command, "--workers", request.workers,
              "Processes that share the images; the figures do not "
              "depend on it [one a core, at most 16, and one in 250 "
              "images]");
  command
      ->add_option("--feature_cache_gib", request.feature_cache_gib,
                   "Disk for features that the next evaluation uses again, in "
                   "~/.cache/gandem/features/images; what was not used for "
                   "longest goes first; 0: keep none")
      ->capture_default_str();
  command->add_option("--cores", flags->cores,
                      "Cores to run on, as in 0-3,6 [all]");
  CLI::Option* const json = command->add_option(
      "--json", flags->json,
      "Also write the card to this file as JSON; -: to standard output instead "
      "of the text");
  command
      ->add_flag("--every_checkpoint", flags->every_checkpoint,
                 "Judge each checkpoint of the run that was not judged yet, "
                 "and name the best one")
      ->excludes(json);
  AddPythonOption(*command);
  command->add_flag("--quiet", flags->quiet, "Print no progress");
  // For `gandem train --evaluate_args`: only whether they are arguments of
  // this.
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
