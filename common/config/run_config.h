// SPDX-License-Identifier: Apache-2.0
//
// A RunConfig (proto/config.proto) from file and command line to one that can
// be trained. Messages stay protos here; each class's Options are made of them
// in training/.
//
// Thread safety: pure functions, but for reading the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/data_shape.h"
#include "proto/config.pb.h"

namespace gandem {

// Reads the text proto at `path`, applies `sets` ("path.to.field=value", the
// arguments of --set) in their order and validates the result.
//   NOT_FOUND ...     the file cannot be read.
//   INVALID_ARGUMENT  "file:line:column: what" of a text error, with the
//                     nearest valid name; the text of a bad --set; or
//                     everything that ValidateRunConfig finds, a line for each.
absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path,
                                        std::span<const std::string> sets);

// The same for text that is in memory; `file` is its name in errors.
absl::StatusOr<RunConfig> ParseRunConfig(absl::string_view text,
                                         absl::string_view file,
                                         std::span<const std::string> sets);

// INVALID_ARGUMENT "config: first; second" lists every fault at once: values
// out of range, and fields that do not fit each other.
absl::Status ValidateRunConfig(const RunConfig& config);

// The same run with every default written out (that of a family only in the
// family that was chosen), and schedule.fused_backward,
// optimizer.optimism_rule, exchange.cache_rounds and the ends of decaying
// learning rates resolved. Doing it twice changes nothing.
RunConfig EffectiveConfig(const RunConfig& config);

// EffectiveConfig as text proto, fields in the order of their numbers. Parsed
// again it is the same config, to the last bit of every number.
std::string EffectiveConfigText(const RunConfig& config);

// FNV-1a over the deterministic serialization of EffectiveConfig. It covers
// every field, `name` and `rounds` included: two processes that agree on it run
// the same run. It may change from one version of gandem to the next.
uint64_t ConfigHash(const RunConfig& config);

// A config that was checked and then completed, once in each process: what
// takes one checks nothing and knows every value.
//
// Owner: a value; it never changes once made.
class EffectiveRunConfig {
 public:
  // `config` has passed ValidateRunConfig.
  static EffectiveRunConfig OfValid(const RunConfig& config) {
    return EffectiveRunConfig(EffectiveConfig(config));
  }
  // Reads a config as ParseRunConfig does. Errors: the same.
  static absl::StatusOr<EffectiveRunConfig> Parse(absl::string_view text,
                                                  absl::string_view file);

  // The same run with fleets of these sizes, as some workers are absent.
  EffectiveRunConfig WithWorkers(int generators, int discriminators) const;

  const RunConfig& operator*() const { return config_; }
  const RunConfig* operator->() const { return &config_; }

  // EffectiveConfigText and ConfigHash of it.
  std::string Text() const;
  uint64_t Hash() const;

 private:
  explicit EffectiveRunConfig(RunConfig config) : config_(std::move(config)) {}

  RunConfig config_;
};

// Are images translated?
bool HasPairs(const DataConfig& data);

// Path of the images: data.source, or data.idx_images if it is empty.
const std::string& ImagesPath(const DataConfig& data);

// Shape of the images as the networks see them.
DataShape DataShapeOf(const DataConfig& data);

// Batches of one update of a role: with sync.mode ACCUMULATE sync.interval,
// else 1. Each goes through the network by itself, in micro-batches of its
// own.
int64_t StepBatches(const RoleConfig& role);

// Images of one update of a role, over its whole fleet.
int64_t StepBatch(const RoleConfig& role);

// Updates of a role from one at which all its workers are at the same state to
// the next: sync.interval with AVERAGE_STATE and several workers, else 1.
int64_t StepsToAgreement(const RoleConfig& role);

// The same for both roles and in rounds: checkpoints are at multiples of it.
int64_t RoundsToAgreement(const RunConfig& config);

}  // namespace gandem
