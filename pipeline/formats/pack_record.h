// SPDX-License-Identifier: Apache-2.0
//
// pack.json: what a folder of packed shards is made of.
//
//   {"format": "gandem pack 1", "settings": "...", "images": 60000, "shards":
//   3}
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

struct PackRecord {
  // Source and options: equal texts are equal packs.
  std::string settings;
  int64_t images = 0;
  int64_t shards = 0;  // 0: they are not complete

  bool operator==(const PackRecord&) const = default;
};

std::string FormatPackRecord(const PackRecord& record);

// nullopt: it is no such text, or has numbers that are none.
std::optional<PackRecord> ParsePackRecord(absl::string_view text);

}  // namespace gandem
