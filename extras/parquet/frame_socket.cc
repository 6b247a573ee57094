// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/frame_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

constexpr int kAllSeals =
    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr size_t kControlBytes = CMSG_SPACE(sizeof(int));
constexpr absl::Duration kLongestPoll = absl::Hours(1);

absl::Status SocketError(absl::string_view action) {
  const int error = errno;
  if (error == EPIPE || error == ECONNRESET) {
    return absl::UnavailableError("the other process is gone");
  }
  return absl::InternalError(
      absl::StrCat("cannot ", action, ": ", std::strerror(error)));
}

bool IsTransient(int error) {
  return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

OwnedFd TakeDescriptor(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
        part->cmsg_len != CMSG_LEN(sizeof(int))) {
      continue;
    }
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    return OwnedFd(fd);
  }
  return OwnedFd();
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FrameSocket::Wait(short events, Patience& patience) const {
  using SteadyClock = std::chrono::steady_clock;
  while (true) {
    const SteadyClock::time_point start = SteadyClock::now();
    const absl::Duration longest =
        std::clamp(patience.left, absl::ZeroDuration(), kLongestPoll);
    pollfd waiting = {.fd = fd_.get(), .events = events, .revents = 0};
    const int ready = poll(&waiting, 1,
                           static_cast<int>(absl::ToInt64Milliseconds(
                               absl::Ceil(longest, absl::Milliseconds(1)))));
    const int error = errno;
    patience.left -= absl::FromChrono(SteadyClock::now() - start);
    if (ready > 0) return absl::OkStatus();
    errno = error;
    if (ready < 0 && error != EINTR) return SocketError("wait for a socket");
    if (patience.left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("the other process does not answer");
    }
  }
}

absl::Status FrameSocket::SendAll(absl::string_view bytes, Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!IsTransient(errno)) {
      return SocketError("write to a socket");
    } else if (absl::Status waited = Wait(POLLOUT, patience); !waited.ok()) {
      return waited;
    }
  }
  return absl::OkStatus();
}

absl::Status FrameSocket::Send(const DataFrame& frame,
                               absl::string_view payload, int file,
                               Patience& patience) {
  std::string bytes = EncodeDataFrame(frame);
  if (file < 0) {
    absl::Status sent = SendAll(bytes, patience);
    return sent.ok() ? SendAll(payload, patience) : sent;
  }
  alignas(cmsghdr) char control[kControlBytes] = {};
  iovec part = {.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
  while (true) {
    const ssize_t sent =
        sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    // The descriptor has gone along with the first byte.
    if (sent > 0) {
      return SendAll(absl::string_view(bytes).substr(static_cast<size_t>(sent)),
                     patience);
    }
    if (sent < 0 && !IsTransient(errno)) {
      return SocketError("write to a socket");
    }
    if (absl::Status waited = Wait(POLLOUT, patience); !waited.ok()) {
      return waited;
    }
  }
}

absl::StatusOr<FrameSocket::Received> FrameSocket::Receive(Patience& patience) {
  std::string bytes(kDataFrameBytes, '\0');
  Received received;
  for (size_t have = 0; have < bytes.size();) {
    if (absl::Status waited = Wait(POLLIN, patience); !waited.ok()) {
      return waited;
    }
    alignas(cmsghdr) char control[kControlBytes] = {};
    iovec part = {.iov_base = bytes.data() + have,
                  .iov_len = bytes.size() - have};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    // Not CMSG_SPACE, in whose padding a second one has room: the kernel closes
    // what is more than one.
    message.msg_controllen = CMSG_LEN(sizeof(int));
    const ssize_t size =
        recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && IsTransient(errno)) continue;
    if (size < 0) return SocketError("read from a socket");
    if (size == 0) return absl::UnavailableError("the other process is gone");
    OwnedFd file = TakeDescriptor(message);
    if (file.get() >= 0) received.file = std::move(file);
    have += static_cast<size_t>(size);
  }
  absl::StatusOr<DataFrame> frame = DecodeDataFrame(bytes);
  if (!frame.ok()) return frame.status();
  received.frame = *frame;
  return received;
}

absl::StatusOr<std::string> FrameSocket::ReceivePayload(int64_t size,
                                                        Patience& patience) {
  // Grows with what arrives, not with what was promised.
  constexpr size_t kPiece = size_t{4} << 20;
  std::string bytes;
  const auto wanted = static_cast<size_t>(size);
  for (size_t have = 0; have < wanted;) {
    if (have == bytes.size()) {
      bytes.resize(std::min(wanted, std::max(kPiece, 2 * have)));
    }
    if (absl::Status waited = Wait(POLLIN, patience); !waited.ok()) {
      return waited;
    }
    const ssize_t got =
        recv(fd_.get(), bytes.data() + have, bytes.size() - have, MSG_DONTWAIT);
    if (got < 0 && IsTransient(errno)) continue;
    if (got < 0) return SocketError("read from a socket");
    if (got == 0) return absl::UnavailableError("the other process is gone");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

absl::StatusOr<OwnedFd> SealedFile(std::span<const absl::string_view> pieces) {
  OwnedFd file(memfd_create("gandem-images", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return SocketError("make a file in memory");
  for (absl::string_view piece : pieces) {
    while (!piece.empty()) {
      const ssize_t written = write(file.get(), piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("no memory for ", piece.size(),
                         " bytes of images: ", std::strerror(errno)));
      }
      piece.remove_prefix(static_cast<size_t>(written));
    }
  }
  if (fcntl(file.get(), F_ADD_SEALS, kAllSeals) != 0) {
    return SocketError("seal a file in memory");
  }
  return file;
}

absl::StatusOr<int64_t> SizeOf(const OwnedFd& file) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return SocketError("look at a file");
  return info.st_size;
}

absl::StatusOr<SealedBytes> SealedBytes::Map(const OwnedFd& file,
                                             int64_t size) {
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kAllSeals) != kAllSeals) {
    return absl::DataLossError(
        "data_worker answered nonsense: a file in memory that is not sealed");
  }
  const absl::StatusOr<int64_t> actual = SizeOf(file);
  if (!actual.ok()) return actual.status();
  if (*actual != size) {
    return absl::DataLossError(
        absl::StrCat("data_worker answered nonsense: a file in memory of ",
                     *actual, " bytes where ", size, " were promised"));
  }
  if (size == 0) return SealedBytes("");
  // Private: older kernels map what is sealed in no other way.
  void* const start = mmap(nullptr, static_cast<size_t>(size), PROT_READ,
                           MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot map ", size, " bytes of images: ", std::strerror(errno)));
  }
  return SealedBytes(absl::string_view(static_cast<const char*>(start),
                                       static_cast<size_t>(size)));
}

SealedBytes::~SealedBytes() {
  if (!bytes_.empty()) {
    munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace gandem
