// SPDX-License-Identifier: Apache-2.0
//
// Splits the state of a role into shards of a checkpoint. All ranks of a fleet
// have equal state at a cut, so each rank writes some of the tensors. Readers
// join the shards of any number of ranks, as listed in the manifest.
//
// Thread safety: pure functions, except for reading files.
// Errors: DATA_LOSS for files that do not form one state; those of
// safetensors.h. Callers check that no tensor is missing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"
#include "proto/checkpoint.pb.h"

namespace gandem {

struct StatePart {
  absl::string_view name;
  int64_t bytes = 0;
};

// Returns the writing rank of each part: parts go, largest first, to the rank
// with the fewest bytes so far. Depends only on names, sizes and the number of
// ranks. No rank exceeds its share by more than the largest part.
std::vector<int> SplitState(std::span<const StatePart> parts, int ranks);

// CRC32C of every tensor of a role's state, in hexadecimal, by name. Also
// stored as metadata of shards if the role has several workers.
using TensorChecksums = std::map<std::string, std::string>;
std::string ChecksumText(uint32_t crc32c);
// Combines all checksums into one number.
uint32_t StateChecksum(const TensorChecksums& checksums);
// Returns the sorted names of tensors that differ between the shards.
absl::StatusOr<std::vector<std::string>> DifferingTensors(
    const std::string& folder, std::span<const std::string> shards);

// Returns "generator-0.safetensors"; `role` is "generator" or "discriminator".
std::string ShardName(absl::string_view role, int rank);

// Returns a role's files in the manifest, by rank.
//   DATA_LOSS  no files, or the file of a rank is missing
absl::StatusOr<std::vector<std::string>> ShardNames(
    const CheckpointManifest& manifest, absl::string_view role);

// Reads a role's tensors from a verified checkpoint.
//   DATA_LOSS  also: a tensor is in two files; names both
absl::StatusOr<std::vector<NamedTensor>> ReadShards(const std::string& folder,
                                                    absl::string_view role);

}  // namespace gandem
