// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/export_command.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/network_check.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/process/exit_code.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "common/version.h"
#include "evaluation/commands/command_lines.h"
#include "evaluation/commands/sample_command.h"
#include "evaluation/export/exported_state.h"
#include "evaluation/export/model_card.h"
#include "evaluation/export/script_module.h"
#include "evaluation/images/load_generator.h"
#include "evaluation/images/sample_noise.h"
#include "models/torch.h"
#include "training/inputs/conditions.h"
#include "training/inputs/pairs.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kGridImages = 64;
constexpr char kScriptEnding[] = ".pt";
constexpr char kTensorsEnding[] = ".safetensors";

constexpr char kExportHelp[] = R"(Examples:
  gandem export runs/a -o generator.pt
  gandem export runs/a -o generator.safetensors
  gandem export runs/a -o raw/generator.pt --raw --checkpoint 1000

torch.jit.load reads FILE.pt, load_state_dict takes FILE.safetensors;
docs/export.md explains both, and ONNX. Exit codes: 0 done, 2 the arguments, the
run folder or the location of FILE must be repaired, 70 internal error.)";

bool IsScript(const ExportRequest& request) {
  return absl::EndsWith(request.output, kScriptEnding);
}

absl::Status CheckExport(const ExportRequest& request) {
  if (IsScript(request) || absl::EndsWith(request.output, kTensorsEnding)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "output '", request.output, "' ",
      absl::EndsWith(request.output, ".onnx")
          ? "is ONNX: export a .pt file and convert it with Python's "
            "torch.onnx; docs/export.md shows how"
          : "ends neither with .pt (for torch.jit.load) nor with .safetensors "
            "(for load_state_dict)"));
}

// Returns the source of example inputs for the tracer. Labels need no dataset.
ConditionSource ConditionsOf(const LoadedGenerator& generator) {
  if (generator.pairs != nullptr) return InputsOf(generator.pairs);
  return KeyedLabels(generator.plan.samples.seed,
                     generator.plan.data.shape.num_classes, at::kCPU);
}

absl::StatusOr<GeneratorInputs> FirstInputs(const LoadedGenerator& generator,
                                            int64_t count) {
  const IndexRange range = {.first = 0, .count = count};
  GANDEM_ASSIGN_OR_RETURN(Condition condition,
                          generator.conditions(Purpose::kSample, 0, range));
  at::Tensor& images_NCHW = condition.images_NCHW;
  if (images_NCHW.defined()) images_NCHW = images_NCHW.to(at::kFloat);
  return GeneratorInputs{
      .noise_NZ = SampleNoise(generator.plan.samples.seed, NoiseOptions(),
                              generator.network->noise_dim(), range),
      .condition = std::move(condition)};
}

// Returns an error that explains why a network in Python cannot be traced.
absl::Status NotRecorded(const PythonConfig& network, const absl::Status& why) {
  if (absl::IsResourceExhausted(why)) return why;
  return absl::InvalidArgumentError(absl::StrCat(
      "generator.network.python '", network.name(), "' of '", network.module(),
      "' cannot be recorded as a .pt: its forward must consist of operations "
      "of torch, the same for any number of images. It must use no random "
      "numbers and no torch.autograd.Function. -o FILE.safetensors writes its "
      "state dict, which your class loads. Error of the tracer: ",
      why.message()));
}

absl::StatusOr<std::vector<std::string>> WriteScript(
    const LoadedGenerator& generator, const std::string& path) {
  const NetworkConfig& network = generator.plan.generator.network.network;
  const absl::StatusOr<ScriptModule> script = CatchTorchOr([&] {
    return MakeScriptModule(*generator.network, [&](int64_t count) {
      return FirstInputs(generator, count);
    });
  });
  if (!script.ok() && network.has_python()) {
    return NotRecorded(network.python(), script.status());
  }
  GANDEM_RETURN_IF_ERROR(script);
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(path, script->bytes));
  return script->arguments;
}

std::string FamilyOf(const LoadedGenerator& generator) {
  return FamilyFieldOf(generator.plan.generator.network.network)->name();
}

absl::Status WriteState(const ExportRequest& request,
                        const LoadedGenerator& generator) {
  const std::string temporary = TemporaryName(request.output);
  // Python packages require the entry "format".
  absl::Status written =
      WriteSafetensors(temporary, ExportState(*generator.network),
                       {{"format", "pt"},
                        {"gandem", std::string(GandemVersion())},
                        {"family", FamilyOf(generator)},
                        {"step", absl::StrCat(generator.step)}})
          .status();
  if (written.ok()) written = RenameDurably(temporary, request.output);
  if (!written.ok()) RemoveAll(temporary).IgnoreError();
  return written;
}

// Returns the metric cards of the checkpoint's averaged weights, sorted by file
// name. Ignores other files.
std::vector<MetricCard> CardsOf(const ExportRequest& request, int64_t step) {
  std::vector<MetricCard> cards;
  if (request.raw) return cards;
  const std::string folder = request.run_dir + "/evaluation";
  const auto names = ListDirectory(folder);
  if (!names.ok()) return cards;
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".textproto")) continue;
    auto card = ReadMetricCard(absl::StrCat(folder, "/", name));
    if (card.ok() && card->images().has_generator() &&
        card->images().generator().step() == step) {
      cards.push_back(*std::move(card));
    }
  }
  return cards;
}

// Returns the line of the usage example that creates the network.
std::string ClassOf(const NetworkConfig& network) {
  if (!network.has_python()) {
    return "# `network` must have the module names of `gandem models NAME "
           "--summary`";
  }
  const PythonConfig& python = network.python();
  return absl::StrCat("network = ", python.name(), "(",
                      absl::StrJoin(python.arguments(), ", "), ")  # of ",
                      fs::path(python.module()).filename().string());
}

std::string UsageOf(const ExportRequest& request, const NetworkConfig& network,
                    const ExportReport& report, int64_t noise_dim) {
  const std::string file = fs::path(request.output).filename();
  if (!IsScript(request)) {
    return absl::StrFormat(
        "from safetensors.torch import load_file\n\n"
        "%s\n"
        "network.load_state_dict(load_file(\"%s\"), strict=True)\n"
        "network.eval()\n",
        ClassOf(network), file);
  }
  std::string text = absl::StrFormat(
      "import torch\n\ngenerator = torch.jit.load(\"%s\")\n", file);
  for (const std::string& argument : report.arguments) {
    if (argument == "noise") {
      absl::StrAppendFormat(&text, "noise = torch.randn(16, %d)\n", noise_dim);
    } else if (argument == "labels") {
      absl::StrAppend(&text, "labels = torch.zeros(16, dtype=torch.int64)\n");
    } else if (argument == "images") {
      absl::StrAppend(&text,
                      "images = ...  # float32 [N, C, H, W] in [-1, 1]\n");
    }
  }
  return absl::StrCat(text, "with torch.no_grad():\n    made = generator(",
                      absl::StrJoin(report.arguments, ", "),
                      ")  # [N, C, H, W] in (-1, 1)\n");
}

ModelCardFacts FactsOf(const ExportRequest& request,
                       const LoadedGenerator& generator,
                       const ExportReport& report) {
  const RunPlan& plan = generator.plan;
  const DataShape& data = plan.data.shape;
  ModelCardFacts facts = {
      .family = FamilyOf(generator),
      .file = fs::path(request.output).filename(),
      .usage = UsageOf(request, plan.generator.network.network, report,
                       generator.network->noise_dim()),
      .is_average = !request.raw,
      .translates = generator.pairs != nullptr,
      .step = generator.step,
      .rounds = plan.rounds,
      .real_images = generator.step * plan.schedule().TrainImagesPerRound(),
      .noise_dim = generator.network->noise_dim(),
      .num_classes = data.num_classes,
      .image = data.image,
      .cards = CardsOf(request, generator.step)};
  for (const at::Tensor& parameter : generator.network->parameters()) {
    facts.num_parameters += parameter.numel();
  }
  return facts;
}

// Returns README.md, or another path if the existing one is no model card.
absl::StatusOr<std::string> CardPath(const std::string& output) {
  const std::string readme = ParentOf(output) + "/README.md";
  if (!PathExists(readme)) return readme;
  GANDEM_ASSIGN_OR_RETURN(const std::string text, ReadFile(readme));
  if (IsModelCard(text)) return readme;
  return fs::path(output).replace_extension(".md").string();
}

absl::Status WriteCard(const ExportRequest& request,
                       const LoadedGenerator& generator, ExportReport& report) {
  ModelCardFacts facts = FactsOf(request, generator, report);
  const fs::path grid = fs::path(request.output).replace_extension(".png");
  const absl::Status sampled =
      RunSampleCommand({.run_dir = request.run_dir,
                        .num_images = kGridImages,
                        .output = grid,
                        .checkpoint = report.step,
                        .weights = request.raw ? GeneratorWeights::kRaw
                                               : GeneratorWeights::kAverage})
          .status();
  // The grid is optional: it may need a dataset that this machine lacks.
  if (sampled.ok()) {
    facts.grid = grid.filename();
  } else {
    report.warnings.push_back(
        absl::StrCat("no grid of images: ", sampled.message()));
  }
  GANDEM_ASSIGN_OR_RETURN(facts.recipe,
                          ReadFile(report.checkpoint + "/config.textproto"));
  GANDEM_ASSIGN_OR_RETURN(report.card, CardPath(request.output));
  return WriteFileDurably(report.card, ModelCardText(facts));
}

absl::StatusOr<ExportReport> Export(const ExportRequest& request) {
  GANDEM_ASSIGN_OR_RETURN(
      LoadedGenerator generator,
      LoadGenerator(
          request.run_dir, request.checkpoint,
          request.raw ? GeneratorWeights::kRaw : GeneratorWeights::kAverage));
  // Exports are float32; only tests train in double precision.
  generator.network->to(at::kFloat);
  generator.conditions = ConditionsOf(generator);
  ExportReport report = {.checkpoint = generator.checkpoint,
                         .step = generator.step};
  for (const std::string& skipped : generator.skipped) {
    report.warnings.push_back("skipped " + skipped);
  }
  if (IsScript(request)) {
    GANDEM_ASSIGN_OR_RETURN(report.arguments,
                            WriteScript(generator, request.output));
  } else {
    GANDEM_RETURN_IF_ERROR(WriteState(request, generator));
  }
  GANDEM_RETURN_IF_ERROR(WriteCard(request, generator, report));
  return report;
}

int PrintExport(const ExportRequest& request) {
  const FilePatience patience("gandem export");
  const absl::StatusOr<ExportReport> report = RunExportCommand(request);
  if (!report.ok()) return ReportFailure("export", report.status());
  for (const std::string& warning : report->warnings) {
    absl::FPrintF(stderr, "warning: %s\n", warning);
  }
  absl::PrintF("checkpoint of step %d: %s\n", report->step, report->checkpoint);
  absl::PrintF("%s: %s\nmodel card: %s\n",
               report->arguments.empty()
                   ? "state dict"
                   : absl::StrCat("forward(",
                                  absl::StrJoin(report->arguments, ", "), ")"),
               request.output, report->card);
  return kExitOk;
}

}  // namespace

absl::StatusOr<ExportReport> RunExportCommand(const ExportRequest& request) {
  GANDEM_RETURN_IF_ERROR(CheckExport(request));
  return CatchTorchOr([&] { return Export(request); });
}

void AddExportCommand(CLI::App& app, int& exit_code) {
  const auto request = std::make_shared<ExportRequest>();
  CLI::App* const command = app.add_subcommand(
      "export",
      "Export the generator of a run for use in PyTorch without gandem");
  command->add_option("RUN_DIR", request->run_dir, "Run directory")->required();
  command
      ->add_option("-o,--output", request->output,
                   "FILE.pt or FILE.safetensors; a grid and a model card "
                   "(README.md) are written beside it")
      ->required();
  command
      ->add_option_function<int64_t>(
          "--checkpoint",
          [request](const int64_t& step) { request->checkpoint = step; },
          "Step of the checkpoint [the newest complete one]")
      ->check(CLI::NonNegativeNumber);
  AddPythonOption(*command);
  command->add_flag("--raw", request->raw,
                    "Export the weights of the last step instead of their "
                    "average");
  command->footer(kExportHelp);
  command->callback(
      [request, &exit_code] { exit_code = PrintExport(*request); });
}

}  // namespace gandem
