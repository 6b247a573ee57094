// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/process/exit_code.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CommandLineTest : public ::testing::Test {
 protected:
  Command Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "gandem");
    return ParseCommandLine(static_cast<int>(arguments.size()),
                            arguments.data(), out_, err_);
  }
  int ExitCode(const Command& command) {
    const auto* const none = std::get_if<NoCommand>(&command);
    return none == nullptr ? -1 : none->exit_code;
  }
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CommandLineTest, UnknownFlagsAreNamedFirst) {
  const struct {
    std::vector<const char*> arguments;
    const char* says;
  } kCases[] = {
      {{"train", "r", "--run-dir", "q"},
       "gandem train: there is no flag --run-dir; did you mean '--run_dir'?"},
      {{"train", "r", "--run_dir", "q", "--colocate", "3"},
       "there is no flag --colocate; did you mean '--colocated'?"},
      {{"launch", "slurm", "r", "--run_dri=q"},
       "gandem launch slurm: there is no flag --run_dri; did you mean "
       "'--run_dir'?"},
      {{"status", "q", "--frobnicate"},
       "gandem status: there is no flag --frobnicate; --help lists"},
      {{"train", "r", "--run_dir", "q", "--rounds", "3"},
       "there is no flag --rounds; --help lists the flags, and --set "
       "FIELD=VALUE sets a field of the recipe"},
      // The value of a flag is not checked as a flag.
      {{"train", "r", "--evaluate_args", "--num 3"}, "--run_dir is required"},
      {{"train", "r", "--run_dir"}, "--run_dir"}};
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.says);
    err_.str("");
    EXPECT_EQ(ExitCode(Parse(one.arguments)), kExitUsage);
    EXPECT_THAT(err_.str(), HasSubstr(one.says));
  }
  EXPECT_EQ(ExitCode(Parse({"train", "--help"})), kExitOk);
}

// Example: gandem train r --run_dir q --data "$PHOTOS"
TEST_F(CommandLineTest, EmptyValuesAreRejected) {
  const std::vector<std::vector<const char*>> kCases = {
      {"train", "r", "--run_dir", "q", "--data", ""},
      {"train", "r", "--run_dir", "q", "--listen", ""},
      {"train", "", "--run_dir", "q"},
      {"train", "r", "--run_dir", "q", "--set", "a=1", "--set", ""},
      {"launch", "slurm", "r", "--run_dir", "q", "--data", ""},
      {"status", ""}};
  for (const auto& arguments : kCases) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    err_.str("");
    EXPECT_EQ(ExitCode(Parse(arguments)), kExitUsage);
    EXPECT_THAT(err_.str(), HasSubstr("the value is empty"));
  }
}

// If you add, rename or remove a flag, update this list, README and docs.
TEST_F(CommandLineTest, TheFlagsAreFrozen) {
  const std::vector<std::string> flags = AllFlags();
  EXPECT_THAT(
      flags,
      ElementsAre(
          "gandem -h,--help", "gandem --version", "train -h,--help",
          "train RECIPE", "train --plan", "train --candidate",
          "train --run_dir", "train --data", "train --set", "train --python",
          "train --accept_changed_code", "train --metrics_listen",
          "train --certificates", "train --insecure_network", "train --trace",
          "train --log_format", "train --devices", "train --hosts",
          "train --memory", "train --link", "train --init_generator",
          "train --init_discriminator", "train --colocated", "train --external",
          "train --listen", "train --bind_cores", "train --evaluate_every",
          "train --evaluate_cores", "train --evaluate_args",
          "coordinate -h,--help", "coordinate RECIPE", "coordinate --plan",
          "coordinate --candidate", "coordinate --run_dir", "coordinate --data",
          "coordinate --set", "coordinate --python",
          "coordinate --accept_changed_code", "coordinate --metrics_listen",
          "coordinate --certificates", "coordinate --insecure_network",
          "coordinate --trace", "coordinate --log_format",
          "coordinate --listen", "coordinate --start_by", "launch -h,--help",
          "launch slurm -h,--help", "launch slurm RECIPE",
          "launch slurm --candidate", "launch slurm --set",
          "launch slurm --dry_run", "launch slurm --data",
          "launch slurm --run_dir", "launch slurm --python",
          "launch slurm --accept_changed_code", "launch slurm --metrics_port",
          "launch slurm --log_format", "launch slurm --insecure_network",
          "launch slurm --nodes", "launch slurm --partition",
          "launch slurm --account", "launch slurm --time",
          "launch slurm --gpus_per_worker", "launch slurm --signal_seconds",
          "launch kubernetes -h,--help", "launch kubernetes RECIPE",
          "launch kubernetes --candidate", "launch kubernetes --set",
          "launch kubernetes --dry_run", "launch kubernetes --data",
          "launch kubernetes -o,--output", "launch kubernetes --name",
          "launch kubernetes --namespace", "launch kubernetes --image",
          "launch kubernetes --pvc", "launch kubernetes --storage_class",
          "launch kubernetes --storage_size", "launch kubernetes --memory",
          "launch kubernetes --metrics_port", "launch kubernetes --log_format",
          "status -h,--help", "status RUN_DIR", "status --certificates",
          "status --json", "logs -h,--help", "logs RUN_DIR", "logs --follow",
          "logs --since", "logs --role", "logs --rank", "logs --level",
          "report -h,--help", "report RUN_DIR", "report --json",
          "report --html", "compare -h,--help", "compare RUN_DIR",
          "compare --metric", "compare --checkpoint", "compare --json",
          "watch-eval -h,--help", "watch-eval RUN_DIR", "watch-eval --every",
          "watch-eval --once", "doctor -h,--help", "doctor RECIPE",
          "doctor --run_dir", "doctor --host", "doctor --listen",
          "doctor --token_file", "doctor --certificates",
          "doctor --insecure_network", "dataset -h,--help",
          "dataset show -h,--help", "dataset show SOURCE",
          "dataset show --exclude", "dataset show --member",
          "dataset show --recipe", "dataset show --image_size",
          "dataset show -o,--output", "dataset verify -h,--help",
          "dataset verify SOURCE", "dataset verify --exclude",
          "dataset verify --member", "dataset pack -h,--help",
          "dataset pack SOURCE", "dataset pack --exclude",
          "dataset pack --member", "dataset pack -o,--output",
          "dataset pack --shard_bytes", "dataset pack --resize",
          "dataset pack --crop", "profile -h,--help", "profile RECIPE",
          "profile -o,--output", "profile --data", "profile --set",
          "profile --budget", "profile --memory", "profile --python",
          "profile --fresh", "plan -h,--help", "plan RECIPE", "plan --data",
          "plan --set", "plan --devices", "plan --hosts", "plan --memory",
          "plan --link", "plan --objective", "plan --profile", "plan --lag",
          "plan --max_batch", "plan --noise_of", "plan --ignore_machine",
          "plan --as_it_is", "plan --colocated", "plan -o,--output",
          "simulate -h,--help", "simulate PLAN", "simulate --profile",
          "simulate --devices", "simulate --jitter", "trials -h,--help",
          "trials RECIPE", "trials -o,--output", "trials --set",
          "trials --trials", "trials --trial_hours", "trials --seeds",
          "trials --rounds", "sample -h,--help", "export -h,--help",
          "evaluate -h,--help", "train-features -h,--help", "models -h,--help",
          "explain -h,--help", "explain FIELD"));
}

TEST_F(CommandLineTest, Coordinate) {
  const auto by_hand = std::get<TrainOptions>(
      Parse({"coordinate", "r", "--run_dir", "a", "--listen", "h:0"}));
  EXPECT_TRUE(by_hand.external);
  EXPECT_EQ(by_hand.listen, "h:0");
  const auto started = std::get<TrainOptions>(
      Parse({"coordinate", "--plan", "p", "--run_dir", "a", "--listen", "h:0",
             "--start_by", "./by_ssh.sh"}));
  EXPECT_FALSE(started.external);
  EXPECT_TRUE(started.elsewhere());
  EXPECT_EQ(started.start_by, "./by_ssh.sh");
  EXPECT_EQ(started.metrics_listen, "");
  EXPECT_EQ(started.log_format, "text");
  const auto watched = std::get<TrainOptions>(
      Parse({"coordinate", "r", "--run_dir", "a", "--listen", "h:0",
             "--metrics_listen", "h:9400", "--log_format", "json"}));
  EXPECT_EQ(watched.metrics_listen, "h:9400");
  EXPECT_EQ(watched.log_format, "json");
  // No recipe; no --listen; two recipes; a plan of this machine.
  EXPECT_EQ(
      ExitCode(Parse({"coordinate", "--run_dir", "a", "--listen", "h:0"})),
      kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"coordinate", "r", "--run_dir", "a"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"coordinate", "r", "--plan", "p", "--run_dir", "a",
                            "--listen", "h:0"})),
            kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"coordinate", "--plan", "AUTO", "--run_dir", "a",
                            "--listen", "h:0"})),
            kExitUsage);
}

TEST_F(CommandLineTest, LaunchSlurm) {
  const auto launch = std::get<LaunchSlurmOptions>(Parse(
      {"launch", "slurm", "r", "--run_dir", "a", "--nodes", "3", "--time",
       "8:00:00", "--gpus_per_worker", "1", "--set", "rounds=3", "--dry_run"}));
  EXPECT_EQ(launch.flags.recipe, "r");
  EXPECT_EQ(launch.allocation.nodes, 3);
  EXPECT_EQ(launch.allocation.time, "8:00:00");
  EXPECT_EQ(launch.allocation.gpus_per_worker, 1);
  EXPECT_EQ(launch.flags.sets, std::vector<std::string>{"rounds=3"});
  EXPECT_TRUE(launch.flags.dry_run);
  EXPECT_FALSE(launch.allocation.metrics_port.has_value());
  EXPECT_EQ(launch.allocation.log_format, "text");
  const auto watched = std::get<LaunchSlurmOptions>(
      Parse({"launch", "slurm", "r", "--run_dir", "a", "--metrics_port", "0",
             "--log_format", "json"}));
  EXPECT_EQ(watched.allocation.metrics_port, 0);
  EXPECT_EQ(watched.allocation.log_format, "json");
  for (const char* const port : {"-1", "65536", "h:9400"}) {
    EXPECT_EQ(ExitCode(Parse({"launch", "slurm", "r", "--run_dir", "a",
                              "--metrics_port", port})),
              kExitUsage)
        << port;
  }
  EXPECT_EQ(ExitCode(Parse({"launch"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"launch", "slurm", "r"})), kExitUsage);
}

TEST_F(CommandLineTest, Plan) {
  const auto plan = std::get<PlanOptions>(
      Parse({"plan", "r", "--devices", "8", "--link", "25Gbit,20ms", "--memory",
             "40GiB", "--objective", "throughput", "-o", "p"}));
  EXPECT_EQ(plan.recipe, "r");
  EXPECT_EQ(plan.machines.devices, 8);
  EXPECT_EQ(plan.machines.link, "25Gbit,20ms");
  EXPECT_EQ(plan.machines.memory, "40GiB");
  EXPECT_EQ(plan.objective, "throughput");
  EXPECT_EQ(plan.output, "p");
  EXPECT_EQ(ExitCode(Parse({"plan"})), kExitUsage);
  EXPECT_FALSE(plan.as_it_is);
  const auto as_it_is =
      std::get<PlanOptions>(Parse({"plan", "r", "--as_it_is", "--colocated"}));
  EXPECT_TRUE(as_it_is.as_it_is);
  EXPECT_TRUE(as_it_is.colocated);
  EXPECT_EQ(ExitCode(Parse({"plan", "r", "--colocated"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"plan", "r", "--devices", "0"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"plan", "r", "--objective", "speed"})), kExitUsage);
}

TEST_F(CommandLineTest, LaunchKubernetes) {
  const auto launch = std::get<LaunchKubernetesOptions>(Parse({"launch",
                                                               "kubernetes",
                                                               "r",
                                                               "--image",
                                                               "i",
                                                               "--pvc",
                                                               "p",
                                                               "--namespace",
                                                               "n",
                                                               "--set",
                                                               "rounds=4",
                                                               "--set",
                                                               "name=a",
                                                               "--dry_run",
                                                               "-o",
                                                               "d",
                                                               "--metrics_port",
                                                               "9400",
                                                               "--log_format",
                                                               "json"}));
  EXPECT_EQ(launch.flags.recipe, "r");
  EXPECT_EQ(launch.run.image, "i");
  EXPECT_EQ(launch.run.volume.claim, "p");
  EXPECT_EQ(launch.run.name_space, "n");
  EXPECT_THAT(launch.flags.sets, ElementsAre("rounds=4", "name=a"));
  EXPECT_TRUE(launch.flags.dry_run);
  EXPECT_EQ(launch.output, "d");
  EXPECT_EQ(launch.run.metrics_port, 9400);
  EXPECT_EQ(launch.run.log_format, "json");
  EXPECT_EQ(ExitCode(Parse({"launch"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"launch", "kubernetes", "r"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--image"));
}

TEST_F(CommandLineTest, TrainFollowsAPlanOrARecipe) {
  const auto file =
      std::get<TrainOptions>(Parse({"train", "--plan", "p.textproto",
                                    "--candidate", "3", "--run_dir", "r"}));
  EXPECT_TRUE(file.plan.is_file());
  EXPECT_EQ(file.plan.candidate, 3);
  EXPECT_EQ(file.recipe, "");
  const auto automatic = std::get<TrainOptions>(Parse(
      {"train", "a", "--plan", "AUTO", "--devices", "2", "--run_dir", "r"}));
  EXPECT_TRUE(automatic.plan.is_auto());
  EXPECT_EQ(automatic.plan.machines.devices, 2);
  EXPECT_EQ(ExitCode(Parse({"train", "--run_dir", "r"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("RECIPE"));
  EXPECT_EQ(ExitCode(Parse({"train", "a", "--plan", "p", "--run_dir", "r"})),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("leave RECIPE (a) out"));
  EXPECT_EQ(ExitCode(Parse({"train", "a", "--devices", "2", "--run_dir", "r"})),
            kExitUsage);
}

TEST_F(CommandLineTest, Profile) {
  const auto options = std::get<ProfileOptions>(Parse(
      {"profile", "r", "-o", "p", "--data", "photos", "--set", "rounds=5",
       "--budget", "90s", "--memory", "8GiB", "--python", "py", "--fresh"}));
  EXPECT_EQ(options.recipe, "r");
  EXPECT_EQ(options.output, "p");
  EXPECT_EQ(options.data, "photos");
  EXPECT_THAT(options.sets, ElementsAre("rounds=5"));
  EXPECT_EQ(options.budget, "90s");
  EXPECT_EQ(options.memory, "8GiB");
  EXPECT_EQ(options.python, "py");
  EXPECT_TRUE(options.fresh);
  const auto defaults = std::get<ProfileOptions>(Parse({"profile", "r"}));
  EXPECT_EQ(defaults.output, "profile.textproto");
  EXPECT_EQ(defaults.budget, "5m");
  EXPECT_FALSE(defaults.fresh);
  EXPECT_EQ(ExitCode(Parse({"profile"})), kExitUsage);
}

TEST_F(CommandLineTest, SimulatePlan) {
  const auto options = std::get<SimulatePlanOptions>(Parse(
      {"simulate", "plan.textproto", "--devices", "8,64", "--jitter", "0.05"}));
  EXPECT_EQ(options.plan, "plan.textproto");
  EXPECT_EQ(options.devices, "8,64");
  EXPECT_EQ(options.jitter, 0.05);
  const auto plain =
      std::get<SimulatePlanOptions>(Parse({"simulate", "plan.textproto"}));
  EXPECT_EQ(plain.devices, "1..1024");
  EXPECT_LT(plain.jitter, 0);
  EXPECT_EQ(ExitCode(Parse({"simulate"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"simulate", "--devices", "8"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"simulate", "p", "--jitter", "much"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--jitter"));
  EXPECT_EQ(ExitCode(Parse({"simulate", "p", "--jitter", "-1"})), kExitUsage);
}

TEST_F(CommandLineTest, Trials) {
  const auto options = std::get<TrialsOptions>(
      Parse({"trials", "a.textproto", "-o", "t", "--trials", "4",
             "--trial_hours", "0.5", "--seeds", "2", "--rounds", "300", "--set",
             "schedule.lag=2", "--", "--num", "500"}));
  EXPECT_EQ(options.recipe, "a.textproto");
  EXPECT_EQ(options.output, "t");
  EXPECT_EQ(options.trials, 4);
  EXPECT_EQ(options.hours, 0.5);
  EXPECT_EQ(options.seeds, 2);
  EXPECT_EQ(options.rounds, 300);
  EXPECT_THAT(options.sets, ElementsAre("schedule.lag=2"));
  EXPECT_THAT(options.evaluate_arguments, ElementsAre("--num", "500"));
  EXPECT_EQ(ExitCode(Parse({"trials", "a.textproto"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"trials", "a", "-o", "t", "--seeds", "1"})),
            kExitUsage);
}

TEST_F(CommandLineTest, Dataset) {
  const auto show = std::get<DatasetOptions>(
      Parse({"dataset", "show", "photos", "--recipe", "r", "-o", "a.png"}));
  EXPECT_EQ(show.action, DatasetAction::kShow);
  EXPECT_EQ(show.source, "photos");
  EXPECT_EQ(show.recipe, "r");
  EXPECT_EQ(show.output, "a.png");
  const auto verify =
      std::get<DatasetOptions>(Parse({"dataset", "verify", "x.zip"}));
  EXPECT_EQ(verify.action, DatasetAction::kVerify);
  EXPECT_EQ(verify.source, "x.zip");
  const auto pack = std::get<DatasetOptions>(
      Parse({"dataset", "pack", "x.zip", "-o", "packed", "--resize", "64",
             "--crop", "NONE", "--shard_bytes", "1000", "--exclude", "l",
             "--member", "mask.png"}));
  EXPECT_EQ(pack.action, DatasetAction::kPack);
  EXPECT_EQ(pack.source, "x.zip");
  EXPECT_EQ(pack.output, "packed");
  EXPECT_EQ(pack.resize, 64);
  EXPECT_EQ(pack.crop, "NONE");
  EXPECT_EQ(pack.shard_bytes, 1000);
  EXPECT_EQ(pack.exclude, "l");
  EXPECT_EQ(pack.member, "mask.png");
  EXPECT_EQ(ExitCode(Parse({"dataset", "pack", "x.zip"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse(
                {"dataset", "pack", "x.zip", "-o", "p", "--crop", "NONE"})),
            kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"dataset"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"dataset", "verify"})), kExitUsage);
  const auto train = std::get<TrainOptions>(
      Parse({"train", "a", "--run_dir", "r", "--data", "photos"}));
  EXPECT_EQ(train.data, "photos");
}

TEST_F(CommandLineTest, Train) {
  const Command command =
      Parse({"train", "a.textproto", "--run_dir", "runs/a", "--set", "rounds=5",
             "--set", "name=\"x y\"", "--colocated"});
  const auto& options = std::get<TrainOptions>(command);
  EXPECT_EQ(options.recipe, "a.textproto");
  EXPECT_EQ(options.run_dir, "runs/a");
  EXPECT_THAT(options.sets, ElementsAre("rounds=5", "name=\"x y\""));
  EXPECT_TRUE(options.colocated);
  EXPECT_FALSE(options.external);
}

TEST_F(CommandLineTest, SetTakesOneValue) {
  const Command command =
      Parse({"train", "--run_dir", "r", "--set", "rounds=5", "a.textproto"});
  EXPECT_EQ(std::get<TrainOptions>(command).recipe, "a.textproto");
}

TEST_F(CommandLineTest, EvaluationCommandsForwardTheirArguments) {
  const Command sample = Parse({"sample", "runs/a", "-n", "64", "--help"});
  EXPECT_THAT(std::get<EvaluationOptions>(sample).arguments,
              ElementsAre("sample", "runs/a", "-n", "64", "--help"));
  const Command evaluate = Parse({"evaluate", "runs/a", "--metric", "kid"});
  EXPECT_THAT(std::get<EvaluationOptions>(evaluate).arguments,
              ElementsAre("evaluate", "runs/a", "--metric", "kid"));
  const Command train = Parse({"train-features", "--dataset", "d"});
  EXPECT_THAT(std::get<EvaluationOptions>(train).arguments,
              ElementsAre("train-features", "--dataset", "d"));
}

TEST_F(CommandLineTest, WatchForwardsArgumentsAfterTwoDashes) {
  const Command command = Parse({"watch-eval", "runs/a", "--every", "500",
                                 "--once", "--", "--num", "10"});
  const auto& options = std::get<WatchOptions>(command);
  EXPECT_EQ(options.run_dir, "runs/a");
  EXPECT_EQ(options.every, 500);
  EXPECT_TRUE(options.once);
  EXPECT_THAT(options.evaluate_arguments, ElementsAre("--num", "10"));
  const auto all = std::get<WatchOptions>(Parse({"watch-eval", "runs/a"}));
  EXPECT_EQ(all.every, 1);
  EXPECT_FALSE(all.once);
  EXPECT_THAT(all.evaluate_arguments, IsEmpty());
  EXPECT_EQ(ExitCode(Parse({"status", "runs/a", "--", "--num", "10"})),
            kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"watch-eval", "runs/a", "--every", "0"})),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("'0' is not a whole number from 1 on"));
}

TEST_F(CommandLineTest, CertificatesExcludeInsecureNetwork) {
  const Command command =
      Parse({"train", "a.textproto", "--run_dir", "r", "--listen", "a:1",
             "--certificates", "certs/a"});
  EXPECT_EQ(std::get<TrainOptions>(command).certificates, "certs/a");
  EXPECT_EQ(
      ExitCode(Parse({"train", "a.textproto", "--run_dir", "r", "--listen",
                      "a:1", "--certificates", "certs", "--insecure_network"})),
      kExitUsage);
}

TEST_F(CommandLineTest, TrainWithEvaluation) {
  const Command command =
      Parse({"train", "a.textproto", "--run_dir", "runs/a", "--evaluate_every",
             "500", "--evaluate_cores", "1", "--evaluate_args", "--num 10"});
  const auto& options = std::get<TrainOptions>(command);
  EXPECT_EQ(options.evaluate_every, 500);
  EXPECT_EQ(options.evaluate_cores, "1");
  EXPECT_EQ(options.evaluate_args, "--num 10");
  for (const char* const every : {"0", "many", "1.5"}) {
    EXPECT_EQ(ExitCode(Parse({"train", "a.textproto", "--run_dir", "runs/a",
                              "--evaluate_every", every})),
              kExitUsage);
    EXPECT_THAT(err_.str(),
                HasSubstr(std::string("--evaluate_every: '") + every +
                          "' is not a whole number from 1 on"));
  }
}

TEST_F(CommandLineTest, TrainBindsCoresByDefault) {
  const std::vector<const char*> train = {"train", "a.textproto", "--run_dir",
                                          "runs/a", "--bind_cores"};
  const auto with = [&](const char* value) {
    std::vector<const char*> arguments = train;
    arguments.push_back(value);
    return Parse(arguments);
  };
  EXPECT_TRUE(std::get<TrainOptions>(with("auto")).bind_cores);
  EXPECT_FALSE(std::get<TrainOptions>(with("none")).bind_cores);
  EXPECT_EQ(ExitCode(with("0-3")), kExitUsage);
  EXPECT_TRUE(std::get<TrainOptions>(
                  Parse({"train", "a.textproto", "--run_dir", "runs/a"}))
                  .bind_cores);
}

TEST_F(CommandLineTest, Explain) {
  EXPECT_EQ(std::get<ExplainOptions>(Parse({"explain"})).field, "");
  EXPECT_EQ(std::get<ExplainOptions>(Parse({"explain", "rounds"})).field,
            "rounds");
}

TEST_F(CommandLineTest, Status) {
  const Command command = Parse({"status", "runs/a", "--json"});
  EXPECT_EQ(std::get<StatusOptions>(command).run_dir, "runs/a");
  EXPECT_TRUE(std::get<StatusOptions>(command).json);
}

TEST_F(CommandLineTest, Report) {
  const auto one = std::get<ReportOptions>(Parse({"report", "runs/a"}));
  EXPECT_THAT(one.run_dirs, ElementsAre("runs/a"));
  EXPECT_FALSE(one.json);
  const auto two =
      std::get<ReportOptions>(Parse({"report", "--json", "runs/a", "runs/b"}));
  EXPECT_THAT(two.run_dirs, ElementsAre("runs/a", "runs/b"));
  EXPECT_TRUE(two.json);
  EXPECT_EQ(ExitCode(Parse({"report"})), kExitUsage);
  const auto page = std::get<ReportOptions>(
      Parse({"report", "runs/a", "--html", "report.html"}));
  EXPECT_EQ(page.html, "report.html");
  EXPECT_EQ(ExitCode(Parse({"report", "runs/a", "--html", "a", "--json"})),
            kExitUsage);
}

TEST_F(CommandLineTest, Compare) {
  const auto two =
      std::get<CompareOptions>(Parse({"compare", "runs/a", "runs/b"}));
  EXPECT_THAT(two.run_dirs, ElementsAre("runs/a", "runs/b"));
  EXPECT_FALSE(two.step.has_value());
  const auto at = std::get<CompareOptions>(
      Parse({"compare", "a", "b", "--metric", "KID", "--checkpoint", "50"}));
  EXPECT_EQ(at.metric, "KID");
  EXPECT_EQ(at.step, 50);
  EXPECT_EQ(ExitCode(Parse({"compare", "a", "--checkpoint", "-1"})),
            kExitUsage);
}

TEST_F(CommandLineTest, Trace) {
  EXPECT_FALSE(
      std::get<TrainOptions>(Parse({"train", "a", "--run_dir", "r"})).trace);
  EXPECT_TRUE(
      std::get<TrainOptions>(Parse({"train", "a", "--run_dir", "r", "--trace"}))
          .trace);
  EXPECT_EQ(ExitCode(Parse({"train", "--help"})), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("256 MiB"));
}

TEST_F(CommandLineTest, BadUsageIsExplained) {
  EXPECT_EQ(ExitCode(Parse({})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"trian"})), kExitUsage);
  EXPECT_THAT(err_.str(),
              HasSubstr("no command 'trian'; did you mean 'train'?"));
  EXPECT_EQ(ExitCode(Parse({"sampel", "runs/a"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'sample'?"));
  EXPECT_EQ(ExitCode(Parse({"fly"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there are train, coordinate, launch"));
  EXPECT_EQ(ExitCode(Parse({"train", "a.textproto"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--run_dir is required"));
  EXPECT_EQ(ExitCode(Parse({"train", "a", "--run_dir", "r", "--lag", "2"})),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--lag"));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CommandLineTest, HelpHasExamples) {
  EXPECT_EQ(ExitCode(Parse({"--help"})), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("gandem train recipes/"));
  EXPECT_EQ(ExitCode(Parse({"train", "--help"})), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("--set schedule.lag=0"),
                                HasSubstr("Usage: gandem train [OPTIONS]")));
  EXPECT_EQ(ExitCode(Parse({"status", "--help"})), kExitOk);
  EXPECT_EQ(ExitCode(Parse({"explain", "--help"})), kExitOk);
}

TEST_F(CommandLineTest, HelpLinesHaveAtMost100Columns) {
  for (const char* const command :
       {"train", "coordinate", "launch", "status", "logs", "doctor", "explain",
        "plan", "profile", "simulate", "trials", "dataset", "report", "compare",
        "watch-eval"}) {
    out_.str("");
    EXPECT_EQ(ExitCode(Parse({command, "--help"})), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("Usage: gandem"));
    for (const absl::string_view line : absl::StrSplit(out_.str(), '\n')) {
      EXPECT_LE(line.size(), 100) << command << ": " << line;
    }
  }
}

TEST_F(CommandLineTest, Version) {
  EXPECT_EQ(ExitCode(Parse({"--version"})), kExitOk);
  EXPECT_THAT(out_.str(),
              ::testing::MatchesRegex("gandem [0-9.]+ \\(commit [0-9a-z]+, "
                                      "LibTorch [0-9a-z.+]+\\)\n"));
}

}  // namespace
}  // namespace gandem
