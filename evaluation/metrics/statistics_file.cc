// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/statistics_file.h"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/formats/npz.h"

namespace gandem {
namespace {

constexpr char kFormatKey[] = "format";
constexpr char kFormatValue[] = "gandem feature statistics 1";

// Text fields and their names in the file.
template <typename Statistics, typename Visit>
void ForEachText(Statistics& statistics, Visit visit) {
  visit("net_name", statistics.net_name);
  visit("net_sha256", statistics.net_sha256);
  visit("resize", statistics.resize);
  visit("reference_name", statistics.reference_name);
  visit("reference_split", statistics.reference_split);
  visit("reference_hash", statistics.reference_hash);
}

NamedTensor ToNamed(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.to(at::kDouble).contiguous();
  const std::span<const double> values(contiguous.const_data_ptr<double>(),
                                       static_cast<size_t>(tensor.numel()));
  return {.name = name,
          .dtype = DType::kF64,
          .shape = contiguous.sizes().vec(),
          .bytes = SharedBytes::Copy(std::as_bytes(values))};
}

NamedTensor ToNamed(const std::string& name, int64_t value) {
  return {.name = name,
          .dtype = DType::kI64,
          .shape = {},
          .bytes = SharedBytes::Copy(std::as_bytes(std::span(&value, 1)))};
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
  // from_blob wants a mutable pointer; the copy only reads it.
  return at::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                       tensor.shape, type)
      .to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

using Arrays = std::map<std::string, at::Tensor>;

// Checks what a file of others claims to be: shapes, finite numbers, symmetry.
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

// A scalar that is a number of images.
absl::StatusOr<int64_t> ToCount(const at::Tensor& tensor, int64_t smallest) {
  const double value = tensor.numel() == 1 ? tensor.item<double>() : -1;
  if (!(value >= static_cast<double>(smallest) && value < 1e15) ||
      value != std::floor(value) || value == 1) {
    return absl::DataLossError(absl::StrCat("a count of ", value,
                                            " images is none; expected ",
                                            smallest, " or more"));
  }
  return static_cast<int64_t>(value);
}

// ---- StyleGAN's sums ----

// Sums of x and of x x', not yet divided by anything.
std::vector<NamedTensor> ToSums(const Moments& moments) {
  const auto n = static_cast<double>(moments.count);
  return {ToNamed("num_items", moments.count),
          ToNamed("raw_mean", moments.mean_D * n),
          ToNamed("raw_cov", moments.covariance_DD * (n - 1) +
                                 moments.mean_D.outer(moments.mean_D) * n)};
}

absl::StatusOr<Moments> FromSums(const Arrays& arrays) {
  GANDEM_ASSIGN_OR_RETURN(const int64_t count,
                          ToCount(arrays.at("num_items"), 2));
  const auto n = static_cast<double>(count);
  const at::Tensor mean = arrays.at("raw_mean") / n;
  const at::Tensor& sums = arrays.at("raw_cov");
  // Checked before the difference, which would not be defined.
  GANDEM_RETURN_IF_ERROR(MakeMoments(mean, sums, count));
  return MakeMoments(mean, (sums - mean.outer(mean) * n) / (n - 1), count);
}

// ---- Files ----

absl::Status WriteNpz(const std::string& path,
                      const std::vector<NamedTensor>& arrays) {
  GANDEM_ASSIGN_OR_RETURN(NpzWriter writer, NpzWriter::Create(path));
  for (const NamedTensor& array : arrays) {
    GANDEM_RETURN_IF_ERROR(writer.Add(array));
  }
  return writer.Finish().status();
}

absl::Status WriteOurs(const std::string& path,
                       const FeatureStatistics& statistics) {
  std::map<std::string, std::string> metadata = {{kFormatKey, kFormatValue}};
  ForEachText(statistics,
              [&metadata](const char* name, const std::string& text) {
                metadata[name] = text;
              });
  const Moments& moments = statistics.moments;
  return WriteSafetensors(path,
                          std::vector<NamedTensor>{
                              ToNamed("mean", moments.mean_D),
                              ToNamed("covariance", moments.covariance_DD),
                              ToNamed("count", moments.count)},
                          metadata)
      .status();
}

absl::Status WriteTo(const std::string& path,
                     const FeatureStatistics& statistics,
                     StatisticsFormat format) {
  const Moments& moments = statistics.moments;
  switch (format) {
    case StatisticsFormat::kSafetensors:
      return WriteOurs(path, statistics);
    case StatisticsFormat::kPytorchFid:
      return WriteNpz(path, {ToNamed("mu", moments.mean_D),
                             ToNamed("sigma", moments.covariance_DD)});
    case StatisticsFormat::kStyleGan:
      if (moments.count == 0) {
        return absl::InvalidArgumentError(
            "StyleGAN's statistics hold sums, and these moments do not say of "
            "how many images they are; write mu and sigma");
      }
      return WriteNpz(path, ToSums(moments));
  }
  return absl::InternalError("unknown format");
}

// A header follows its 8-byte size, and is a JSON object.
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
  ForEachText(statistics, [&metadata](const char* name, std::string& text) {
    text = metadata[name];
  });
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

absl::StatusOr<FeatureStatistics> ReadNpz(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path));
  FeatureStatistics statistics;
  if (reader.Has("mu") && reader.Has("sigma")) {
    GANDEM_ASSIGN_OR_RETURN(const Arrays arrays,
                            ReadArrays(reader, {"mu", "sigma"}));
    GANDEM_ASSIGN_OR_RETURN(
        statistics.moments,
        MakeMoments(arrays.at("mu"), arrays.at("sigma"), 0));
    return statistics;
  }
  if (reader.Has("raw_mean") && reader.Has("raw_cov") &&
      reader.Has("num_items")) {
    GANDEM_ASSIGN_OR_RETURN(
        const Arrays arrays,
        ReadArrays(reader, {"raw_mean", "raw_cov", "num_items"}));
    GANDEM_ASSIGN_OR_RETURN(statistics.moments, FromSums(arrays));
    return statistics;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no feature statistics: expected arrays mu and sigma, or raw_mean, "
      "raw_cov and num_items, but there are ",
      absl::StrJoin(reader.names(), ", ")));
}

}  // namespace

absl::Status WriteStatistics(const std::string& path,
                             const FeatureStatistics& statistics,
                             StatisticsFormat format) {
  const std::string temporary = path + ".tmp";
  absl::Cleanup remove_temporary = [&temporary] { unlink(temporary.c_str()); };
  GANDEM_RETURN_IF_ERROR(WriteTo(temporary, statistics, format));
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  std::move(remove_temporary).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<FeatureStatistics> ReadStatistics(const std::string& path) {
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (!LooksLikeNpz(path) && !LooksLikeSafetensors(path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": neither .npz nor safetensors. A pickle is not read, since reading "
        "it runs its code: load it in Python and save its arrays with "
        "numpy.savez (mu and sigma, or raw_mean, raw_cov and num_items)"));
  }
  absl::StatusOr<FeatureStatistics> statistics =
      LooksLikeNpz(path) ? ReadNpz(path) : ReadOurs(path);
  if (!statistics.ok()) return Annotate(statistics.status(), path);
  return statistics;
}

}  // namespace gandem
