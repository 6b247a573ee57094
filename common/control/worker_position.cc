// SPDX-License-Identifier: Apache-2.0
#include "common/control/worker_position.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/role_name.h"

namespace gandem {
namespace {

constexpr double kLongestSeconds = 1e9;
constexpr int kMostRanks = 1 << 20;

// Returns "generator 0", "any generator", or "" without a worker.
std::string Whom(const WorkerPosition& position) {
  if (position.whom() == ROLE_UNKNOWN) return "";
  const std::string role = RoleName(position.whom());
  return position.rank() < 0 ? absl::StrCat("any ", role)
                             : absl::StrCat(role, " ", position.rank());
}

// Returns `what`, followed by "of `whom`" if known.
std::string Of(const char* what, const std::string& whom) {
  return whom.empty() ? what : absl::StrCat(what, " of ", whom);
}

std::string Awaited(const WorkerPosition& position) {
  const std::string whom = Whom(position);
  switch (position.wait()) {
    case WorkerPosition::IMAGES:
      return Of("images", whom);
    case WorkerPosition::ROOM:
      return Of("room for images in the cache", whom);
    case WorkerPosition::FEEDBACK:
      return Of("feedback", whom);
    case WorkerPosition::WEIGHTS:
      return Of("weights", whom);
    case WorkerPosition::RECEIPT:
      return Of("the receipt of weights", whom);
    case WorkerPosition::GRADIENTS:
      return Of("gradients", whom);
    case WorkerPosition::DATA:
      return "real images";
    case WorkerPosition::CHECKPOINT:
      return "an older checkpoint to be written";
    case WorkerPosition::GATE:
      return "the coordinator";
    case WorkerPosition::FINISH:
      return Of("the end", whom);
    default:
      return "something";
  }
}

}  // namespace

std::string ActivityText(const WorkerPosition& position) {
  switch (position.wait()) {
    case WorkerPosition::NOTHING:
      return "computes";
    case WorkerPosition::MEASURE:
      return "measures what AUTO becomes";
    default:
      return absl::StrCat("waits for ", Awaited(position));
  }
}

std::string PositionText(const WorkerPosition& position) {
  return absl::StrFormat("%s since %.0f s", ActivityText(position),
                         position.seconds());
}

void CheckPosition(const WorkerPosition& position, int64_t rounds,
                   Faults& faults) {
  faults.CheckRange("position.round", position.round(), 0, rounds);
  faults.CheckRange("position.wait", static_cast<int>(position.wait()),
                    static_cast<int>(WorkerPosition::Wait_MIN),
                    static_cast<int>(WorkerPosition::Wait_MAX));
  faults.CheckRange("position.whom", static_cast<int>(position.whom()),
                    static_cast<int>(Role_MIN), static_cast<int>(Role_MAX));
  faults.CheckRange("position.rank", position.rank(), -1, kMostRanks);
  faults.CheckRange("position.seconds", position.seconds(), 0.0,
                    kLongestSeconds);
}

}  // namespace gandem
