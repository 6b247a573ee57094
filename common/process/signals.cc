// SPDX-License-Identifier: Apache-2.0
#include "common/process/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "common/check.h"

namespace gandem {
namespace {

template <typename Signals>
sigset_t SetOf(const Signals& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) GANDEM_CHECK(sigaddset(&set, signal) == 0);
  return set;
}

// Checks that main() has blocked the signals; otherwise their default action
// would run.
int OpenSignalFd(const std::vector<int>& signals) {
  sigset_t blocked;
  GANDEM_CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0);
  for (const int signal : signals) {
    GANDEM_CHECK(sigismember(&blocked, signal) == 1);
  }
  const sigset_t set = SetOf(signals);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  GANDEM_CHECK(fd >= 0);
  return fd;
}

int OpenEventFd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  GANDEM_CHECK(fd >= 0);
  return fd;
}

}  // namespace

void BlockSignals(std::initializer_list<int> signals) {
  const sigset_t set = SetOf(signals);
  GANDEM_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

std::vector<int> SignalsToHear(std::initializer_list<int> signals) {
  std::vector<int> heard;
  for (const int signal : signals) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) heard.push_back(signal);
  }
  return heard;
}

void UnblockAllSignals() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

SignalThread::SignalThread(std::vector<int> signals,
                           absl::AnyInvocable<void(int)> callback)
    : signal_fd_(OpenSignalFd(signals)),
      stop_fd_(OpenEventFd()),
      callback_(std::move(callback)),
      thread_("signals", [this] { Run(); }) {}

SignalThread::~SignalThread() {
  const uint64_t one = 1;
  GANDEM_CHECK(write(stop_fd_, &one, sizeof(one)) == sizeof(one));
  thread_.Join();
  close(stop_fd_);
  close(signal_fd_);
}

// A separate descriptor reports the stop, because a signal would be taken from
// the process.
void SignalThread::Run() {
  while (true) {
    pollfd fds[] = {{.fd = stop_fd_, .events = POLLIN, .revents = 0},
                    {.fd = signal_fd_, .events = POLLIN, .revents = 0}};
    if (poll(fds, 2, /*timeout=*/-1) < 0) {
      GANDEM_CHECK(errno == EINTR);
      continue;
    }
    if (fds[0].revents != 0) return;
    signalfd_siginfo info;
    const ssize_t size = read(signal_fd_, &info, sizeof(info));
    // Another SignalThread has taken the signal.
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    GANDEM_CHECK(size == sizeof(info));
    callback_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace gandem
