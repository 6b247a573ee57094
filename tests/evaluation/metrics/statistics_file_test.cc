// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/statistics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "pipeline/formats/npz.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FeatureStatistics SomeStatistics() {
  const auto moments = MomentsOf(RandomNormal(50, 4, 1) + 2);
  EXPECT_OK(moments);
  return {.moments = *moments,
          .net_name = "small \u00e9",
          .net_sha256 = std::string(64, 'a'),
          .resize = "none",
          .reference_name = "fashion-mnist",
          .reference_split = "train",
          .reference_hash = "0123"};
}

double StatisticsFileMaxError(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

NamedTensor Array(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  return {name, DType::kF64, values.sizes().vec(),
          SharedBytes::Copy(
              std::as_bytes(std::span(values.const_data_ptr<double>(),
                                      static_cast<size_t>(values.numel()))))};
}

void WriteArrays(const std::string& path,
                 const std::map<std::string, at::Tensor>& arrays) {
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(path));
  for (const auto& [name, tensor] : arrays) {
    ASSERT_OK(writer.Add(Array(name, tensor)));
  }
  ASSERT_OK(writer.Finish());
}

TEST(StatisticsFileTest, OursKeepsEverything) {
  const TempDir dir;
  const FeatureStatistics written = SomeStatistics();
  ASSERT_OK(
      WriteStatistics(dir / "f", written, StatisticsFormat::kSafetensors));
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre("f"));
  ASSERT_OK_AND_ASSIGN(const FeatureStatistics read, ReadStatistics(dir / "f"));
  EXPECT_EQ(read.moments.count, 50);
  EXPECT_TRUE(at::equal(read.moments.mean_D, written.moments.mean_D));
  EXPECT_TRUE(
      at::equal(read.moments.covariance_DD, written.moments.covariance_DD));
  EXPECT_EQ(read.net_name, written.net_name);
  EXPECT_EQ(read.net_sha256, written.net_sha256);
  EXPECT_EQ(read.resize, written.resize);
  EXPECT_EQ(read.reference_name, written.reference_name);
  EXPECT_EQ(read.reference_split, written.reference_split);
  EXPECT_EQ(read.reference_hash, written.reference_hash);
}

TEST(StatisticsFileTest, PytorchFidHasMuAndSigma) {
  const TempDir dir;
  const FeatureStatistics written = SomeStatistics();
  ASSERT_OK(WriteStatistics(dir / "f", written, StatisticsFormat::kPytorchFid));
  ASSERT_OK_AND_ASSIGN(const NpzReader reader, NpzReader::Open(dir / "f"));
  EXPECT_THAT(reader.names(), ElementsAre("mu", "sigma"));
  ASSERT_OK_AND_ASSIGN(const FeatureStatistics read, ReadStatistics(dir / "f"));
  EXPECT_EQ(read.moments.count, 0);
  EXPECT_EQ(read.net_name, "");
  EXPECT_TRUE(at::equal(read.moments.mean_D, written.moments.mean_D));
  EXPECT_TRUE(
      at::equal(read.moments.covariance_DD, written.moments.covariance_DD));
}

// The sums are those that StyleGAN's FeatureStats adds up.
TEST(StatisticsFileTest, StyleGanHasSums) {
  const TempDir dir;
  const at::Tensor x_ND = RandomNormal(50, 4, 1) + 2;
  WriteArrays(dir / "theirs.npz", {{"num_items", torch::tensor(50)},
                                   {"raw_mean", x_ND.sum(0)},
                                   {"raw_cov", x_ND.t().mm(x_ND)}});
  ASSERT_OK_AND_ASSIGN(const FeatureStatistics read,
                       ReadStatistics(dir / "theirs.npz"));
  EXPECT_EQ(read.moments.count, 50);
  EXPECT_LE(StatisticsFileMaxError(read.moments.mean_D, x_ND.mean(0)), 1e-13);
  EXPECT_LE(StatisticsFileMaxError(read.moments.covariance_DD, x_ND.t().cov()),
            1e-12);
}

TEST(StatisticsFileTest, DistancesSurviveAFile) {
  const TempDir dir;
  const FeatureStatistics written = SomeStatistics();
  ASSERT_OK_AND_ASSIGN(const Moments other, MomentsOf(RandomNormal(60, 4, 2)));
  ASSERT_OK_AND_ASSIGN(const double expected,
                       FrechetDistance(written.moments, other));
  for (const StatisticsFormat format :
       {StatisticsFormat::kSafetensors, StatisticsFormat::kPytorchFid}) {
    ASSERT_OK(WriteStatistics(dir / "f", written, format));
    ASSERT_OK_AND_ASSIGN(const FeatureStatistics read,
                         ReadStatistics(dir / "f"));
    ASSERT_OK_AND_ASSIGN(const double distance,
                         FrechetDistance(read.moments, other));
    EXPECT_NEAR(distance, expected, 1e-10 * expected);
  }
}

// Files of other programs may have single precision.
TEST(StatisticsFileTest, ReadsFloat32) {
  const TempDir dir;
  const std::vector<float> mu = {1, 2};
  const std::vector<float> sigma = {2, 0.5, 0.5, 1};
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir / "f"));
  ASSERT_OK(writer.Add({"mu",
                        DType::kF32,
                        {2},
                        SharedBytes::Copy(std::as_bytes(std::span(mu)))}));
  ASSERT_OK(writer.Add({"sigma",
                        DType::kF32,
                        {2, 2},
                        SharedBytes::Copy(std::as_bytes(std::span(sigma)))}));
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const FeatureStatistics read, ReadStatistics(dir / "f"));
  EXPECT_EQ(read.moments.covariance_DD.scalar_type(), at::kDouble);
  EXPECT_EQ(read.moments.covariance_DD[0][1].item<double>(), 0.5);
}

TEST(StatisticsFileTest, ContradictionsAreDataLoss) {
  const TempDir dir;
  const at::Tensor mu = torch::zeros({2}, at::kDouble);
  const at::Tensor sigma = torch::eye(2, at::kDouble);
  const at::Tensor nan = sigma * std::numeric_limits<double>::quiet_NaN();
  const at::Tensor skew = torch::tensor({{1.0, 0.5}, {0.4, 1.0}}, at::kDouble);
  const struct {
    std::map<std::string, at::Tensor> arrays;
    std::string message;
  } kCases[] = {
      {{{"mu", mu}, {"sigma", torch::eye(3, at::kDouble)}}, "do not fit"},
      {{{"mu", sigma}, {"sigma", sigma}}, "do not fit"},
      {{{"mu", mu}, {"sigma", nan}}, "NaN"},
      {{{"mu", mu}, {"sigma", skew}}, "not symmetric"},
      {{{"raw_mean", mu}, {"raw_cov", sigma}, {"num_items", mu}}, "count"},
      {{{"raw_mean", mu}, {"raw_cov", sigma}, {"num_items", mu[0] + 1}},
       "count of 1"},
      {{{"raw_mean", mu}, {"raw_cov", mu}, {"num_items", mu[0] + 9}},
       "do not fit"},
  };
  for (const auto& test : kCases) {
    WriteArrays(dir / "f", test.arrays);
    EXPECT_THAT(ReadStatistics(dir / "f"),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("/f"), HasSubstr(test.message))));
  }
}

TEST(StatisticsFileTest, ChecksThePathBeforeWriting) {
  const TempDir dir;
  EXPECT_OK(CheckStatisticsPath(dir / "a.npz"));
  EXPECT_OK(CheckStatisticsPath(dir / "a.safetensors"));
  EXPECT_FALSE(PathExists(dir / "a.npz"));
  EXPECT_THAT(*ListDirectory(dir / ""), IsEmpty());
  EXPECT_THAT(CheckStatisticsPath(dir / "a.npy"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither with .npz")));
  EXPECT_THAT(CheckStatisticsPath(dir / "none/a.npz"),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(CreateDirectories(dir / "b.npz"));
  EXPECT_THAT(
      CheckStatisticsPath(dir / "b.npz"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a folder")));
}

TEST(StatisticsFileTest, OtherFilesAreRefused) {
  const TempDir dir;
  EXPECT_THAT(ReadStatistics(dir / "f"), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(WriteFile(dir / "f", "\x80\x04\x95 a pickle of StyleGAN"));
  EXPECT_THAT(ReadStatistics(dir / "f"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("pickle"), HasSubstr("numpy.savez"))));
  WriteArrays(dir / "f", {{"arr_0", torch::zeros({2}, at::kDouble)}});
  EXPECT_THAT(ReadStatistics(dir / "f"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("mu and sigma"), HasSubstr("arr_0"))));
  ASSERT_OK(WriteSafetensors(dir / "f", {}, {{"format", "pt"}}));
  EXPECT_THAT(ReadStatistics(dir / "f"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no feature statistics")));
}

}  // namespace
}  // namespace gandem
