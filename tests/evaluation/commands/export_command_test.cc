// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "evaluation/images/sample_noise.h"
#include "models/torch.h"
#include "tests/evaluation/commands/small_run.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::gandem::testing::kRawSteps;
using ::gandem::testing::kRunSeed;
using ::gandem::testing::MakeAverage;
using ::gandem::testing::SmallConfig;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteCheckpoint;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kImages = 7;

class ExportCommandTest : public ::testing::Test {
 protected:
  ExportCommandTest() { EXPECT_OK(CreateDirectories(dir_ / "out")); }

  // Images of the network of step `made_of`, in float32.
  at::Tensor ImagesOf(const RunConfig& config, int64_t made_of,
                      const Condition& condition = {}) {
    const torch::NoGradGuard no_grad;
    const auto network = MakeAverage(config, made_of);
    network->to(at::kFloat);
    return network->forward(Noise(), condition, ForwardMode::kEvaluate);
  }
  static at::Tensor Noise() {
    return SampleNoise(kRunSeed, NoiseOptions(), 6,
                       {.first = 0, .count = kImages});
  }
  static at::Tensor Forward(const std::string& path,
                            std::vector<c10::IValue> inputs) {
    const torch::NoGradGuard no_grad;
    return torch::jit::load(path).forward(std::move(inputs)).toTensor();
  }
  std::string Text(const std::string& path) {
    absl::StatusOr<std::string> text = ReadFile(path);
    EXPECT_OK(text.status());
    return text.value_or("");
  }

  gandem::testing::TempDir dir_;
  const std::string run_ = dir_ / "run";
  const std::string script_ = dir_ / "out/generator.pt";
  const std::string tensors_ = dir_ / "out/generator.safetensors";
};

TEST_F(ExportCommandTest, AScriptMakesTheImagesOfTheAverage) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  ASSERT_OK_AND_ASSIGN(const ExportReport report,
                       RunExportCommand({.run_dir = run_, .output = script_}));
  EXPECT_EQ(report.step, 20);
  EXPECT_THAT(report.arguments, ElementsAre("noise"));
  EXPECT_THAT(report.warnings, IsEmpty());
  EXPECT_TRUE(at::allclose(Forward(script_, {Noise()}),
                           ImagesOf(SmallConfig(), 20), 0, 1e-5));
}

TEST_F(ExportCommandTest, CheckpointAndRawWeightsCanBeChosen) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  ASSERT_OK_AND_ASSIGN(
      const ExportReport report,
      RunExportCommand(
          {.run_dir = run_, .output = script_, .checkpoint = 10, .raw = true}));
  EXPECT_EQ(report.step, 10);
  EXPECT_TRUE(at::allclose(Forward(script_, {Noise()}),
                           ImagesOf(SmallConfig(), 10 + kRawSteps), 0, 1e-5));
  EXPECT_THAT(Text(report.card), HasSubstr("as the last step left them"));
}

TEST_F(ExportCommandTest, LabelsAreAnArgument) {
  RunConfig config = SmallConfig();
  config.mutable_data()->set_num_classes(10);
  WriteCheckpoint(run_, config, 10);
  ASSERT_OK_AND_ASSIGN(const ExportReport report,
                       RunExportCommand({.run_dir = run_, .output = script_}));
  EXPECT_THAT(report.arguments, ElementsAre("noise", "labels"));
  const at::Tensor labels = at::arange(kImages);
  EXPECT_TRUE(at::allclose(Forward(script_, {Noise(), labels}),
                           ImagesOf(config, 10, {.labels_N = labels}), 0,
                           1e-5));
  EXPECT_THAT(Text(report.card), HasSubstr("made = generator(noise, labels)"));
}

// Double precision is for checking numerics; PyTorch expects float32.
TEST_F(ExportCommandTest, ARunInDoublePrecisionIsRounded) {
  RunConfig config = SmallConfig();
  config.mutable_generator()->set_precision(RoleConfig::FLOAT64);
  config.mutable_discriminator()->set_precision(RoleConfig::FLOAT64);
  config.mutable_exchange()->set_image_encoding(ExchangeConfig::FLOAT64);
  config.mutable_exchange()->set_feedback_encoding(ExchangeConfig::FLOAT64);
  WriteCheckpoint(run_, config, 10);
  ASSERT_OK(RunExportCommand({.run_dir = run_, .output = script_}));
  const at::Tensor images = Forward(script_, {Noise()});
  EXPECT_EQ(images.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(images, ImagesOf(config, 10), 0, 1e-5));
}

TEST_F(ExportCommandTest, AStateDictHasAllTensorsAndMetadata) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  ASSERT_OK_AND_ASSIGN(const ExportReport report,
                       RunExportCommand({.run_dir = run_, .output = tensors_}));
  EXPECT_THAT(report.arguments, IsEmpty());
  ASSERT_OK_AND_ASSIGN(std::vector<NamedTensor> read,
                       ReadSafetensors(tensors_));
  const auto average = MakeAverage(SmallConfig(), 10);
  const auto loaded = MakeAverage(SmallConfig(), 11);
  EXPECT_EQ(read.size(), StateOf(*average).size());
  ASSERT_OK(TensorReader(std::move(read)).Load("", StateOf(*loaded)));
  EXPECT_EQ(PackModule(*loaded).span().size(),
            PackModule(*average).span().size());
  for (size_t i = 0; i < StateOf(*average).size(); ++i) {
    EXPECT_TRUE(
        at::equal(StateOf(*average)[i].second, StateOf(*loaded)[i].second));
  }
  ASSERT_OK_AND_ASSIGN(auto metadata, ReadSafetensorsMetadata(tensors_));
  EXPECT_EQ(metadata["format"], "pt");
  EXPECT_EQ(metadata["family"], "mlp");
  EXPECT_EQ(metadata["step"], "10");
}

TEST_F(ExportCommandTest, WritesAModelCardAndAGrid) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  MetricCard judged;
  judged.mutable_images()->mutable_generator()->set_step(10);
  Metric& metric = *judged.add_metrics();
  metric.set_name("FD(small)");
  metric.set_value(3);
  MetricCard of_another_step = judged;
  of_another_step.mutable_images()->mutable_generator()->set_step(9);
  of_another_step.mutable_metrics(0)->set_name("KID(small)");
  ASSERT_OK(CreateDirectories(run_ + "/evaluation"));
  ASSERT_OK(WriteMetricCard(run_ + "/evaluation/a", judged));
  ASSERT_OK(WriteMetricCard(run_ + "/evaluation/b", of_another_step));
  ASSERT_OK_AND_ASSIGN(const ExportReport report,
                       RunExportCommand({.run_dir = run_, .output = script_}));
  EXPECT_EQ(report.card, dir_ / "out/README.md");
  EXPECT_THAT(Text(report.card),
              AllOf(HasSubstr("](generator.png)"), HasSubstr("FD(small)"),
                    Not(HasSubstr("KID(small)")), HasSubstr("noise_dim: 6"),
                    HasSubstr("10 of 100 rounds; the discriminator saw 640"),
                    HasSubstr("torch.jit.load(\"generator.pt\")")));
  EXPECT_TRUE(PathExists(dir_ / "out/generator.png"));
  // The next export replaces the card.
  EXPECT_OK(RunExportCommand({.run_dir = run_, .output = tensors_}));
  EXPECT_THAT(Text(dir_ / "out/README.md"), HasSubstr("load_file"));
}

TEST_F(ExportCommandTest, KeepsTheUsersReadme) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  ASSERT_OK(WriteFile(dir_ / "out/README.md", "# My project\n"));
  ASSERT_OK_AND_ASSIGN(const ExportReport report,
                       RunExportCommand({.run_dir = run_, .output = script_}));
  EXPECT_EQ(Text(dir_ / "out/README.md"), "# My project\n");
  EXPECT_EQ(report.card, dir_ / "out/generator.md");
  EXPECT_TRUE(PathExists(report.card));
}

TEST_F(ExportCommandTest, ExplainsUnsupportedRequests) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  const std::pair<ExportRequest, std::string> cases[] = {
      {{.run_dir = run_, .output = dir_ / "a.onnx"}, "torch.onnx"},
      {{.run_dir = run_, .output = dir_ / "a.bin"},
       "neither with .pt (for torch.jit.load) nor with .safetensors"}};
  for (const auto& [request, message] : cases) {
    EXPECT_THAT(
        RunExportCommand(request).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_FALSE(PathExists(request.output));
  }
  EXPECT_THAT(
      RunExportCommand({.run_dir = dir_ / "none", .output = script_}).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(ExportCommandTest, NamesAPathThatCannotBeWritten) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  ASSERT_OK(WriteFile(dir_ / "file", ""));
  for (const char* const name : {"file/generator.pt", "no/generator.pt",
                                 "file/a.safetensors", "no/a.safetensors"}) {
    const absl::Status status =
        RunExportCommand({.run_dir = run_, .output = dir_ / name}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::IsInternal(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(dir_ / name));
  }
}

}  // namespace
}  // namespace gandem
