// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/socket_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gandem::testing {
namespace {

constexpr size_t kMaxWaiting = 64 << 10;
constexpr size_t kMaxRecorded = 1 << 20;

sockaddr_un NameOf(const std::string& path) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(),
              std::min(path.size(), sizeof(name.sun_path) - 1));
  return name;
}

int NewSocket(int flags) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

// Returns -1 if no process listens there.
int ConnectToPath(const std::string& path) {
  const int fd = NewSocket(0);
  const sockaddr_un name = NameOf(path);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
      0) {
    return fd;
  }
  close(fd);
  return -1;
}

int ConnectToPort(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
      0) {
    return fd;
  }
  close(fd);
  return -1;
}

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

absl::StatusOr<std::unique_ptr<SocketProxy>> SocketProxy::Start(
    const std::string& listen_path, const std::string& target_path) {
  return Start(listen_path, Target{.path = target_path});
}

absl::StatusOr<std::unique_ptr<SocketProxy>> SocketProxy::StartToPort(
    const std::string& listen_path, int target_port) {
  return Start(listen_path, Target{.path = "", .port = target_port});
}

absl::StatusOr<std::unique_ptr<SocketProxy>> SocketProxy::Start(
    const std::string& listen_path, Target target) {
  const int listener = NewSocket(SOCK_NONBLOCK);
  const sockaddr_un name = NameOf(listen_path);
  int wake[2] = {-1, -1};
  if (bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) !=
          0 ||
      listen(listener, 16) != 0 || pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, listen_path);
    close(listener);
    return status;
  }
  return std::unique_ptr<SocketProxy>(new SocketProxy(
      listener, wake[0], wake[1], listen_path, std::move(target)));
}

SocketProxy::SocketProxy(int listener, int wake_reader, int wake_writer,
                         std::string listen_path, Target target)
    : listener_(listener),
      wake_reader_(wake_reader),
      wake_writer_(wake_writer),
      listen_path_(std::move(listen_path)),
      target_(std::move(target)),
      thread_("proxy", [this] { Run(); }) {}

SocketProxy::~SocketProxy() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  Wake();
  thread_.Join();
  close(listener_);
  unlink(listen_path_.c_str());
  close(wake_reader_);
  close(wake_writer_);
}

void SocketProxy::Cut() { CutAfter(0); }

void SocketProxy::CutAfter(int64_t bytes) {
  {
    absl::MutexLock lock(&mu_);
    bytes_until_cut_ = bytes;
  }
  Wake();
}

void SocketProxy::DamageAfter(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  bytes_until_damage_ = bytes;
}

// RFC 9113, section 4.1: three bytes of length, one of type, five more.
bool SocketProxy::Way::IsData(char byte) {
  constexpr size_t kHeaderBytes = 9;
  if (frame_left > 0) {
    --frame_left;
    return is_data;
  }
  frame_header += byte;
  if (frame_header.size() == kHeaderBytes) {
    const auto* const head =
        reinterpret_cast<const unsigned char*>(frame_header.data());
    frame_left = head[0] << 16 | head[1] << 8 | head[2];
    is_data = head[3] == 0;
    frame_header.clear();
  }
  return false;
}

void SocketProxy::Damage(Way& way, char* bytes, size_t size) {
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < size; ++i) {
    if (!way.IsData(bytes[i]) || bytes_until_damage_ < 0) continue;
    if (bytes_until_damage_ == 0) {
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << way.frame_left % 8);
    }
    --bytes_until_damage_;
  }
}

int64_t SocketProxy::num_cuts() const {
  absl::MutexLock lock(&mu_);
  return num_cuts_;
}

int64_t SocketProxy::num_connections() const {
  absl::MutexLock lock(&mu_);
  return num_connections_;
}

std::string SocketProxy::recorded() const {
  absl::MutexLock lock(&mu_);
  return recorded_;
}

void SocketProxy::Record(const char* bytes, size_t size) {
  absl::MutexLock lock(&mu_);
  recorded_.append(bytes, std::min(size, kMaxRecorded - recorded_.size()));
}

void SocketProxy::Wake() {
  // A full pipe also wakes the thread.
  if (write(wake_writer_, "x", 1) < 0) return;
}

void SocketProxy::Run() {
  for (;;) {
    std::vector<pollfd> polled = {
        {.fd = wake_reader_, .events = POLLIN, .revents = 0},
        {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
      for (const Way& way : connection.ways) {
        if (way.waiting.size() < kMaxWaiting) {
          polled.push_back({.fd = way.from, .events = POLLIN, .revents = 0});
        }
        if (!way.waiting.empty()) {
          polled.push_back({.fd = way.to, .events = POLLOUT, .revents = 0});
        }
      }
    }
    poll(polled.data(), polled.size(), -1);
    char sink[64];
    while (read(wake_reader_, sink, sizeof(sink)) > 0) {
    }
    Accept();
    int64_t bytes = 0;
    for (Connection& connection : connections_) bytes += Move(connection);
    bool cut = false;
    {
      absl::MutexLock lock(&mu_);
      if (bytes_until_cut_ >= 0) {
        bytes_until_cut_ = std::max<int64_t>(0, bytes_until_cut_ - bytes);
        cut = bytes_until_cut_ == 0;
        if (cut) {
          bytes_until_cut_ = -1;
          ++num_cuts_;
        }
      }
      cut = cut || stop_;
    }
    std::erase_if(connections_, [cut](const Connection& connection) {
      if (!cut && !connection.broken) return false;
      close(connection.ways[0].from);
      close(connection.ways[0].to);
      return true;
    });
    absl::MutexLock lock(&mu_);
    if (stop_) return;
  }
}

void SocketProxy::Accept() {
  for (;;) {
    const int from =
        accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from < 0) return;
    const int to = target_.path.empty() ? ConnectToPort(target_.port)
                                        : ConnectToPath(target_.path);
    if (to < 0) {
      close(from);
      continue;
    }
    fcntl(to, F_SETFL, O_NONBLOCK);
    connections_.push_back({});
    // The client begins with a preface of 24 bytes.
    connections_.back().ways[0] = {
        .from = from, .to = to, .waiting = {}, .frame_left = 24};
    connections_.back().ways[1] = {.from = to, .to = from, .waiting = {}};
    absl::MutexLock lock(&mu_);
    ++num_connections_;
  }
}

int64_t SocketProxy::Move(Connection& connection) {
  int64_t bytes = 0;
  for (Way& way : connection.ways) {
    const size_t before = way.waiting.size();
    if (before < kMaxWaiting) {
      way.waiting.resize(kMaxWaiting);
      const ssize_t got =
          read(way.from, way.waiting.data() + before, kMaxWaiting - before);
      if (got == 0 || (got < 0 && !WouldBlock())) connection.broken = true;
      way.waiting.resize(before + std::max<ssize_t>(got, 0));
      bytes += std::max<ssize_t>(got, 0);
      Damage(way, way.waiting.data() + before, way.waiting.size() - before);
      if (&way == &connection.ways[0]) {
        Record(way.waiting.data() + before, way.waiting.size() - before);
      }
    }
    if (way.waiting.empty()) continue;
    const ssize_t put =
        send(way.to, way.waiting.data(), way.waiting.size(), MSG_NOSIGNAL);
    if (put < 0 && !WouldBlock()) connection.broken = true;
    if (put > 0)
      way.waiting.erase(way.waiting.begin(), way.waiting.begin() + put);
  }
  return bytes;
}

}  // namespace gandem::testing
