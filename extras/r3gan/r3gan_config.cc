// SPDX-License-Identifier: Apache-2.0
//
// Checks of a recipe that uses R3GAN.
#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/config_extra.h"

namespace gandem {
namespace {

// Widths and groups are halved at each doubling of the size above widest_until.
// Every group must keep a whole number of channels.
void CheckR3gan(const std::string& path, const NetworkConfig& network,
                int64_t size, Faults& faults) {
  const R3ganConfig& config = network.r3gan();
  const uint64_t until = static_cast<uint64_t>(config.widest_until());
  if (until < 4 || !std::has_single_bit(until)) {
    faults.Add(absl::StrCat(path, ".widest_until ", until,
                            " is not a power of two of at least 4"));
    return;
  }
  const int64_t parts =
      std::max<int64_t>(size / static_cast<int64_t>(until), 1);
  for (const auto& [field, value] :
       {std::pair("width", config.width()), {"groups", config.groups()}}) {
    if (value % parts == 0) continue;
    faults.Add(absl::StrCat(path, ".", field, " ", value,
                            " is not a multiple of ", parts, ": above ", until,
                            " pixels (widest_until) it is halved ",
                            std::countr_zero(static_cast<uint64_t>(parts)),
                            " times for images of ", size));
  }
  if (2 * config.width() % config.groups() != 0) {
    faults.Add(absl::StrCat(path, ".groups ", config.groups(),
                            " does not divide the ", 2 * config.width(),
                            " channels of twice the width"));
  }
}

}  // namespace

ConfigExtra R3ganConfigExtra() {
  return {.name = "r3gan", .check_network = &CheckR3gan};
}

}  // namespace gandem
