// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_shards.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/status.h"

namespace gandem {

// Breaks ties by name and rank, so that all ranks get the same result.
std::vector<int> SplitState(std::span<const StatePart> parts, int ranks) {
  GANDEM_CHECK(ranks >= 1);
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&parts](size_t i) {
    return std::tuple(-parts[i].bytes, parts[i].name);
  });
  std::set<std::pair<int64_t, int>> loads;  // bytes, rank
  for (int rank = 0; rank < ranks; ++rank) loads.insert({0, rank});
  std::vector<int> rank_of(parts.size());
  for (const size_t i : order) {
    const auto [bytes, rank] = *loads.begin();
    loads.erase(loads.begin());
    loads.insert({bytes + parts[i].bytes, rank});
    rank_of[i] = rank;
  }
  return rank_of;
}

std::string ChecksumText(uint32_t crc32c) {
  return absl::StrCat(absl::Hex(crc32c, absl::kZeroPad8));
}

uint32_t StateChecksum(const TensorChecksums& checksums) {
  return TextCrc32c(absl::StrJoin(checksums, "\n", absl::PairFormatter(" ")));
}

absl::StatusOr<std::vector<std::string>> DifferingTensors(
    const std::string& folder, std::span<const std::string> shards) {
  std::map<std::string, std::map<std::string, size_t>> counts;
  for (const std::string& shard : shards) {
    GANDEM_ASSIGN_OR_RETURN(const TensorChecksums checksums,
                            ReadSafetensorsMetadata(folder + "/" + shard));
    for (const auto& [name, checksum] : checksums) ++counts[name][checksum];
  }
  std::vector<std::string> names;
  for (const auto& [name, of_checksum] : counts) {
    if (of_checksum.begin()->second != shards.size()) names.push_back(name);
  }
  return names;
}

std::string ShardName(absl::string_view role, int rank) {
  return absl::StrCat(role, "-", rank, ".safetensors");
}

// The number of ranks follows from the manifest.
absl::StatusOr<std::vector<std::string>> ShardNames(
    const CheckpointManifest& manifest, absl::string_view role) {
  std::set<absl::string_view> listed;
  for (const CheckpointFile& file : manifest.files()) {
    if (absl::StartsWith(file.name(), absl::StrCat(role, "-")) &&
        absl::EndsWith(file.name(), ".safetensors")) {
      listed.insert(file.name());
    }
  }
  std::vector<std::string> names;
  do {
    names.push_back(ShardName(role, static_cast<int>(names.size())));
    if (!listed.contains(names.back())) {
      return absl::DataLossError(absl::StrCat(
          "the manifest does not list ", names.back(),
          listed.empty() ? "" : absl::StrCat(", but ", *listed.rbegin())));
    }
  } while (names.size() < listed.size());
  return names;
}

// A tensor in two shards means that the shards are from different states.
absl::StatusOr<std::vector<NamedTensor>> ReadShards(const std::string& folder,
                                                    absl::string_view role) {
  GANDEM_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                          ReadManifest(folder));
  const auto names = ShardNames(manifest, role);
  if (!names.ok()) return Annotate(names.status(), folder);
  std::vector<NamedTensor> state;
  std::map<std::string, std::string> file_of;
  for (const std::string& name : *names) {
    GANDEM_ASSIGN_OR_RETURN(std::vector<NamedTensor> shard,
                            ReadSafetensors(folder + "/" + name));
    for (NamedTensor& tensor : shard) {
      const auto [other, is_new] = file_of.insert({tensor.name, name});
      if (!is_new) {
        return absl::DataLossError(
            absl::StrCat(folder, ": tensor '", tensor.name, "' is in ",
                         other->second, " and in ", name));
      }
      state.push_back(std::move(tensor));
    }
  }
  return state;
}

}  // namespace gandem
