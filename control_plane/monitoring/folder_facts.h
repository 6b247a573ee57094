// SPDX-License-Identifier: Apache-2.0
//
// What a run folder tells those who watch the run: room on its disk, the age of
// the newest checkpoint, and the newest metric cards.
//
// Owner: whoever answers scrapes. Thread safety: one thread at a time.
// Errors: none; what cannot be read is left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace gandem {

struct CardValue {
  int64_t step = 0;  // rounds of the checkpoint that was judged
  double value = 0;
};

struct FolderFacts {
  struct Disk {
    int64_t free_bytes = 0;  // for those who are not root
    int64_t size_bytes = 0;
  };
  std::optional<Disk> disk = {};
  // When the newest checkpoint was completed.
  std::optional<absl::Time> checkpoint_time = {};
  // By metric ("FID"): of the checkpoint with the most rounds.
  std::map<std::string, CardValue> cards = {};
};

// Cards that were read are remembered by name: they never change.
class FolderReader {
 public:
  explicit FolderReader(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  // `checkpoint_step`: rounds of the newest checkpoint; 0: there is none.
  FolderFacts Read(int64_t checkpoint_step);

 private:
  void ReadNewCards();

  const std::string run_dir_;
  std::set<std::string> known_cards_;  // names of files
  std::map<std::string, CardValue> cards_;
};

}  // namespace gandem
