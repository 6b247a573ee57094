// SPDX-License-Identifier: Apache-2.0
#include "common/security/refusals.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"

namespace gandem {
namespace {

constexpr absl::Duration kRefusalInterval = absl::Seconds(1);

Refusals& OfThisProcess() {
  static Refusals* const refusals = new Refusals;  // never destroyed
  return *refusals;
}

}  // namespace

std::optional<int64_t> RefusalPace::Pass(absl::Time now) {
  if (now - last_line_ < kRefusalInterval) {
    ++left_out_;
    return std::nullopt;
  }
  last_line_ = now;
  return std::exchange(left_out_, 0);
}

std::optional<std::string> Refusals::Add(absl::string_view what,
                                         absl::Time now) {
  absl::MutexLock lock(&mu_);
  ++count_;
  const std::optional<int64_t> left_out = pace_.Pass(now);
  if (!left_out.has_value()) return std::nullopt;
  std::string line(what);
  if (*left_out > 0) {
    absl::StrAppend(&line, " (and ", *left_out,
                    " other refusals since the last line)");
  }
  return line;
}

int64_t Refusals::count() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

void NoteRefusal(absl::string_view what) {
  const std::optional<std::string> line =
      OfThisProcess().Add(what, MonotonicNow());
  if (line.has_value()) GANDEM_LOG_WARN("{}", *line);
}

int64_t NumRefusals() { return OfThisProcess().count(); }

}  // namespace gandem
