// SPDX-License-Identifier: Apache-2.0
//
// Collects the data of a run for the page of `gandem report --html`, as JSON:
//   name, run_dir, recipe (the text), rounds_wanted, rounds_done
//   roles      by name, the lowest rank of each: arrays of equal lengths
//              (round, loss, shares of time ...), see RoleColumns
//   epochs     run epochs, with the rounds repeated at the start of each
//   curves     values of metric cards (common/results/judged_curves.h)
//   samples    grids of generated images as data: URIs
//   report     the output of `gandem report --json`
//   notes      data that are not shown, with the reason
// A column has at most kMaxColumns points, each the mean over equally many
// rounds, so the page of a long run stays small.
//
// Owner: values. Thread safety: pure functions, except for reading files.
// Errors: those of common/files/file.h. Damaged data are left out with a note.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"

namespace gandem {

inline constexpr int64_t kMaxColumns = 400;

absl::StatusOr<nlohmann::ordered_json> RunPageData(const TimeReport& report,
                                                   const RoundHistory& history);

// Arrays of a worker's rounds by name: `round` (rounds done), `images` and
// `seconds` of training until then (by the discriminator's clock), `loss`,
// `loss_low`, `loss_high` (extremes of the rounds), `lag`, `images_per_second`,
// `share_compute`, `share_images`, `share_feedback`, `share_data`,
// `share_cache`, `share_sync` (fractions of the time), `waiting_images`,
// `cache_fill`, `logit_real`, `logit_generated`, `ada_p`, `ada_r_t`. Missing
// and non-finite values are null.
nlohmann::ordered_json RoleColumns(const RoundHistory& history, Role role,
                                   int64_t max_columns);

}  // namespace gandem
