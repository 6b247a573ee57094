// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the processes of a run by the tests in this folder: a wall
// clock that steps, and a disk that is slow.
//
//   GANDEM_CHAOS_CLOCK=FILE     holds an int64, the seconds by which the wall
//                               clock is wrong; it may change at any time.
//   GANDEM_CHAOS_FSYNC_MS=N     fsync and fdatasync take N milliseconds more;
//   GANDEM_CHAOS_FSYNCED=FILE   grows by a byte each time.
//
// Thread safety: any thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

const volatile int64_t* offset = nullptr;

// Before main() and its threads.
__attribute__((constructor)) void MapOffset() {
  const char* const path = std::getenv("GANDEM_CHAOS_CLOCK");
  if (path == nullptr) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* const mapped =
      mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) offset = static_cast<const int64_t*>(mapped);
}

bool IsWallClock(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

void BeSlow() {
  const char* const text = std::getenv("GANDEM_CHAOS_FSYNC_MS");
  if (text == nullptr) return;
  const int64_t milliseconds = std::atoll(text);
  const timespec time = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
  const char* const path = std::getenv("GANDEM_CHAOS_FSYNCED");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  (void)!write(fd, ".", 1);
  close(fd);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, id, time);
  if (result == 0 && offset != nullptr && IsWallClock(id)) {
    time->tv_sec += *offset;
  }
  return static_cast<int>(result);
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now = {};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* result) noexcept {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int fsync(int fd) {
  BeSlow();
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  BeSlow();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

}  // extern "C"
