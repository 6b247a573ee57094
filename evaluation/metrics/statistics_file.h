// SPDX-License-Identifier: Apache-2.0
//
// Files with the moments of a reference set, so that it is seen only once.
//
//   kSafetensors  gandem's own: mean, covariance, count and their origin
//   kPytorchFid   .npz with mu and sigma, as pytorch-fid, TTUR, EDM and
//                 guided-diffusion read and write; without a count
//   only read     .npz with raw_mean, raw_cov (sums of x and x x') and
//                 num_items: the arrays of StyleGAN's pickled FeatureStats
//
// Owner: values. Thread safety: any thread.
// Errors: those of common/files/file.h, npz.h and
// common/checkpoint/safetensors.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/metrics/feature_moments.h"

namespace gandem {

enum class StatisticsFormat { kSafetensors, kPytorchFid };

struct FeatureStatistics {
  Moments moments;
  // Empty if the file does not record them: both kinds of .npz.
  std::string net_name = {};
  std::string net_sha256 = {};
  std::string resize = {};
  std::string reference_name = {};
  std::string reference_split = {};
  std::string reference_hash = {};
};

// Creates or replaces the file; a crash leaves the old or the new one.
absl::Status WriteStatistics(const std::string& path,
                             const FeatureStatistics& statistics,
                             StatisticsFormat format);

// Tells the format by the ending. INVALID_ARGUMENT: neither .npz nor
// .safetensors.
absl::StatusOr<StatisticsFormat> StatisticsFormatOf(const std::string& path);

// Checks that WriteStatistics can write there, before hours go into statistics.
//   INVALID_ARGUMENT  another ending; a folder.
//   and those of creating a file beside it.
absl::Status CheckStatisticsPath(const std::string& path);

// Tells the format by the content. root_ND is undefined.
//   INVALID_ARGUMENT  neither safetensors nor .npz (a StyleGAN .pkl, say), or
//                     without the arrays of one of the three.
//   DATA_LOSS         damaged; shapes that do not fit; NaN or infinity.
absl::StatusOr<FeatureStatistics> ReadStatistics(const std::string& path);

}  // namespace gandem
