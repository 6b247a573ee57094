// SPDX-License-Identifier: Apache-2.0
//
// What the page of `gandem report --html` shows of a run, as JSON, from the
// files of its folder:
//   name, run_dir, recipe (the text), rounds_wanted, rounds_done
//   roles      by name, the lowest rank of each: arrays of equal lengths
//              (round, loss, shares of time ...), see RoleColumns
//   epochs     of the run, with what was done again at the start of each
//   curves     of metric cards (common/results/judged_curves.h)
//   samples    grids of generated images as data: URIs
//   report     what `gandem report --json` says of it
//   notes      what is not shown, and why
// Long runs are thinned: a column has at most kMaxColumns points, each the mean
// over as many rounds, so the page stays small whatever the run.
//
// Owner: values. Thread safety: pure functions, but for reading files.
// Errors: those of common/files/file.h. What is damaged is left out with a
// note.
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

// Arrays by name of a worker's rounds: `round` (rounds done), `images` and
// `seconds` of training until then (of the discriminator's clock), `loss`,
// `loss_low`, `loss_high` (extremes of the rounds), `lag`, `images_per_second`,
// `share_compute`, `share_images`, `share_feedback`, `share_data`,
// `share_cache`, `share_sync` (of the time, 0 to 1), `waiting_images`,
// `cache_fill`, `logit_real`, `logit_generated`, `ada_p`, `ada_r_t`. What is
// not finite, or was not said, is null.
nlohmann::ordered_json RoleColumns(const RoundHistory& history, Role role,
                                   int64_t max_columns);

}  // namespace gandem
