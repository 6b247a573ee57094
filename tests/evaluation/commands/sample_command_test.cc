// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/sample_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/safetensors.h"
#include "common/config/run_config.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/philox.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"
#include "tests/evaluation/commands/small_run.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "training/state/module_state.h"
#include "training/state/state_shard.h"

namespace gandem {
namespace {

using ::gandem::testing::kRunSeed;
using ::gandem::testing::MakeAverage;
using ::gandem::testing::SmallConfig;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteCheckpoint;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Noise number and label of an image in a grid.
struct Cell {
  int64_t noise = 0;
  int64_t label = 0;
};

// The grid of the average of `step`, made one image at a time.
PixelImage ExpectedGrid(const RunConfig& config, int64_t step, uint64_t seed,
                        const std::vector<Cell>& cells, int64_t columns = 0) {
  torch::NoGradGuard no_grad;
  const std::shared_ptr<Generator> network = MakeAverage(config, step);
  std::vector<float> images;
  for (const Cell& cell : cells) {
    const at::Tensor noise_NZ = torch::empty({1, 6});
    PhiloxStream(seed, Purpose::kSample, 0, static_cast<uint64_t>(cell.noise))
        .FillNormal({noise_NZ.mutable_data_ptr<float>(), 6});
    const Condition condition = {.labels_N = torch::tensor({cell.label})};
    const at::ScalarType dtype =
        config.generator().precision() == RoleConfig::FLOAT64 ? at::kDouble
                                                              : at::kFloat;
    const at::Tensor image =
        network->forward(noise_NZ.to(dtype), condition, ForwardMode::kEvaluate)
            .to(at::kFloat)
            .contiguous();
    const float* values = image.const_data_ptr<float>();
    images.insert(images.end(), values, values + image.numel());
  }
  return TileImages(images, {.channels = 1, .height = 32, .width = 32},
                    columns);
}

PixelImage ExpectedGrid(const RunConfig& config, int64_t step, uint64_t seed,
                        int64_t num_images) {
  std::vector<Cell> cells;
  for (int64_t i = 0; i < num_images; ++i) cells.push_back({.noise = i});
  return ExpectedGrid(config, step, seed, cells);
}

// Batched and single forwards may round differently, by one gray level.
void ExpectGrid(const std::string& path, const PixelImage& expected) {
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const PixelImage grid, DecodePng(bytes));
  ASSERT_EQ(grid.height, expected.height);
  ASSERT_EQ(grid.width, expected.width);
  for (size_t i = 0; i < grid.pixels.size(); ++i) {
    ASSERT_NEAR(grid.pixels[i], expected.pixels[i], 1) << i;
  }
}

void Damage(const std::string& path) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_OK(WriteFile(path, bytes));
}

class SampleCommandTest : public ::testing::Test {
 protected:
  std::string StepFile(int64_t step, absl::string_view name) {
    return absl::StrCat(CheckpointPath(run_, step), "/", name);
  }

  gandem::testing::TempDir dir_;
  const std::string run_ = dir_ / "run";
};

TEST_F(SampleCommandTest, WritesTheAverageOfTheNewestCheckpoint) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_, .num_images = 70}));
  EXPECT_EQ(report.step, 20);
  EXPECT_EQ(report.checkpoint, CheckpointPath(run_, 20));
  EXPECT_THAT(report.skipped, IsEmpty());
  EXPECT_FALSE(report.distance.has_value());
  EXPECT_EQ(report.output, run_ + "/samples/sample-20.png");
  ExpectGrid(report.output, ExpectedGrid(SmallConfig(), 20, kRunSeed, 70));
}

TEST_F(SampleCommandTest, CheckpointSeedAndOutputCanBeChosen) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  const std::string output = dir_ / "grid.png";
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_,
                                         .num_images = 2,
                                         .output = output,
                                         .checkpoint = 10,
                                         .seed = 77}));
  EXPECT_EQ(report.step, 10);
  EXPECT_EQ(report.output, output);
  ExpectGrid(output, ExpectedGrid(SmallConfig(), 10, 77, 2));
}

class SampleClassesTest : public SampleCommandTest {
 protected:
  static constexpr int64_t kClasses = 10;

  void SetUp() override {
    config_ = SmallConfig();
    config_.mutable_data()->set_num_classes(kClasses);
    WriteCheckpoint(run_, config_, 10);
  }
  static int64_t DrawnLabel(int64_t i) {
    return PhiloxStream(kRunSeed, Purpose::kSampleLabels, 0,
                        static_cast<uint64_t>(i))
        .NextBelow(kClasses);
  }
  void ExpectCells(const SampleReport& report, const std::vector<Cell>& cells,
                   int64_t columns = 0) {
    EXPECT_EQ(report.num_images, std::ssize(cells));
    ExpectGrid(report.output,
               ExpectedGrid(config_, 10, kRunSeed, cells, columns));
  }

  RunConfig config_;
};

TEST_F(SampleClassesTest, LabelsAreDrawn) {
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_, .num_images = 70}));
  std::vector<Cell> cells;
  for (int64_t i = 0; i < 70; ++i) {
    cells.push_back({.noise = i, .label = DrawnLabel(i)});
  }
  ExpectCells(report, cells);
}

TEST_F(SampleClassesTest, OneClass) {
  ASSERT_OK_AND_ASSIGN(
      const SampleReport report,
      RunSampleCommand({.run_dir = run_, .num_images = 3, .only_class = 4}));
  ExpectCells(report, {{0, 4}, {1, 4}, {2, 4}});
}

TEST_F(SampleClassesTest, ARowForEachClass) {
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_, .per_class = 7}));
  std::vector<Cell> cells;
  for (int64_t label = 0; label < kClasses; ++label) {
    for (int64_t i = 0; i < 7; ++i) {
      cells.push_back({.noise = i, .label = label});
    }
  }
  ExpectCells(report, cells, /*columns=*/7);
}

TEST_F(SampleClassesTest, AnInterpolationKeepsTheLabelOfItsStart) {
  ASSERT_OK_AND_ASSIGN(
      const SampleReport report,
      RunSampleCommand({.run_dir = run_, .num_images = 3, .interpolate = 2}));
  std::vector<Cell> cells;
  for (int64_t i = 0; i < 6; ++i) {
    cells.push_back({.noise = i, .label = DrawnLabel(i - i % 2)});
  }
  ExpectCells(report, cells, /*columns=*/2);
}

TEST_F(SampleClassesTest, ExportsAreTheImagesOfTheGrid) {
  for (const std::optional<int64_t> only_class :
       {std::optional<int64_t>(), std::optional<int64_t>(4)}) {
    ASSERT_OK(RunSampleCommand({.run_dir = run_,
                                .num_images = 3,
                                .output = dir_ / "images/",
                                .only_class = only_class}));
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t label = only_class.value_or(DrawnLabel(i));
      ExpectGrid(
          dir_ / absl::StrFormat("images/%06d.png", i),
          ExpectedGrid(config_, 10, kRunSeed, {{.noise = i, .label = label}}));
    }
    ASSERT_OK(RemoveAll(dir_ / "images"));
  }
}

TEST_F(SampleClassesTest, ExplainsUnsupportedRequests) {
  WriteCheckpoint(dir_ / "plain", SmallConfig(), 10);
  const std::pair<SampleRequest, std::string> cases[] = {
      {{.run_dir = run_, .only_class = kClasses},
       "there is no class 10: the run has classes 0 to 9"},
      {{.run_dir = run_, .only_class = -1}, "there is no class -1"},
      {{.run_dir = dir_ / "plain", .only_class = 0}, "takes no class"},
      {{.run_dir = dir_ / "plain", .per_class = 1}, "takes no class"},
      {{.run_dir = run_, .per_class = 1001}, "lower --per_class"},
      {{.run_dir = run_, .per_class = -1}, "per_class -1 is not in"},
      {{.run_dir = run_, .output = "a.npz", .per_class = 1},
       "name a .png file"},
      {{.run_dir = run_, .output = "x.jpg"},
       "output 'x.jpg' is neither a grid (.png) nor single images (.tar, .npz, "
       "or a folder that ends with /)"},
      {{.run_dir = run_, .per_class = 1, .only_class = 1},
       "neither interpolate nor class"},
  };
  for (const auto& [request, message] : cases) {
    EXPECT_THAT(
        RunSampleCommand(request).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

// Batched and single forwards may round differently.
MATCHER(OneApart, "") {
  return std::abs(int{std::get<0>(arg)} - int{std::get<1>(arg)}) <= 1;
}

// A run that translates images; each image is its own input.
class SampleTranslationsTest : public SampleCommandTest {
 protected:
  static constexpr int64_t kSide = 32;

  void SetUp() override {
    config_ = SmallConfig();
    DataConfig& data = *config_.mutable_data();
    data.set_max_images(3);
    data.set_idx_inputs(data.idx_images());
    config_.mutable_generator()
        ->mutable_network()
        ->mutable_pix2pix()
        ->set_width(2);
    WriteCheckpoint(run_, config_, 10);
  }

  // Pixels of one image in a file of `gandem sample`.
  static std::vector<uint8_t> Pixels(const std::string& path, int64_t top,
                                     int64_t left) {
    const auto bytes = ReadFile(path);
    EXPECT_OK(bytes.status());
    const auto grid = DecodePng(*bytes);
    EXPECT_OK(grid.status());
    std::vector<uint8_t> pixels;
    for (int64_t y = top; y < top + kSide; ++y) {
      const auto row = grid->pixels.begin() + y * grid->width + left;
      pixels.insert(pixels.end(), row, row + kSide);
    }
    return pixels;
  }

  RunConfig config_;
};

TEST_F(SampleTranslationsTest, ShowsInputTranslationAndTarget) {
  ASSERT_OK_AND_ASSIGN(const SampleReport grid,
                       RunSampleCommand({.run_dir = run_, .num_images = 3}));
  EXPECT_EQ(grid.num_images, 3);
  ASSERT_OK(RunSampleCommand(
      {.run_dir = run_, .num_images = 3, .output = dir_ / "images/"}));
  ASSERT_OK_AND_ASSIGN(const auto dataset, OpenDataset(config_.data()));
  std::vector<float> image(kSide * kSide);
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_OK(dataset->Read(i, image).status());
    std::vector<uint8_t> wanted(image.size());
    std::ranges::transform(image, wanted.begin(), QuantizePixel);
    // Two columns of cells, two pixels apart.
    const int64_t top = i / 2 * (kSide + 2);
    const int64_t left = i % 2 * (3 * kSide + 2);
    EXPECT_EQ(Pixels(grid.output, top, left), wanted);
    EXPECT_EQ(Pixels(grid.output, top, left + 2 * kSide), wanted);
    const auto translation = Pixels(grid.output, top, left + kSide);
    EXPECT_NE(translation, wanted);
    // The export has only the translations.
    EXPECT_THAT(Pixels(dir_ / absl::StrFormat("images/%06d.png", i), 0, 0),
                ::testing::Pointwise(OneApart(), translation));
  }
}

TEST_F(SampleTranslationsTest, InterpolationNeedsNoise) {
  EXPECT_THAT(
      RunSampleCommand({.run_dir = run_, .interpolate = 3}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the generator of this run translates images")));
}

TEST_F(SampleTranslationsTest, NeedsItsInputs) {
  config_.mutable_data()->set_idx_inputs(dir_ / "gone");
  WriteCheckpoint(dir_ / "other", config_, 10);
  EXPECT_THAT(RunSampleCommand({.run_dir = dir_ / "other"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
}

TEST_F(SampleCommandTest, Float64Run) {
  RunConfig config = SmallConfig();
  config.mutable_generator()->set_precision(RoleConfig::FLOAT64);
  config.mutable_discriminator()->set_precision(RoleConfig::FLOAT64);
  config.mutable_exchange()->set_image_encoding(ExchangeConfig::FLOAT64);
  config.mutable_exchange()->set_feedback_encoding(ExchangeConfig::FLOAT64);
  WriteCheckpoint(run_, config, 10);
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_, .num_images = 4}));
  ExpectGrid(report.output, ExpectedGrid(config, 10, kRunSeed, 4));
}

TEST_F(SampleCommandTest, ACheckpointOfAFleetIsTheSameGenerator) {
  WriteCheckpoint(run_, SmallConfig(), 10, SmallConfig(), /*ranks=*/3);
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_, .num_images = 4}));
  ExpectGrid(report.output, ExpectedGrid(SmallConfig(), 10, kRunSeed, 4));
  ASSERT_OK(RemoveAll(StepFile(10, "generator-2.safetensors")));
  EXPECT_THAT(RunSampleCommand({.run_dir = run_}).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("generator-2.safetensors' is missing")));
}

TEST_F(SampleCommandTest, FallsBackFromADamagedCheckpointAndSaysSo) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  Damage(StepFile(20, "generator-0.safetensors"));
  ASSERT_OK_AND_ASSIGN(const SampleReport report,
                       RunSampleCommand({.run_dir = run_}));
  EXPECT_EQ(report.step, 10);
  EXPECT_THAT(report.skipped,
              ElementsAre(AllOf(HasSubstr("step-000000020"),
                                HasSubstr("generator-0.safetensors"))));
}

TEST_F(SampleCommandTest, DamagedCheckpointThatWasAskedForIsAnError) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  Damage(StepFile(10, "generator-0.safetensors"));
  EXPECT_THAT(RunSampleCommand({.run_dir = run_, .checkpoint = 10}).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("generator-0.safetensors")));
}

TEST_F(SampleCommandTest, NoRunAndNoCheckpoint) {
  EXPECT_THAT(
      RunSampleCommand({.run_dir = dir_ / "none"}).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("none: no such folder")));
  EXPECT_THAT(RunSampleCommand({.run_dir = dir_.path()}).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(dir_.path()),
                             HasSubstr("not the folder of a run"))));
  ASSERT_OK(CreateDirectories(run_ + "/checkpoints"));
  EXPECT_THAT(RunSampleCommand({.run_dir = run_}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(run_)));
  WriteCheckpoint(run_, SmallConfig(), 10);
  EXPECT_THAT(RunSampleCommand({.run_dir = run_, .checkpoint = 11}).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no checkpoint of step 11")));
}

TEST_F(SampleCommandTest, NetworkThatDoesNotFit) {
  RunConfig wide = SmallConfig();
  wide.mutable_generator()->mutable_network()->mutable_mlp()->set_hidden(0, 9);
  WriteCheckpoint(run_, SmallConfig(), 10, /*made_by=*/wide);
  EXPECT_THAT(RunSampleCommand({.run_dir = run_}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("step-000000010: tensors do not fit")));
}

TEST_F(SampleCommandTest, UnwritableOutput) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  EXPECT_THAT(
      RunSampleCommand({.run_dir = run_, .output = "/no/such/folder/a.png"})
          .status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/folder")));
}

TEST_F(SampleCommandTest, NumberOfImagesIsChecked) {
  for (const int64_t num_images : {0, 10001}) {
    EXPECT_THAT(
        RunSampleCommand({.run_dir = run_, .num_images = num_images}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10000")));
  }
}

TEST_F(SampleCommandTest, CheckMeasuresTheSamples) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  ASSERT_OK_AND_ASSIGN(
      const SampleReport report,
      RunSampleCommand({.run_dir = run_, .num_images = 1, .check = true}));
  ASSERT_TRUE(report.distance.has_value());
  // An untrained network makes gray images with a little noise.
  EXPECT_GT(report.distance->Total(), 3);
  ASSERT_OK_AND_ASSIGN(
      const SampleReport again,
      RunSampleCommand({.run_dir = run_, .num_images = 9, .check = true}));
  EXPECT_EQ(report.distance->Total(), again.distance->Total());
}

// Result of the program evaluation_job.
struct Ran {
  int exit_code;
  std::string output;  // both streams
};
Ran RunProgram(const std::string& arguments) {
  const std::string command = absl::StrCat(
      std::getenv("GANDEM_BIN_DIR"), "/evaluation_job ", arguments, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, got);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

TEST_F(SampleCommandTest, ProgramSucceeds) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  WriteCheckpoint(run_, SmallConfig(), 20);
  Damage(StepFile(20, "config.textproto"));
  const Ran ran = RunProgram(absl::StrCat("sample ", run_, " -n 3"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output,
              AllOf(HasSubstr("skipped "), HasSubstr("step-000000020"),
                    HasSubstr("checkpoint of step 10"), HasSubstr("3 images: "),
                    HasSubstr("sample-10.png")));
}

TEST_F(SampleCommandTest, ProgramComparesWithTheThreshold) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  const std::string arguments =
      absl::StrCat("sample ", run_, " --check --threshold ");
  const Ran above = RunProgram(arguments + "0.5");
  EXPECT_EQ(above.exit_code, 1);
  EXPECT_THAT(above.output, AllOf(HasSubstr("check "),
                                  HasSubstr("(above the threshold 0.5)")));
  EXPECT_EQ(RunProgram(arguments + "1000").exit_code, 0);
}

TEST_F(SampleCommandTest, ProgramExplainsItself) {
  const Ran help = RunProgram("sample --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output,
              AllOf(HasSubstr("gandem sample runs/demo -n 64"),
                    HasSubstr("Usage: gandem sample [OPTIONS] RUN_DIR")));
  EXPECT_EQ(RunProgram("").exit_code, 2);
  EXPECT_EQ(RunProgram("sample").exit_code, 2);
  EXPECT_EQ(RunProgram("sample x -n 0").exit_code, 2);
  EXPECT_EQ(RunProgram("sample x --threshold 1").exit_code, 2);
  const Ran missing = RunProgram("sample " + run_);
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.output, HasSubstr("no such folder"));
}

// At psi 0 every noise gives the image of the mean style.
TEST_F(SampleCommandTest, TruncationMovesStylesTowardsTheirMean) {
  WriteCheckpoint(run_, testing::SmallStylegan2Config(), 10);
  const auto grid = [&](double psi, uint64_t seed) {
    const std::string path = dir_ / "grid.png";
    EXPECT_OK(RunSampleCommand({.run_dir = run_,
                                .num_images = 2,
                                .output = path,
                                .noise = {.psi = psi},
                                .seed = seed})
                  .status());
    const auto bytes = ReadFile(path);
    EXPECT_OK(bytes);
    return bytes.value_or("");
  };
  EXPECT_NE(grid(1, 3), grid(1, 4));
  EXPECT_NE(grid(0.7, 3), grid(1, 3));
  EXPECT_NE(grid(0.7, 3), grid(0.7, 4));
  EXPECT_EQ(grid(0, 3), grid(0, 4));
}

TEST_F(SampleCommandTest, TruncationNeedsStyles) {
  WriteCheckpoint(run_, SmallConfig(), 10);
  for (const char* name : {"grid.png", "images.npz"}) {
    EXPECT_THAT(
        RunSampleCommand(
            {.run_dir = run_, .output = dir_ / name, .noise = {.psi = 0.7}}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("--truncation_psi")));
  }
}

}  // namespace
}  // namespace gandem
