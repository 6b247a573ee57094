// SPDX-License-Identifier: Apache-2.0
#include "common/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/monotonic_time.h"
#include "common/process/signals.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int kExecTimeoutMilliseconds = 30'000;
constexpr int64_t kMaxTailBytes = 16 << 10;
constexpr int64_t kMaxOutputBytes = 1 << 20;
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

// Code between fork and exec in a process with other threads: system calls
// only, no allocation. Writes errno to `error_fd`.
struct Startup {
  char* const* arguments;
  char* const* environment;
  pid_t parent;
  int input_fd;
  int log_fd;  // -1: the parent's output
  int error_fd;
  const cpu_set_t* cores;  // null: unchanged
  int niceness;
};

[[noreturn]] void RunChild(const Startup& start) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl().
  if (getppid() != start.parent) _exit(127);
  UnblockAllSignals();
  signal(SIGPIPE, SIG_DFL);
  // Fails only at the lowest priority.
  (void)!nice(start.niceness);
  if ((start.cores == nullptr ||
       sched_setaffinity(0, sizeof(*start.cores), start.cores) == 0) &&
      dup2(start.input_fd, STDIN_FILENO) >= 0 &&
      (start.log_fd < 0 || (dup2(start.log_fd, STDOUT_FILENO) >= 0 &&
                            dup2(start.log_fd, STDERR_FILENO) >= 0))) {
    // Closes descriptors that a library opened without O_CLOEXEC.
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    execve(start.arguments[0], start.arguments, start.environment);
  }
  const int error = errno;
  (void)!write(start.error_fd, &error, sizeof(error));
  _exit(127);
}

// Returns 0 once exec has closed the pipe, else the child's errno.
int ExecError(int fd) {
  pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, kExecTimeoutMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  const ssize_t size = read(fd, &error, sizeof(error));
  return size == sizeof(error) ? error : 0;
}

ProcessEnd EndOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return {128 + signal, absl::StrCat("was killed by signal ", signal, " (",
                                       strsignal(signal), ")")};
  }
  const int code = WEXITSTATUS(wait_status);
  return {code, absl::StrCat("exited with code ", code)};
}

// Returns pointers into `texts`, with a null at the end.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the environment of this process with `changes` ("NAME=value").
std::vector<std::string> EnvironmentWith(
    const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    const absl::string_view name = text.substr(0, text.find('=') + 1);
    const bool changed = std::any_of(
        changes.begin(), changes.end(),
        [&](const auto& change) { return absl::StartsWith(change, name); });
    if (!changed) all.emplace_back(text);
  }
  return all;
}

}  // namespace

// A close-on-exec pipe reports whether exec succeeded, so a wrong path is an
// error of Start.
absl::StatusOr<ChildProcess> ChildProcess::Start(const Options& options) {
  const std::string& binary = options.arguments.at(0);
  const bool logs = !options.log_path.empty();
  if (logs && FileSize(options.log_path) > kMaxLogBytes) {
    GANDEM_RETURN_IF_ERROR(RotateFile(options.log_path, kOlderLogs));
  }
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const absl::StatusOr<int> log =
      logs ? OpenPlainFile(options.log_path, "cannot open",
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
           : -1;
  const int log_fd = log.value_or(-1);
  std::array<int, 2> pipe_fds = {-1, -1};
  const int pipe_result = pipe2(pipe_fds.data(), O_CLOEXEC);
  const int pipe_errno = errno;
  const absl::Cleanup close_all = [&] {
    for (const int fd : {null_fd, log_fd, pipe_fds[0], pipe_fds[1]}) {
      if (fd >= 0) close(fd);
    }
  };
  GANDEM_RETURN_IF_ERROR(log);
  if (null_fd < 0 || pipe_result != 0) {
    return FileError(pipe_errno, "cannot prepare the start of", binary);
  }
  struct stat log_stat = {};
  if (logs) fstat(log_fd, &log_stat);

  const std::vector<char*> arguments = Pointers(options.arguments);
  const std::vector<std::string> variables =
      EnvironmentWith(options.environment);
  const std::vector<char*> environment = Pointers(variables);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : options.cores) CPU_SET(core, &cores);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return FileError(errno, "cannot start", binary);
  if (pid == 0) {
    RunChild({.arguments = arguments.data(),
              .environment = environment.data(),
              .parent = parent,
              .input_fd = options.input_fd < 0 ? null_fd : options.input_fd,
              .log_fd = log_fd,
              .error_fd = pipe_fds[1],
              .cores = options.cores.empty() ? nullptr : &cores,
              .niceness = options.niceness});
  }
  ChildProcess child(pid, options, log_stat.st_size);
  close(std::exchange(pipe_fds[1], -1));
  const int error = ExecError(pipe_fds[0]);
  if (error != 0) return FileError(error, "cannot execute", binary);
  child.LowerSession();
  return child;
}

ChildProcess::ChildProcess(pid_t pid, const Options& options, off_t log_start)
    : pid_(pid),
      session_niceness_(options.niceness),
      log_path_(options.log_path),
      log_start_(log_start) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_),
      running_(std::exchange(other.running_, false)),
      session_niceness_(other.session_niceness_),
      log_path_(std::move(other.log_path_)),
      log_start_(other.log_start_) {}

ChildProcess::~ChildProcess() {
  if (!running_) return;
  Signal(SIGKILL);
  // Returns at once unless the process hangs in the kernel.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::Signal(int signal) {
  if (!running_) return;
  // The process group exists only after the child's call of setsid().
  if (kill(-pid_, signal) != 0) kill(pid_, signal);
}

// Without autogroups the file is missing, and the niceness of the process is
// enough.
void ChildProcess::LowerSession() {
  if (session_niceness_ == 0) return;
  const std::string path = absl::StrCat("/proc/", pid_, "/autogroup");
  const std::string text = absl::StrCat(session_niceness_);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_busy =
      fd >= 0 && write(fd, text.data(), text.size()) < 0 && errno == EAGAIN;
  if (fd >= 0) close(fd);
  if (!is_busy) session_niceness_ = 0;
}

std::optional<ProcessEnd> ChildProcess::Poll() {
  if (running_) LowerSession();
  int wait_status = 0;
  if (!running_ || waitpid(pid_, &wait_status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  running_ = false;
  return EndOf(wait_status);
}

absl::StatusOr<ProcessEnd> ChildProcess::AwaitEnd(absl::Time deadline) {
  while (true) {
    std::optional<ProcessEnd> end = Poll();
    if (end.has_value()) return *std::move(end);
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError("it has not ended in time");
    }
    absl::SleepFor(kPollInterval);
  }
}

// On a full disk the log keeps growing until a later call succeeds.
bool ChildProcess::TrimLog(int64_t max_bytes) {
  if (FileSize(log_path_) <= max_bytes) return false;
  if (!RotateOpenFile(log_path_, kOlderLogs).ok()) return false;
  log_start_ = 0;
  return true;
}

std::string ChildProcess::LogTail(int max_lines) const {
  const std::string text =
      ReadFileTail(log_path_, kMaxTailBytes, log_start_).value_or("");
  size_t from = text.size();
  for (int lines = 0; from > 0; --from) {
    if (text[from - 1] == '\n' && from < text.size() && ++lines == max_lines) {
      break;
    }
  }
  return text.substr(from);
}

absl::StatusOr<ProcessOutput> RunToEnd(ChildProcess::Options options,
                                       absl::Time deadline) {
  // An anonymous file leaves nothing on disk.
  const int fd = memfd_create("output", MFD_CLOEXEC);
  if (fd < 0)
    return FileError(errno, "cannot keep the output of",
                     options.arguments.at(0));
  const absl::Cleanup close_it = [fd] { close(fd); };
  options.log_path = absl::StrCat("/proc/self/fd/", fd);
  GANDEM_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(options));
  GANDEM_ASSIGN_OR_RETURN(ProcessEnd end, child.AwaitEnd(deadline));
  GANDEM_ASSIGN_OR_RETURN(std::string text,
                          ReadAt(fd, options.log_path, 0, kMaxOutputBytes));
  return ProcessOutput{.end = std::move(end), .text = std::move(text)};
}

}  // namespace gandem
