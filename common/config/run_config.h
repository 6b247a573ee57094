// SPDX-License-Identifier: Apache-2.0
//
// Loads, validates and completes a RunConfig (proto/config.proto). training/
// converts its messages to each class's Options.
//
// Thread safety: pure functions, except for reading the file.
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
// arguments of --set) in order and validates the result.
//   NOT_FOUND ...     the file cannot be read
//   INVALID_ARGUMENT  "file:line:column: what" for a text error, with the
//                     nearest valid name; or a bad --set; or everything that
//                     ValidateRunConfig finds, one line each
absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path,
                                        std::span<const std::string> sets);

// Loads a config from memory; `file` is its name in errors.
absl::StatusOr<RunConfig> ParseRunConfig(absl::string_view text,
                                         absl::string_view file,
                                         std::span<const std::string> sets);

// Returns INVALID_ARGUMENT "config: first; second" with every fault: values out
// of range, and fields that contradict each other.
absl::Status ValidateRunConfig(const RunConfig& config);

// Returns `config` with all defaults written out (only in the chosen families).
// Resolves schedule.fused_backward, optimizer.optimism_rule,
// exchange.cache_rounds and the ends of decaying learning rates. Idempotent.
RunConfig EffectiveConfig(const RunConfig& config);

// Returns EffectiveConfig as text proto, fields in order of number. Parsing the
// text restores every number exactly.
std::string EffectiveConfigText(const RunConfig& config);

// Returns an FNV-1a hash of the serialized EffectiveConfig. It covers every
// field, including `name` and `rounds`: processes with equal hashes run the
// same run. It may change between versions of gandem.
uint64_t ConfigHash(const RunConfig& config);

// A validated config with all defaults, which users need not check.
//
// Owner: a value; immutable.
class EffectiveRunConfig {
 public:
  // `config` must have passed ValidateRunConfig.
  static EffectiveRunConfig OfValid(const RunConfig& config) {
    return EffectiveRunConfig(EffectiveConfig(config));
  }
  // Reads a config like ParseRunConfig, with the same errors.
  static absl::StatusOr<EffectiveRunConfig> Parse(absl::string_view text,
                                                  absl::string_view file);

  // Returns a copy with smaller fleets, for runs with absent workers.
  EffectiveRunConfig WithWorkers(int generators, int discriminators) const;

  const RunConfig& operator*() const { return config_; }
  const RunConfig* operator->() const { return &config_; }

  std::string Text() const;
  uint64_t Hash() const;

 private:
  explicit EffectiveRunConfig(RunConfig config) : config_(std::move(config)) {}

  RunConfig config_;
};

// Returns whether the run translates images.
bool HasPairs(const DataConfig& data);

// Returns data.source, or data.idx_images if data.source is empty.
const std::string& ImagesPath(const DataConfig& data);

DataShape DataShapeOf(const DataConfig& data);

// Returns the batches per update of a role: sync.interval for sync.mode
// ACCUMULATE, else 1. Each batch passes through the network separately.
int64_t StepBatches(const RoleConfig& role);

// Returns the images per update of a role over its whole fleet.
int64_t StepBatch(const RoleConfig& role);

// Returns the number of updates between two points at which all workers of a
// role have equal state: sync.interval for AVERAGE_STATE with several workers,
// else 1.
int64_t StepsToAgreement(const RoleConfig& role);

// Returns the same period for both roles, in rounds, for checkpoints.
int64_t RoundsToAgreement(const RunConfig& config);

}  // namespace gandem
