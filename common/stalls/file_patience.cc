// SPDX-License-Identifier: Apache-2.0
#include "common/stalls/file_patience.h"

#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/stalls/exit_deadline.h"

namespace gandem {
namespace {

// Checks of a call up to the limit. Checks are counted instead of time, so that
// a suspended process does not seem to have waited.
constexpr int kLooks = 20;
constexpr int kLooksOfNotice = kLooks / 2;

}  // namespace

FilePatience::FilePatience(std::string command, absl::Duration limit)
    : command_(std::move(command)),
      limit_(limit),
      outer_(FileWait::Watch(this)),
      thread_("patience", [this] { Run(); }) {}

FilePatience::~FilePatience() {
  FileWait::Watch(outer_);
  absl::MutexLock lock(&mu_);
  is_gone_ = true;
}

void FilePatience::Begin(absl::string_view path, int patience) {
  {
    absl::MutexLock lock(&mu_);
    ++num_calls_;
    is_waiting_ = true;
    path_.assign(path.data(), path.size());
    patience_ = patience;
  }
  GANDEM_FAILPOINT("file.wait");
}

void FilePatience::End() {
  absl::MutexLock lock(&mu_);
  is_waiting_ = false;
}

void FilePatience::Run() {
  absl::MutexLock lock(&mu_);
  int64_t seen = 0;
  int looks = 0;
  while (!AwaitUntil(&mu_, absl::Condition(&is_gone_),
                     MonotonicNow() + limit_ / kLooks)) {
    const bool is_same = is_waiting_ && num_calls_ == seen;
    seen = num_calls_;
    looks = is_same ? looks + 1 : 0;
    if (is_same) Judge(looks);
  }
}

void FilePatience::Judge(int looks) const {
  const absl::Duration since = looks * (limit_ / kLooks);
  if (looks >= kLooks * patience_) {
    SayWithoutWaiting(absl::StrCat(
        command_, ": '", path_, "' has not answered within ",
        absl::FormatDuration(since),
        ": is the server of its file system there? The same command works "
        "when it is\n"));
    _exit(ExitCodeOf(absl::DeadlineExceededError("")));
  }
  if (looks % kLooksOfNotice == 0) {
    SayWithoutWaiting(absl::StrCat(command_, ": waiting for ", path_, " since ",
                                   absl::ToInt64Seconds(since), " s\n"));
  }
}

}  // namespace gandem
