// SPDX-License-Identifier: Apache-2.0
//
// The state of a role in a checkpoint: at a cut all ranks of a fleet have the
// same one, so each writes a part of it, in whole tensors, and a reader puts
// the parts together, whatever their number. The manifest says which files
// there are.
//
// Thread safety: pure functions, but for reading files.
// Errors: DATA_LOSS where files do not make up one state; those of
// safetensors.h. That no tensor is missing is for whoever wants them to say.
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

// By part, the rank that writes it: the largest first, each for the rank that
// has the fewest bytes so far. No rank has more than its share and the largest
// part. It depends on names, sizes and the number of ranks alone.
std::vector<int> SplitState(std::span<const StatePart> parts, int ranks);

// CRC32C of every tensor of a role's state, in hexadecimal, by name; also the
// metadata of a shard whose writer was one of several workers of its role.
using TensorChecksums = std::map<std::string, std::string>;
std::string ChecksumText(uint32_t crc32c);
// One number for all of them.
uint32_t StateChecksum(const TensorChecksums& checksums);
// Names of the tensors whose checksums are not equal in all these shards of
// `folder`, in order.
absl::StatusOr<std::vector<std::string>> DifferingTensors(
    const std::string& folder, std::span<const std::string> shards);

// "generator-0.safetensors"; `role` is "generator" or "discriminator".
std::string ShardName(absl::string_view role, int rank);

// A role's files in the manifest, by rank.
//   DATA_LOSS  there is none, or that of a rank is missing.
absl::StatusOr<std::vector<std::string>> ShardNames(
    const CheckpointManifest& manifest, absl::string_view role);

// The tensors of a role in the checkpoint `folder`, which was verified before.
//   DATA_LOSS  also: a tensor is in two files; names both.
absl::StatusOr<std::vector<NamedTensor>> ReadShards(const std::string& folder,
                                                    absl::string_view role);

}  // namespace gandem
