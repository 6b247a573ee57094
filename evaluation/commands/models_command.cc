// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/models_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/network_check.h"
#include "common/config/run_config.h"
#include "common/files/nearest.h"
#include "common/files/text_proto.h"
#include "common/process/exit_code.h"
#include "common/status.h"
#include "evaluation/commands/command_lines.h"
#include "models/registry/registry.h"
#include "models/registry/shapes_only.h"
#include "models/registry/summary.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

constexpr int64_t kLargestListed = 128;
constexpr int64_t kUsualSize = 32;       // for families of any image size
constexpr int64_t kUsualClasses = 1000;  // for families that need labels

constexpr char kModelsCommandHelp[] = R"(Examples:
  gandem models
  gandem models dcgan --image_size 64
  gandem models sngan --image_size 128 --summary
  gandem models dcgan --summary --set width=128 --set noise_dim=128
  gandem models my_recipe.textproto --set generator.network.dcgan.width=128

GFLOP counts the operations of a forward pass over one image in convolutions,
fully connected layers and attention; a multiply and an add are two. Activations
are the outputs of all layers for one image in float32. Buffers are running
statistics, spectral-norm vectors and counters.)";

// The networks of a family at one image size, or of a recipe.
struct Case {
  NetworkConfig generator;
  NetworkConfig discriminator;
  DataShape data;
};

struct Summaries {
  NetworkSummary generator;
  NetworkSummary discriminator;
};

// Summarizes a network. Allocates no tensor values for built-in networks.
template <typename Make>
absl::StatusOr<NetworkSummary> SummarizeNetwork(Make make,
                                                const NetworkConfig& config,
                                                const DataShape& data) {
  std::optional<ShapesOnly> shapes;
  if (!config.has_own() && !config.has_python()) shapes.emplace();
  GANDEM_ASSIGN_OR_RETURN(const auto network, make(config, data));
  shapes.reset();
  return Summarize(*network, data);
}

absl::StatusOr<Summaries> SummarizeBoth(const Case& c) {
  Summaries result;
  GANDEM_ASSIGN_OR_RETURN(
      result.generator, SummarizeNetwork(&MakeGenerator, c.generator, c.data));
  GANDEM_ASSIGN_OR_RETURN(
      result.discriminator,
      SummarizeNetwork(&MakeDiscriminator, c.discriminator, c.data));
  return result;
}

absl::StatusOr<NetworkConfig> ConfigOf(const std::string& family,
                                       const ModelsFlags& flags) {
  NetworkConfig config;
  GANDEM_RETURN_IF_ERROR(SetField(absl::StrCat(family, "={}"), config));
  for (const std::string& set : flags.sets) {
    GANDEM_RETURN_IF_ERROR(SetField(absl::StrCat(family, ".", set), config));
  }
  return config;
}

std::vector<int64_t> SizesOf(const google::protobuf::FieldDescriptor& family,
                             const ModelsFlags& flags) {
  if (flags.image_size != 0) return {flags.image_size};
  const std::vector<int64_t> all = ImageSizesOf(family);
  if (all.empty()) return {kUsualSize};
  std::vector<int64_t> sizes;
  for (const int64_t size : all) {
    if (size <= kLargestListed || sizes.empty()) sizes.push_back(size);
  }
  return sizes;
}

absl::StatusOr<std::vector<Case>> CasesOf(
    const google::protobuf::FieldDescriptor& family, const ModelsFlags& flags) {
  GANDEM_ASSIGN_OR_RETURN(const NetworkConfig config,
                          ConfigOf(family.name(), flags));
  const bool labels_needed =
      family.options().GetExtension(labels) == LABELS_NEEDED;
  const int64_t classes =
      flags.classes == 0 && labels_needed ? kUsualClasses : flags.classes;
  std::vector<Case> cases;
  for (const int64_t size : SizesOf(family, flags)) {
    cases.push_back({.generator = config,
                     .discriminator = config,
                     .data = {.image = {.channels = flags.channels,
                                        .height = size,
                                        .width = size},
                              .num_classes = classes}});
  }
  return cases;
}

// Groups digits: 1234567 -> "1,234,567".
std::string Grouped(int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Giga(int64_t multiply_adds) {
  return absl::StrFormat("%.4f", 2e-9 * static_cast<double>(multiply_adds));
}

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.2f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string CostLine(absl::string_view family, absl::string_view image,
                     absl::string_view role, const NetworkSummary& network) {
  return absl::StrFormat("%-12s %9s  %-13s %14s %10s %12s %13s\n", family,
                         image, role, Grouped(network.parameters),
                         Grouped(network.buffers), Giga(network.multiply_adds),
                         Mebibytes(network.activation_bytes));
}

std::string CostHeader() {
  return absl::StrFormat("%-12s %9s  %-13s %14s %10s %12s %13s\n", "family",
                         "image", "network", "parameters", "buffers",
                         "GFLOP/image", "activations");
}

std::string CostLines(const Case& c, const Summaries& summaries) {
  const std::string family = FamilyFieldOf(c.generator)->name();
  const std::string other = FamilyFieldOf(c.discriminator)->name();
  const std::string image = absl::StrCat(
      c.data.image.height, "x", c.data.image.width, "x", c.data.image.channels);
  return CostLine(family, image, "generator", summaries.generator) +
         CostLine(other == family ? "" : other, "", "discriminator",
                  summaries.discriminator);
}

std::string LayerTable(absl::string_view title, const NetworkSummary& network) {
  size_t width = title.size();
  for (const LayerSummary& layer : network.layers) {
    width = std::max(width, layer.name.size());
  }
  const int column = static_cast<int>(width);
  const auto line = [column](
                        absl::string_view name, absl::string_view kind,
                        absl::string_view output, absl::string_view parameters,
                        absl::string_view buffers, absl::string_view giga) {
    return absl::StrFormat("%-*s  %-16s %14s %12s %10s %12s\n", column, name,
                           kind, output, parameters, buffers, giga);
  };
  std::string text =
      line(title, "layer", "output", "parameters", "buffers", "GFLOP/image");
  for (const LayerSummary& layer : network.layers) {
    absl::StrAppend(
        &text,
        line(layer.name, layer.kind, absl::StrJoin(layer.output_shape, "x"),
             Grouped(layer.parameters), Grouped(layer.buffers),
             Giga(layer.multiply_adds)));
  }
  absl::StrAppend(&text,
                  line("total", "", "", Grouped(network.parameters),
                       Grouped(network.buffers), Giga(network.multiply_adds)));
  return text;
}

absl::Status NoSuchFamily(const std::string& name) {
  std::vector<std::string> names;
  for (const auto* const family : NetworkFamilies()) {
    names.push_back(family->name());
  }
  const std::string guess = DidYouMean(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no family '", name, "'; ",
      guess.empty()
          ? absl::StrCat("expected one of ", absl::StrJoin(names, ", "))
          : guess));
}

std::string LayerTables(const Summaries& summaries) {
  return absl::StrCat("\n", LayerTable("generator", summaries.generator), "\n",
                      LayerTable("discriminator", summaries.discriminator),
                      "\n");
}

absl::Status ShowRecipe(const ModelsFlags& flags,
                        absl::FunctionRef<void(const std::string&)> print) {
  const ModelsFlags others;
  if (flags.image_size != others.image_size ||
      flags.channels != others.channels || flags.classes != others.classes) {
    return absl::InvalidArgumentError(
        "--image_size, --channels and --classes are for families: change those "
        "of a recipe with --set, for example --set data.image_size=64");
  }
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          LoadRunConfig(flags.name, flags.sets));
  const Case c = {.generator = config.generator().network(),
                  .discriminator = config.discriminator().network(),
                  .data = DataShapeOf(config.data())};
  GANDEM_ASSIGN_OR_RETURN(const Summaries summaries,
                          CatchTorchOr([&c] { return SummarizeBoth(c); }));
  print(CostHeader() + CostLines(c, summaries));
  if (flags.summary) print(LayerTables(summaries));
  return absl::OkStatus();
}

int RunModels(const ModelsFlags& flags) {
  const absl::Status listed = ListModels(flags, [](const std::string& text) {
    absl::PrintF("%s", text);
    std::fflush(stdout);
  });
  return listed.ok() ? kExitOk : ReportFailure("models", listed);
}

}  // namespace

void AddModelsCommand(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<ModelsFlags>();
  CLI::App* const command = app.add_subcommand(
      "models", "List the networks and their costs, or the layers of one");
  command->add_option("NAME", flags->name,
                      "Network family, or a recipe (.textproto) [all "
                      "families]");
  command->add_flag("--summary", flags->summary,
                    "Print one row per layer, with the shape of its output");
  command
      ->add_option("--set", flags->sets,
                   "Set a field of the family or of the recipe: field=value "
                   "(`gandem explain` lists the fields)")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--image_size", flags->image_size,
                   "Height and width in pixels [each size of the family up to "
                   "128]")
      ->check(CLI::Range(1, 4096));
  command->add_option("--channels", flags->channels, "Channels of an image")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--classes", flags->classes,
                   "Number of classes; 0: the networks get no labels")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  AddPythonOption(*command);
  command->footer(kModelsCommandHelp);
  command->callback([flags, &exit_code] { exit_code = RunModels(*flags); });
}

absl::Status ListModels(const ModelsFlags& flags,
                        absl::FunctionRef<void(const std::string&)> print) {
  if (flags.name.empty() && (flags.summary || !flags.sets.empty())) {
    return absl::InvalidArgumentError(
        "--summary and --set need the NAME of a family, or a recipe");
  }
  if (absl::EndsWith(flags.name, ".textproto")) return ShowRecipe(flags, print);
  bool found = false;
  bool printed = false;
  for (const auto* const family : NetworkFamilies()) {
    if (!flags.name.empty() && family->name() != flags.name) continue;
    found = true;
    GANDEM_ASSIGN_OR_RETURN(const std::vector<Case> cases,
                            CasesOf(*family, flags));
    for (const Case& c : cases) {
      const absl::StatusOr<Summaries> summaries =
          CatchTorchOr([&c] { return SummarizeBoth(c); });
      // Some families do not support these images or labels.
      if (!summaries.ok() && flags.name.empty()) continue;
      GANDEM_RETURN_IF_ERROR(summaries);
      if (!std::exchange(printed, true)) print(CostHeader());
      print(CostLines(c, *summaries));
      if (flags.summary) print(LayerTables(*summaries));
    }
  }
  if (!found) return NoSuchFamily(flags.name);
  if (!printed) {
    return absl::InvalidArgumentError(
        "no family supports this --image_size, --channels and --classes");
  }
  return absl::OkStatus();
}

}  // namespace gandem
