// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the processes of a run by the tests in this folder: a wall
// clock that steps, a disk that is slow, a wire with a wrong bit, a process
// that wants more memory.
//
//   GANDEM_CHAOS_CLOCK=FILE     holds an int64, the seconds by which the wall
//                               clock is wrong; it may change at any time. What
//                               Abseil and gRPC let the kernel wait for comes
//                               earlier or later then, as on a machine whose
//                               clock is set.
//   GANDEM_CHAOS_FSYNC_MS=N     fsync and fdatasync take N milliseconds more;
//   GANDEM_CHAOS_FSYNCED=FILE   grows by a byte each time.
//   GANDEM_CHAOS_WIRE=FILE      holds two int64, a process and N: of the bytes
//                               that it sends into sockets from now on, the
//                               N-th has a wrong bit. N is zero when it was
//                               sent.
//   GANDEM_CHAOS_HUNGER=FILE    holds two int64, a process and N: it takes N
//                               bytes at once and keeps them. N is zero then.
//
// Thread safety: any thread.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// An order to one process of the run.
struct Order {
  volatile int64_t process;
  std::atomic<int64_t> number;
};
constexpr int64_t kBusy = -1;  // a number: it is being done

const volatile int64_t* offset = nullptr;
Order* wire = nullptr;
Order* hunger = nullptr;

// The file that a variable names; null: none.
void* Map(const char* variable, size_t size) {
  const char* const path = std::getenv(variable);
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const mapped =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

// Before main() and its threads.
__attribute__((constructor)) void MapFiles() {
  offset =
      static_cast<const int64_t*>(Map("GANDEM_CHAOS_CLOCK", sizeof(*offset)));
  wire = static_cast<Order*>(Map("GANDEM_CHAOS_WIRE", sizeof(Order)));
  hunger = static_cast<Order*>(Map("GANDEM_CHAOS_HUNGER", sizeof(Order)));
}

// The number of this process's order, which the caller carries out; 0: it has
// none.
int64_t Take(Order* order) {
  if (order == nullptr || order->process != getpid()) return 0;
  int64_t number = order->number.load();
  while (number > 0 && !order->number.compare_exchange_weak(number, kBusy)) {
  }
  return std::max<int64_t>(0, number);
}

void Eat(int64_t bytes) {
  void* const taken =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken != MAP_FAILED) std::memset(taken, 1, static_cast<size_t>(bytes));
  hunger->number.store(0);
}

bool IsWallClock(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

using Syscall = long (*)(long, ...);

// Calls syscall() of the C library. `next` is initialized without a guard,
// because a guard may itself have to wait with a system call.
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

long Send(int fd, const msghdr* message, int flags) {
  return CallKernel(SYS_sendmsg, {fd, reinterpret_cast<long>(message), flags});
}

// With a wrong bit in the byte at `place`, if it is one of this message.
long SendWronged(int fd, msghdr message, int flags, int64_t place) {
  std::vector<iovec> pieces(message.msg_iov,
                            message.msg_iov + message.msg_iovlen);
  std::vector<char> wronged;
  for (iovec& piece : pieces) {
    const int64_t size = static_cast<int64_t>(piece.iov_len);
    if (place >= 0 && place < size) {
      const char* const bytes = static_cast<const char*>(piece.iov_base);
      wronged.assign(bytes, bytes + size);
      wronged[place] ^= static_cast<char>(1 << (place % 8));
      piece.iov_base = wronged.data();
    }
    place -= size;
  }
  message.msg_iov = pieces.data();
  return Send(fd, &message, flags);
}

}  // namespace

extern "C" {

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const int64_t place = Take(wire);
  if (place == 0) return Send(fd, message, flags);
  const ssize_t sent = SendWronged(fd, *message, flags, place - 1);
  wire->number.store(std::max<int64_t>(0, place - std::max<ssize_t>(0, sent)));
  return sent;
}

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

// Every process asks for the time again and again.
int clock_gettime(clockid_t id, timespec* time) noexcept {
  if (const int64_t bytes = Take(hunger); bytes > 0) Eat(bytes);
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
