// SPDX-License-Identifier: Apache-2.0
#include "common/failpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace gandem {
namespace {

// Sorted, one line per name.
// clang-format off
constexpr absl::string_view kNames[] = {
    "checkpoint.after_rename",
    "checkpoint.after_shard",
    "checkpoint.before_manifest",
    "checkpoint.before_rename",
    "checkpoint.before_shard",
    "checkpoint.prune",
    "coordinator.after_epoch",
    "coordinator.after_register",
    "discriminator.after_take",
    "discriminator.after_update",
    "discriminator.before_answer",
    "discriminator.before_publish",
    "discriminator.before_update",
    "evaluation.after_slice",
    "evaluation.before_card",
    "exchange.after_answer",
    "exchange.after_publish",
    "exchange.before_answer",
    "exchange.before_publish",
    "exchange.critic_received",
    "exchange.feedback_received",
    "exchange.images_acknowledged",
    "exchange.images_received",
    "exchange.send_images",
    "generator.after_send",
    "generator.after_take_critic",
    "generator.after_take_feedback",
    "generator.after_update",
    "generator.before_send",
    "generator.before_update",
};
// clang-format on

struct Armed {
  std::string name;
  int64_t count = 0;
  std::string marker;
  std::atomic<int64_t> passes{0};
};

// Written only while disarmed.
Armed& TheArmed() {
  static Armed* const armed = new Armed;
  return *armed;
}

}  // namespace

namespace internal {

constinit std::atomic<bool> failpoint_armed{false};

void PassFailpoint(absl::string_view name) {
  Armed& armed = TheArmed();
  if (name != armed.name) return;
  if (armed.passes.fetch_add(1) + 1 != armed.count) return;
  if (!armed.marker.empty()) {
    const int fd =
        open(armed.marker.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (fd < 0) return;
    close(fd);
  }
  kill(getpid(), SIGKILL);
  while (true) pause();  // nothing may run between here and the signal
}

}  // namespace internal

absl::Status ArmFailpointFromEnvironment() {
  const char* const text = std::getenv(kFailpointVariable);
  return ArmFailpoint(text == nullptr ? "" : text);
}

absl::Status ArmFailpoint(absl::string_view text) {
  internal::failpoint_armed.store(false);
  if (text.empty()) return absl::OkStatus();
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 2));
  int64_t count = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &count) || count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(kFailpointVariable, "='", text,
                     "' is not name:N or name:N:file with N >= 1"));
  }
  if (!std::ranges::binary_search(kNames, absl::string_view(parts[0]))) {
    return absl::InvalidArgumentError(
        absl::StrCat(kFailpointVariable, ": '", parts[0], "' is not one of ",
                     absl::StrJoin(kNames, ", ")));
  }
  Armed& armed = TheArmed();
  armed.name = parts[0];
  armed.count = count;
  armed.marker = parts.size() > 2 ? parts[2] : "";
  armed.passes.store(0);
  internal::failpoint_armed.store(true);
  return absl::OkStatus();
}

std::span<const absl::string_view> FailpointNames() { return kNames; }

}  // namespace gandem
