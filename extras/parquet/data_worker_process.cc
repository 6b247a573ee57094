// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace gandem {
namespace {

// Between the end of a socket and that of its process.
constexpr int kEndMilliseconds = 2'000;

void WaitForEndOf(pid_t pid) {
  const OwnedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd waiting = {.fd = process.get(), .events = POLLIN, .revents = 0};
  // Cut short by a signal, it is killed a little early.
  poll(&waiting, 1, kEndMilliseconds);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataWorkerProcess>> DataWorkerProcess::Start(
    const std::string& program) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return FileError(errno, "cannot make a socket for", program);
  }
  auto process = absl::WrapUnique(new DataWorkerProcess(OwnedFd(ends[0])));
  DataWorkerProcess* const self = process.get();
  process->keeper_ = Thread(
      "data worker", [self, program, theirs = OwnedFd(ends[1])]() mutable {
        self->Keep(program, std::move(theirs));
      });
  process->started_.WaitForNotification();  // ChildProcess has a deadline
  if (!process->start_.ok()) {
    return Annotate(process->start_,
                    "Parquet is read by data_worker, which lies beside gandem");
  }
  return process;
}

void DataWorkerProcess::Keep(const std::string& program, OwnedFd theirs) {
  absl::StatusOr<ChildProcess> child =
      ChildProcess::Start({.arguments = {program}, .input_fd = theirs.get()});
  theirs = OwnedFd();
  start_ = child.status();
  started_.Notify();
  if (!child.ok()) return;
  stop_.WaitForNotification();  // the destructor's, at the latest
  if (!may_end_alone_) return;
  WaitForEndOf(child->pid());
  if (const std::optional<ProcessEnd> end = child->Poll()) {
    end_ = end->description;
  }
}

std::string DataWorkerProcess::HowItEnded() {
  may_end_alone_ = true;
  stop_.Notify();
  keeper_.Join();
  return end_;
}

DataWorkerProcess::~DataWorkerProcess() {
  if (!stop_.HasBeenNotified()) stop_.Notify();
}

absl::StatusOr<std::string> DataWorkerProgram() {
  GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
  return folder + "/data_worker";
}

}  // namespace gandem
