// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/statistics_file.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/formats/npz.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

constexpr char kFormatKey[] = "format";
constexpr char kFormatValue[] = "gandem feature statistics 1";

// Text fields and their names in the file.
constexpr std::pair<const char*, std::string FeatureStatistics::*> kTexts[] = {
    {"net_name", &FeatureStatistics::net_name},
    {"net_sha256", &FeatureStatistics::net_sha256},
    {"resize", &FeatureStatistics::resize},
    {"reference_name", &FeatureStatistics::reference_name},
    {"reference_split", &FeatureStatistics::reference_split},
    {"reference_hash", &FeatureStatistics::reference_hash}};

std::vector<NamedTensor> ToNamed(const TensorsByName& tensors) {
  std::vector<NamedTensor> named;
  AppendTensors("", tensors, named);
  return named;
}

absl::StatusOr<at::Tensor> ToTensor(const NamedTensor& tensor) {
  at::ScalarType type = at::kDouble;
  if (tensor.dtype == DType::kF32) {
    type = at::kFloat;
  } else if (tensor.dtype == DType::kI64) {
    type = at::kLong;
  } else if (tensor.dtype != DType::kF64) {
    return absl::DataLossError(absl::StrCat("'", tensor.name, "' is ",
                                            DTypeName(tensor.dtype),
                                            ", expected F64, F32 or I64"));
  }
  // from_blob takes a mutable pointer; the copy only reads it.
  return at::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                       tensor.shape, type)
      .to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

using Arrays = std::map<std::string, at::Tensor>;

// Checks data of other programs: shapes, finite numbers, symmetry.
absl::StatusOr<Moments> MakeMoments(const at::Tensor& mean,
                                    const at::Tensor& covariance,
                                    int64_t count) {
  if (mean.dim() != 1 || mean.numel() < 1 ||
      covariance.sizes() != at::IntArrayRef({mean.numel(), mean.numel()})) {
    return absl::DataLossError(
        absl::StrCat("a mean of shape [", absl::StrJoin(mean.sizes(), ", "),
                     "] and a covariance of shape [",
                     absl::StrJoin(covariance.sizes(), ", "),
                     "] do not fit; expected [D] and [D, D]"));
  }
  if (!mean.isfinite().all().item<bool>() ||
      !covariance.isfinite().all().item<bool>()) {
    return absl::DataLossError("NaN or infinity in the mean or covariance");
  }
  const double asymmetry =
      (covariance - covariance.t()).abs().max().item<double>();
  if (asymmetry > 1e-6 * covariance.abs().max().item<double>()) {
    return absl::DataLossError("the covariance is not symmetric");
  }
  return Moments{.count = count,
                 .mean_D = mean,
                 .covariance_DD = (covariance + covariance.t()) / 2,
                 .root_ND = {}};
}

// Reads a scalar that is a number of images.
absl::StatusOr<int64_t> ToCount(const at::Tensor& tensor, int64_t smallest) {
  const double value = tensor.numel() == 1 ? tensor.item<double>() : -1;
  if (!(value >= static_cast<double>(smallest) && value < 1e15) ||
      value != std::floor(value) || value == 1) {
    return absl::DataLossError(absl::StrCat("a count of ", value,
                                            " images is not valid; expected ",
                                            smallest, " or more"));
  }
  return static_cast<int64_t>(value);
}

// Converts StyleGAN's sums of x and of x x'.
absl::StatusOr<Moments> FromSums(const Arrays& arrays) {
  GANDEM_ASSIGN_OR_RETURN(const int64_t count,
                          ToCount(arrays.at("num_items"), 2));
  const auto n = static_cast<double>(count);
  const at::Tensor mean = arrays.at("raw_mean") / n;
  const at::Tensor& sums = arrays.at("raw_cov");
  // The subtraction needs matching shapes.
  GANDEM_RETURN_IF_ERROR(MakeMoments(mean, sums, count));
  return MakeMoments(mean, (sums - mean.outer(mean) * n) / (n - 1), count);
}

absl::Status WriteNpz(const std::string& path, const Moments& moments) {
  GANDEM_ASSIGN_OR_RETURN(NpzWriter writer, NpzWriter::Create(path));
  for (const NamedTensor& array :
       ToNamed({{"mu", moments.mean_D}, {"sigma", moments.covariance_DD}})) {
    GANDEM_RETURN_IF_ERROR(writer.Add(array));
  }
  return writer.Finish();
}

absl::Status WriteOurs(const std::string& path,
                       const FeatureStatistics& statistics) {
  std::map<std::string, std::string> metadata = {{kFormatKey, kFormatValue}};
  for (const auto& [name, text] : kTexts) metadata[name] = statistics.*text;
  const Moments& moments = statistics.moments;
  return WriteSafetensors(
             path,
             ToNamed({{"mean", moments.mean_D},
                      {"covariance", moments.covariance_DD},
                      {"count", torch::tensor(moments.count, at::kLong)}}),
             metadata)
      .status();
}

// The header follows its 8-byte size and is a JSON object.
bool LooksLikeSafetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[9] = {};
  return file.read(begin, sizeof(begin)) && begin[8] == '{';
}

absl::StatusOr<FeatureStatistics> ReadOurs(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors,
                          ReadSafetensors(path));
  GANDEM_ASSIGN_OR_RETURN(auto metadata, ReadSafetensorsMetadata(path));
  if (metadata[kFormatKey] != kFormatValue) {
    return absl::InvalidArgumentError(
        "this safetensors file holds no feature statistics");
  }
  Arrays arrays;
  for (const NamedTensor& tensor : tensors) {
    GANDEM_ASSIGN_OR_RETURN(arrays[tensor.name], ToTensor(tensor));
  }
  for (const char* name : {"mean", "covariance", "count"}) {
    if (!arrays.contains(name)) {
      return absl::DataLossError(
          absl::StrCat("there is no tensor '", name, "'"));
    }
  }
  GANDEM_ASSIGN_OR_RETURN(const int64_t count, ToCount(arrays.at("count"), 0));
  FeatureStatistics statistics;
  GANDEM_ASSIGN_OR_RETURN(
      statistics.moments,
      MakeMoments(arrays.at("mean"), arrays.at("covariance"), count));
  for (const auto& [name, text] : kTexts) statistics.*text = metadata[name];
  return statistics;
}

absl::StatusOr<Arrays> ReadArrays(const NpzReader& reader,
                                  std::initializer_list<const char*> names) {
  Arrays arrays;
  for (const char* name : names) {
    GANDEM_ASSIGN_OR_RETURN(const NamedTensor tensor, reader.Read(name));
    GANDEM_ASSIGN_OR_RETURN(arrays[name], ToTensor(tensor));
  }
  return arrays;
}

absl::StatusOr<Moments> ReadNpz(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path));
  if (reader.Has("mu") && reader.Has("sigma")) {
    GANDEM_ASSIGN_OR_RETURN(const Arrays arrays,
                            ReadArrays(reader, {"mu", "sigma"}));
    return MakeMoments(arrays.at("mu"), arrays.at("sigma"), 0);
  }
  if (reader.Has("raw_mean") && reader.Has("raw_cov") &&
      reader.Has("num_items")) {
    GANDEM_ASSIGN_OR_RETURN(
        const Arrays arrays,
        ReadArrays(reader, {"raw_mean", "raw_cov", "num_items"}));
    return FromSums(arrays);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no feature statistics: expected arrays mu and sigma, or raw_mean, "
      "raw_cov and num_items, but there are ",
      absl::StrJoin(reader.names(), ", ")));
}

absl::StatusOr<FeatureStatistics> ReadEither(const std::string& path) {
  if (!LooksLikeZip(path)) return ReadOurs(path);
  GANDEM_ASSIGN_OR_RETURN(Moments moments, ReadNpz(path));
  return FeatureStatistics{.moments = std::move(moments)};
}

}  // namespace

absl::Status WriteStatistics(const std::string& path,
                             const FeatureStatistics& statistics,
                             StatisticsFormat format) {
  const std::string temporary = TemporaryName(path);
  absl::Cleanup remove_temporary = [&temporary] { unlink(temporary.c_str()); };
  GANDEM_RETURN_IF_ERROR(format == StatisticsFormat::kPytorchFid
                             ? WriteNpz(temporary, statistics.moments)
                             : WriteOurs(temporary, statistics));
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  std::move(remove_temporary).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<StatisticsFormat> StatisticsFormatOf(const std::string& path) {
  if (absl::EndsWith(path, ".npz")) return StatisticsFormat::kPytorchFid;
  if (absl::EndsWith(path, ".safetensors")) {
    return StatisticsFormat::kSafetensors;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "statistics file '", path,
      "' ends neither with .npz (as pytorch-fid's) nor with .safetensors"));
}

absl::Status CheckStatisticsPath(const std::string& path) {
  GANDEM_RETURN_IF_ERROR(StatisticsFormatOf(path));
  if (std::filesystem::is_directory(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("statistics file '", path, "' is a folder"));
  }
  const std::string temporary = TemporaryName(path);
  const absl::Cleanup remove = [&temporary] { unlink(temporary.c_str()); };
  return WriteFile(temporary, "");
}

absl::StatusOr<FeatureStatistics> ReadStatistics(const std::string& path) {
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (!LooksLikeZip(path) && !LooksLikeSafetensors(path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": neither .npz nor safetensors. A pickle is not read, since reading "
        "it runs its code: load it in Python and save its arrays with "
        "numpy.savez (mu and sigma, or raw_mean, raw_cov and num_items)"));
  }
  absl::StatusOr<FeatureStatistics> statistics = ReadEither(path);
  if (!statistics.ok()) return Annotate(statistics.status(), path);
  return statistics;
}

}  // namespace gandem
