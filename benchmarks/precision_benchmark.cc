// SPDX-License-Identifier: Apache-2.0
//
// Milliseconds and memory of a step of both roles in every precision and
// layout, and what AUTO would choose: the matrix of
// docs/reference/precision.md. All cells are measured in turns, so that a slow
// moment of the machine hits all of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/matrix_tiles.h"
#include "common/status.h"
#include "training/compute/choose_compute.h"
#include "training/compute/measure_step.h"
#include "training/plan/run_plan.h"

namespace gandem {
namespace {

struct Flags {
  std::string recipe;
  std::vector<std::string> sets;
  int repetitions = 5;
  int steps = 3;
  double at_most = 0;
  std::string json;
};

struct Cell {
  ComputeChoice choice;
  absl::Duration time = absl::InfiniteDuration();
  int64_t peak_bytes = 0;
  std::string error = {};
};

void MeasureCell(const NetworkPlan& plan, int steps, Cell& cell) {
  if (!cell.error.empty()) return;
  const auto compute = ComputeFrom(plan, cell.choice);
  absl::Status done = compute.status();
  if (done.ok()) {
    const auto cost = MeasureStep(plan, *compute, {.steps = steps});
    done = cost.status();
    if (done.ok()) {
      cell.time = std::min(cell.time, cost->time);
      cell.peak_bytes = cost->peak_bytes;
    }
  }
  cell.error = std::string(done.message());
}

void Print(const Cell& cell, absl::Duration best, bool chosen) {
  const std::string name = ToString(cell.choice);
  if (!cell.error.empty()) {
    std::printf("  %-24s %s\n", name.c_str(), cell.error.c_str());
    return;
  }
  std::printf("  %-24s %9.2f ms  %5.2fx the best  %8.1f MiB%s\n", name.c_str(),
              absl::ToDoubleMilliseconds(cell.time),
              absl::FDivDuration(cell.time, best),
              static_cast<double>(cell.peak_bytes) / (1 << 20),
              chosen ? "  <- AUTO" : "");
}

// Returns AUTO's time over the best one.
absl::StatusOr<double> MeasureRole(NetworkPlan plan, const Flags& flags,
                                   nlohmann::json& result) {
  plan.precision = RoleConfig::AUTO;
  plan.layout = AUTO;
  const std::string role = Role_Name(plan.role);
  std::vector<Cell> cells;
  for (const ComputeChoice& choice : ComputeCandidates(plan)) {
    cells.push_back({.choice = choice});
  }
  GANDEM_ASSIGN_OR_RETURN(const ComputeChoice chosen, FastestCompute(plan));
  for (int i = 0; i < flags.repetitions; ++i) {
    for (Cell& cell : cells) MeasureCell(plan, flags.steps, cell);
  }
  const absl::Duration best = std::ranges::min(cells, {}, &Cell::time).time;
  std::printf("%s, %lld images a step, %d threads\n", role.c_str(),
              static_cast<long long>(plan.batch_size), plan.threads);
  double ratio = 0;
  for (const Cell& cell : cells) {
    const bool is_chosen = ToString(cell.choice) == ToString(chosen);
    if (is_chosen) ratio = absl::FDivDuration(cell.time, best);
    Print(cell, best, is_chosen);
    result[role][ToString(cell.choice)] = {
        {"ms", absl::ToDoubleMilliseconds(cell.time)},
        {"peak_bytes", cell.peak_bytes},
        {"error", cell.error}};
  }
  result[role]["auto"] = {{"choice", ToString(chosen)},
                          {"time_over_best", ratio}};
  return ratio;
}

absl::StatusOr<bool> Run(const Flags& flags) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          LoadRunConfig(flags.recipe, flags.sets));
  const RunPlan plan = MakeRunPlan(EffectiveRunConfig::OfValid(config));
  nlohmann::json result;
  bool passed = true;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    GANDEM_ASSIGN_OR_RETURN(
        const double ratio,
        MeasureRole(plan.role(role).network, flags, result));
    std::printf("  AUTO takes %.3fx the time of the best\n", ratio);
    if (flags.at_most > 0 && ratio > flags.at_most) passed = false;
  }
  if (!flags.json.empty()) {
    GANDEM_RETURN_IF_ERROR(WriteFile(flags.json, result.dump(2) + "\n"));
  }
  return passed;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::HideTilesWithoutSize();
  CLI::App app("cost of a step in every precision and layout");
  gandem::Flags flags;
  app.add_option("recipe", flags.recipe, "recipes/NAME.textproto")->required();
  app.add_option("--set", flags.sets, "field=value, as for gandem train")
      ->allow_extra_args(false);
  app.add_option("--repetitions", flags.repetitions, "of all cells, in turns")
      ->check(CLI::Range(1, 1000));
  app.add_option("--steps", flags.steps, "per cell and repetition")
      ->check(CLI::Range(1, 1000));
  app.add_option("--at_most", flags.at_most,
                 "fail where AUTO takes more than this times the best");
  app.add_option("--json", flags.json, "file for the result");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<bool> passed = gandem::Run(flags);
  if (!passed.ok()) {
    std::fprintf(stderr, "%s\n", passed.status().ToString().c_str());
    return 1;
  }
  return *passed ? 0 : 1;
}
