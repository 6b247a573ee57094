// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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

// A flag that is added, renamed or removed changes this list, README and docs.
TEST_F(CommandLineTest, TheFlagsAreFrozen) {
  const std::vector<std::string> flags = AllFlags();
  EXPECT_THAT(
      flags,
      ElementsAre(
          "gandem -h,--help", "gandem --version", "train -h,--help",
          "train RECIPE", "train --run_dir", "train --data", "train --set",
          "train --colocated", "train --external", "train --listen",
          "train --certificates", "train --insecure_network", "train --trace",
          "train --bind_cores", "train --evaluate_every",
          "train --evaluate_cores", "train --evaluate_args", "status -h,--help",
          "status RUN_DIR", "status --certificates", "status --json",
          "report -h,--help", "report RUN_DIR", "report --json",
          "watch-eval -h,--help", "watch-eval RUN_DIR", "watch-eval --every",
          "watch-eval --once", "certificates -h,--help", "certificates DIR",
          "certificates --host", "certificates --days", "certificates --revoke",
          "dataset -h,--help", "dataset show -h,--help", "dataset show SOURCE",
          "dataset show --exclude", "dataset show --recipe",
          "dataset show --image_size", "dataset show -o,--output",
          "dataset verify -h,--help", "dataset verify SOURCE",
          "dataset verify --exclude", "dataset pack -h,--help",
          "dataset pack SOURCE", "dataset pack --exclude",
          "dataset pack -o,--output", "dataset pack --shard_bytes",
          "dataset pack --resize", "dataset pack --crop", "simulate -h,--help",
          "simulate pipeline -h,--help", "simulate pipeline TRACE",
          "simulate pipeline --memory_bytes", "simulate pipeline --json",
          "sample -h,--help", "evaluate -h,--help", "train-features -h,--help",
          "models -h,--help", "explain -h,--help", "explain FIELD"));
}

TEST_F(CommandLineTest, Simulate) {
  const auto options = std::get<SimulateOptions>(
      Parse({"simulate", "pipeline", "a.trace", "--memory_bytes", "1000"}));
  EXPECT_EQ(options.trace, "a.trace");
  EXPECT_EQ(options.memory_bytes, 1000);
  EXPECT_FALSE(options.json);
  EXPECT_EQ(ExitCode(Parse({"simulate"})), kExitUsage);
  EXPECT_EQ(ExitCode(Parse({"simulate", "pipeline"})), kExitUsage);
  EXPECT_EQ(
      ExitCode(Parse({"simulate", "pipeline", "a", "--memory_bytes", "0"})),
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
             "--crop", "NONE", "--shard_bytes", "1000", "--exclude", "l"}));
  EXPECT_EQ(pack.action, DatasetAction::kPack);
  EXPECT_EQ(pack.source, "x.zip");
  EXPECT_EQ(pack.output, "packed");
  EXPECT_EQ(pack.resize, 64);
  EXPECT_EQ(pack.crop, "NONE");
  EXPECT_EQ(pack.shard_bytes, 1000);
  EXPECT_EQ(pack.exclude, "l");
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

TEST_F(CommandLineTest, ASetTakesOneValue) {
  const Command command =
      Parse({"train", "--run_dir", "r", "--set", "rounds=5", "a.textproto"});
  EXPECT_EQ(std::get<TrainOptions>(command).recipe, "a.textproto");
}

TEST_F(CommandLineTest, EvaluationCommandsHandTheirArgumentsOn) {
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

TEST_F(CommandLineTest, WatchHandsArgumentsBehindTwoDashesOn) {
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

TEST_F(CommandLineTest, Certificates) {
  const Command made = Parse({"certificates", "certs", "--host", "a,10.0.0.1",
                              "--host", "b", "--days", "30"});
  const auto& options = std::get<CertificatesOptions>(made);
  EXPECT_EQ(options.folder, "certs");
  EXPECT_THAT(options.hosts, ElementsAre("a,10.0.0.1", "b"));
  EXPECT_EQ(options.days, 30);
  EXPECT_THAT(options.revoke, IsEmpty());
  const auto revoked = std::get<CertificatesOptions>(
      Parse({"certificates", "certs", "--revoke", "b"}));
  EXPECT_EQ(revoked.revoke, "b");
  EXPECT_EQ(revoked.days, 397);
  for (const char* const days : {"0", "-1", "3651", "soon"}) {
    EXPECT_EQ(ExitCode(Parse({"certificates", "certs", "--days", days})),
              kExitUsage)
        << days;
  }
  EXPECT_EQ(ExitCode(Parse(
                {"certificates", "certs", "--host", "a", "--revoke", "b"})),
            kExitUsage);
}

TEST_F(CommandLineTest, ANetworkIsEncryptedOrTrusted) {
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

TEST_F(CommandLineTest, TrainBindsCoresUnlessToldNotTo) {
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
  EXPECT_THAT(err_.str(), HasSubstr("there are train, status, report"));
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

TEST_F(CommandLineTest, Version) {
  EXPECT_EQ(ExitCode(Parse({"--version"})), kExitOk);
  EXPECT_THAT(out_.str(), ::testing::MatchesRegex("gandem [0-9.]+\n"));
}

}  // namespace
}  // namespace gandem
