// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the processes of a run by the tests in this folder: a wall
// clock that steps, and a disk that is slow.
//
//   GANDEM_CHAOS_CLOCK=FILE     holds an int64, the seconds by which the wall
//                               clock is wrong; it may change at any time. What
//                               Abseil and gRPC let the kernel wait for comes
//                               earlier or later then, as on a machine whose
//                               clock is set.
//   GANDEM_CHAOS_FSYNC_MS=N     fsync and fdatasync take N milliseconds more;
//   GANDEM_CHAOS_FSYNCED=FILE   grows by a byte each time.
//
// Thread safety: any thread.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
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

using Syscall = long (*)(long, ...);

// That of the C library. Initialized without a guard, which may itself have to
// wait with a system call.
long CallKernel(long number, const long (&a)[6]) {
  static std::atomic<Syscall> next = nullptr;
  Syscall call = next.load(std::memory_order_relaxed);
  if (call == nullptr) {
    call = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
    next.store(call, std::memory_order_relaxed);
  }
  return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

constexpr int64_t kNanoseconds = 1'000'000'000;

int64_t InNanoseconds(const timespec& time) {
  return time.tv_sec * kNanoseconds + time.tv_nsec;
}

bool IsWaitForWallClock(long number, const long (&a)[6]) {
  return number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) != 0 &&
         (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && a[3] != 0;
}

// Looks at the clock every 20 ms: it may step while somebody waits.
long WaitForWallClock(const long (&a)[6]) {
  const int64_t until = InNanoseconds(*reinterpret_cast<timespec*>(a[3]));
  while (true) {
    timespec now = {};
    CallKernel(SYS_clock_gettime,
               {CLOCK_REALTIME, reinterpret_cast<long>(&now)});
    const int64_t here = InNanoseconds(now);
    const int64_t left = until - (here + *offset * kNanoseconds);
    const int64_t look = here + std::min(left, kNanoseconds / 50);
    const timespec time = {look / kNanoseconds, look % kNanoseconds};
    const long result = CallKernel(
        SYS_futex,
        {a[0], a[1], a[2], reinterpret_cast<long>(&time), a[4], a[5]});
    if (result == 0 || errno != ETIMEDOUT || look == here + left) return result;
  }
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

long syscall(long number, ...) noexcept {
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (long& argument : a) argument = va_arg(rest, long);
  va_end(rest);
  return offset != nullptr && IsWaitForWallClock(number, a)
             ? WaitForWallClock(a)
             : CallKernel(number, a);
}

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
