// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/files/nearest.h"
#include "common/process/exit_code.h"
#include "common/trace/trace_writer.h"
#include "common/version.h"

namespace gandem {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/a\n"
    "  gandem status runs/a\n"
    "  gandem report runs/a\n"
    "  gandem sample runs/a -n 64 -o grid.png\n"
    "  gandem evaluate runs/a --metric fid\n"
    "  gandem models sngan --summary\n"
    "  gandem explain schedule.lag\n";

constexpr char kTrainExamples[] =
    "Ctrl-C writes a checkpoint and leaves; the same command goes on from it.\n"
    "A second Ctrl-C leaves at once.\n"
    "\n"
    "Exit codes: 0 all rounds are done, 2 bad usage or config, 3 diverged, 75\n"
    "stopped but resumable, 70 failed, 130 left at once.\n"
    "\n"
    "Examples:\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/a\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/b \\\n"
    "      --set rounds=200 --set schedule.lag=0\n"
    "  gandem train recipes/dcgan_64.textproto --run_dir runs/p --data photos\n"
    "  gandem train recipes/mlp_smoke.textproto --run_dir runs/c --colocated\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/d \\\n"
    "      --evaluate_every 1000 --evaluate_args \"--num 10000\"\n";

constexpr char kReportExamples[] =
    "Several runs are compared with the first one: S (strong scaling) has its\n"
    "global batch on other numbers of workers, W (weak scaling) its batch per\n"
    "worker. docs/fleets.md explains the columns.\n"
    "\n"
    "Examples:\n"
    "  gandem report runs/a\n"
    "  gandem report runs/one runs/two runs/four\n";

constexpr char kWatchExamples[] =
    "Arguments behind -- are those of `gandem evaluate`. Ends when the last\n"
    "round of the run is judged; started again it goes on.\n"
    "\n"
    "Examples:\n"
    "  gandem watch-eval runs/a\n"
    "  gandem watch-eval runs/a --every 1000 -- --metric fid,kid --num 10000\n";

constexpr char kCertificatesExamples[] =
    "Examples:\n"
    "  gandem certificates certs --host alpha,10.0.0.1 --host beta,10.0.0.2\n"
    "  gandem certificates certs --revoke beta\n";

constexpr char kSimulateExamples[] =
    "docs/prefetch.md says what a trace is, and what the table says.\n"
    "\n"
    "Example:\n"
    "  gandem simulate pipeline link.trace --memory_bytes 134217728\n";

constexpr char kDatasetExamples[] =
    "docs/data.md says what SOURCE may be.\n"
    "\n"
    "Examples:\n"
    "  gandem dataset show photos --recipe recipes/dcgan_64.textproto\n"
    "  gandem dataset verify 'shards/train-{000000..000009}.tar'\n"
    "  gandem dataset verify photos --exclude bad.txt\n"
    "  gandem dataset pack photos -o packed --resize 64 --exclude bad.txt\n";

constexpr char kExplainExamples[] =
    "Examples:\n"
    "  gandem explain                  lists all fields of a recipe\n"
    "  gandem explain schedule.lag\n";

// Commands whose arguments are evaluation_job's.
constexpr std::pair<const char*, const char*> kEvaluationCommands[] = {
    {"sample", "Make images with the generator of a run"},
    {"evaluate", "Judge a generator, or images, by FID and its like"},
    {"train-features",
     "Train a small classifier whose features stand in for an Inception's"},
    {"models", "List the networks with what they cost, or the layers of one"},
};

// CLI11's own checks name the limits of a double.
CLI::Validator AtLeastOne() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        int64_t number = 0;
        if (absl::SimpleAtoi(text, &number) && number >= 1) return "";
        return absl::StrCat("'", text, "' is not a whole number from 1 on");
      },
      "");
}

// All commands with the places that their arguments go to.
struct Parser {
  Parser() {
    app.footer(kExamples);
    app.set_version_flag("--version", absl::StrCat("gandem ", GandemVersion()));
    app.require_subcommand(1);
    AddTrain();
    AddStatus();
    AddReport();
    AddWatch();
    AddCertificates();
    AddDataset();
    AddSimulate();
    // ParseCommandLine hands their arguments on.
    for (const auto& [name, description] : kEvaluationCommands) {
      app.add_subcommand(name, description);
    }
    explain_command =
        app.add_subcommand("explain", "Describe a field of a recipe");
    explain_command->footer(kExplainExamples);
    explain_command->add_option("FIELD", explain.field,
                                "Path of the field, as in schedule.lag");
  }

  void AddTrain() {
    train_command =
        app.add_subcommand("train", "Train a GAN, or go on with it");
    train_command->footer(kTrainExamples);
    train_command
        ->add_option("RECIPE", train.recipe,
                     "RunConfig as text proto (`gandem explain`)")
        ->required();
    train_command
        ->add_option("--run_dir", train.run_dir,
                     "Folder of the run: checkpoints, samples, metrics, logs. "
                     "A run that it has goes on")
        ->required();
    train_command->add_option(
        "--data", train.data,
        "Images in place of the recipe's: a folder, a zip, tar shards, "
        "Parquet, "
        "CIFAR, IDX, npz; here, http://, https:// or s3:// (docs/data.md)");
    train_command
        ->add_option("--set", train.sets,
                     "Changes a field of the recipe: path.to.field=value")
        ->take_all()
        ->allow_extra_args(false);
    train_command->add_flag("--colocated", train.colocated,
                            "Train both networks in one process");
    train_command->add_flag(
        "--external", train.external,
        "Wait for workers that are started by hand, start none");
    train_command->add_option(
        "--listen", train.listen,
        "HOST:PORT for workers to connect to, in place of a unix socket");
    CLI::Option* const certificates = train_command->add_option(
        "--certificates", train.certificates,
        "Folder with ca.crt, NAME.crt and NAME.key, or FOLDER/NAME: other "
        "hosts connect to --listen encrypted and show theirs");
    train_command
        ->add_flag("--insecure_network", train.insecure_network,
                   "Let --listen be reached from other hosts, unencrypted")
        ->excludes(certificates);
    train_command->add_flag(
        "--trace", train.trace,
        absl::StrCat("Write a timeline of each worker to RUN_DIR/trace, for "
                     "ui.perfetto.dev; at most ",
                     kMaxTraceBytes >> 20, " MiB a file"));
    train_command
        ->add_option("--bind_cores", bind_cores,
                     "auto: each worker runs on cores of its own, if there are "
                     "enough; none: the operating system places them")
        ->check(CLI::IsMember({"auto", "none"}))
        ->capture_default_str();
    train_command
        ->add_option("--evaluate_every", train.evaluate_every,
                     "Judge a checkpoint every so many rounds, beside the "
                     "training (`gandem watch-eval`)")
        ->check(AtLeastOne());
    train_command->add_option(
        "--evaluate_cores", train.evaluate_cores,
        "Cores for that alone, as in 0-3,6 [those that the training uses, at "
        "low priority]");
    train_command->add_option("--evaluate_args", train.evaluate_args,
                              "Arguments of `gandem evaluate`, in quotes");
  }

  void AddWatch() {
    watch_command = app.add_subcommand(
        "watch-eval", "Judge a run's checkpoints as they appear");
    watch_command->footer(kWatchExamples);
    watch_command->add_option("RUN_DIR", watch.run_dir, "Folder of the run")
        ->required();
    watch_command
        ->add_option("--every", watch.every,
                     "Judge one checkpoint in so many rounds [all]")
        ->check(AtLeastOne());
    watch_command->add_flag("--once", watch.once,
                            "Judge what there is, do not wait for more");
  }

  void AddDataset() {
    dataset_command = app.add_subcommand(
        "dataset", "Show what a source of images is, read or pack all of it");
    dataset_command->footer(kDatasetExamples);
    dataset_command->require_subcommand(1);
    CLI::App* const show = dataset_command->add_subcommand(
        "show",
        "Count, classes, sizes, colors, and 64 images as training sees them");
    verify_command = dataset_command->add_subcommand(
        "verify", "Read every image and name each that cannot be read");
    pack_command = dataset_command->add_subcommand(
        "pack", "Write the images into tar shards with an index");
    for (CLI::App* const command : {show, verify_command, pack_command}) {
      command->add_option("SOURCE", dataset.source, "Images of any kind")
          ->required();
      command->add_option("--exclude", dataset.exclude,
                          command == verify_command
                              ? "Write those that cannot be read into this "
                                "list, for data.exclude"
                              : "List of images to leave out");
    }
    AddPack();
    show->add_option("--recipe", dataset.recipe,
                     "Recipe that says how training sees them");
    show->add_option("--image_size", dataset.image_size,
                     "Height and width without a recipe")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    show->add_option("-o,--output", dataset.output, "PNG of 64 images")
        ->capture_default_str();
  }

  void AddPack() {
    pack_command
        ->add_option("-o,--output", dataset.output,
                     "Folder for the shards, new or of this command before: "
                     "it goes on then")
        ->required();
    pack_command
        ->add_option("--shard_bytes", dataset.shard_bytes,
                     "Bytes of images in a shard, at most")
        ->check(AtLeastOne())
        ->capture_default_str();
    CLI::Option* const resize =
        pack_command
            ->add_option("--resize", dataset.resize,
                         "Height and width of all images, as PNG, by Pillow's "
                         "bicubic kernel [as they are]")
            ->check(CLI::Range(1, 4096));
    pack_command
        ->add_option("--crop", dataset.crop,
                     "What of them is resized. CENTER: the largest square in "
                     "the middle; NONE: all, stretched")
        ->check(CLI::IsMember({"CENTER", "NONE"}))
        ->needs(resize)
        ->capture_default_str();
  }

  void AddSimulate() {
    simulate_command = app.add_subcommand(
        "simulate", "Play settings against what a run went through");
    simulate_command->footer(kSimulateExamples);
    simulate_command->require_subcommand(1);
    CLI::App* const pipeline = simulate_command->add_subcommand(
        "pipeline", "What a trainer loses by waiting for images");
    pipeline->footer(kSimulateExamples);
    pipeline->add_option("TRACE", simulate.trace, "Pipeline trace")->required();
    pipeline
        ->add_option("--memory_bytes", simulate.memory_bytes,
                     "For all samples that wait: half of data.memory_bytes")
        ->check(AtLeastOne())
        ->capture_default_str();
    pipeline->add_flag("--json", simulate.json, "Print JSON");
  }

  void AddStatus() {
    status_command =
        app.add_subcommand("status", "Show how far a run is, live or not");
    status_command->footer("Example:\n  gandem status runs/a\n");
    status_command->add_option("RUN_DIR", status.run_dir, "Folder of the run")
        ->required();
    status_command->add_option(
        "--certificates", status.certificates,
        "This host's, where those of `gandem train` cannot be read");
    status_command->add_flag("--json", status.json, "Print JSON");
  }

  void AddCertificates() {
    certificates_command = app.add_subcommand(
        "certificates",
        "Make the certificates that hosts of a run show each other");
    certificates_command->footer(kCertificatesExamples);
    certificates_command
        ->add_option("DIR", certificates.folder, "Folder for them")
        ->required();
    CLI::Option* const host =
        certificates_command
            ->add_option("--host", certificates.hosts,
                         "A host by all names and addresses that others use, "
                         "as in alpha,10.0.0.1; again for each [this one]")
            ->take_all()
            ->allow_extra_args(false);
    certificates_command
        ->add_option("--days", certificates.days, "Valid for so long")
        ->check(CLI::Range(1, 3650))
        ->capture_default_str();
    certificates_command
        ->add_option("--revoke", certificates.revoke,
                     "Refuse the certificate of this NAME from now on")
        ->excludes(host);
  }

  void AddReport() {
    report_command = app.add_subcommand(
        "report", "Show where the time of runs goes, and how they scale");
    report_command->footer(kReportExamples);
    report_command->add_option("RUN_DIR", report.run_dirs, "Folders of runs")
        ->required();
    report_command->add_flag("--json", report.json, "Print JSON");
  }

  CLI::App app{
      "Trains GANs with the generator and the discriminator as "
      "separate processes.",
      "gandem"};
  CLI::App* train_command = nullptr;
  CLI::App* status_command = nullptr;
  CLI::App* report_command = nullptr;
  CLI::App* watch_command = nullptr;
  CLI::App* certificates_command = nullptr;
  CLI::App* dataset_command = nullptr;
  CLI::App* verify_command = nullptr;
  CLI::App* pack_command = nullptr;
  CLI::App* simulate_command = nullptr;
  CLI::App* explain_command = nullptr;
  TrainOptions train;
  std::string bind_cores = "auto";
  StatusOptions status;
  ReportOptions report;
  WatchOptions watch;
  CertificatesOptions certificates;
  DatasetOptions dataset;
  SimulateOptions simulate;
  ExplainOptions explain;
};

// Empty: it is one, or a flag.
std::string WhyNoCommand(const CLI::App& app, const std::string& name) {
  if (absl::StartsWith(name, "-")) return "";
  std::vector<std::string> commands;
  for (const CLI::App* const command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    if (commands.back() == name) return "";
  }
  const std::optional<std::string> nearest = Nearest(name, commands);
  return absl::StrCat(
      "gandem: there is no command '", name, "'; ",
      nearest.has_value()
          ? absl::StrCat("did you mean '", *nearest, "'?")
          : absl::StrCat("there are ", absl::StrJoin(commands, ", ")),
      "\n");
}

}  // namespace

Command ParseCommandLine(int argc, const char* const* argv, std::ostream& out,
                         std::ostream& err) {
  for (const auto& [name, description] : kEvaluationCommands) {
    if (argc >= 2 && absl::string_view(argv[1]) == name) {
      return EvaluationOptions{{argv + 1, argv + argc}};
    }
  }
  const char* const* const end = argv + argc;
  const char* const* const split =
      std::find(argv, end, absl::string_view("--"));
  Parser parser;
  if (split != end) parser.watch.evaluate_arguments.assign(split + 1, end);
  const std::string no_command =
      argc >= 2 ? WhyNoCommand(parser.app, argv[1]) : "";
  if (!no_command.empty()) {
    err << no_command;
    return NoCommand{kExitUsage};
  }
  try {
    parser.app.parse(static_cast<int>(split - argv), argv);
    if (split != end && !parser.watch_command->parsed()) {
      throw CLI::ArgumentMismatch("only watch-eval takes arguments behind --");
    }
  } catch (const CLI::ParseError& error) {
    const int code = parser.app.exit(error, out, err);
    return NoCommand{code == 0 ? kExitOk : kExitUsage};
  }
  parser.train.bind_cores = parser.bind_cores == "auto";
  if (parser.train_command->parsed()) return parser.train;
  if (parser.status_command->parsed()) return parser.status;
  if (parser.report_command->parsed()) return parser.report;
  if (parser.watch_command->parsed()) return parser.watch;
  if (parser.certificates_command->parsed()) return parser.certificates;
  if (parser.dataset_command->parsed()) {
    if (parser.verify_command->parsed()) {
      parser.dataset.action = DatasetAction::kVerify;
    } else if (parser.pack_command->parsed()) {
      parser.dataset.action = DatasetAction::kPack;
    }
    return parser.dataset;
  }
  if (parser.simulate_command->parsed()) return parser.simulate;
  return parser.explain;
}

std::vector<std::string> AllFlags() {
  Parser parser;
  std::vector<std::string> flags;
  const auto add = [&flags](const CLI::App& app, const std::string& prefix) {
    for (const CLI::Option* const option : app.get_options()) {
      flags.push_back(prefix + option->get_name(true, true));
    }
  };
  add(parser.app, "gandem ");
  for (const CLI::App* const command : parser.app.get_subcommands({})) {
    add(*command, command->get_name() + " ");
    for (const CLI::App* const part : command->get_subcommands({})) {
      add(*part, absl::StrCat(command->get_name(), " ", part->get_name(), " "));
    }
  }
  return flags;
}

}  // namespace gandem
