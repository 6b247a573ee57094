// SPDX-License-Identifier: Apache-2.0
#include "common/files/spare_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace gandem {
namespace {

class SpareDescriptors {
 public:
  void Keep() {
    absl::MutexLock lock(&mu_);
    wanted_ = kSpareDescriptors;
    TakeBack();
  }
  // False: none is left.
  bool GiveUp() {
    absl::MutexLock lock(&mu_);
    if (spare_.empty()) return false;
    close(spare_.back());
    spare_.pop_back();
    return true;
  }
  // Before a file is opened: what it needs itself is given up again.
  void Refill() {
    absl::MutexLock lock(&mu_);
    TakeBack();
  }

 private:
  void TakeBack() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (spare_.size() < wanted_) {
      const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (fd < 0) return;
      spare_.push_back(fd);
    }
  }

  absl::Mutex mu_;
  size_t wanted_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<int> spare_ ABSL_GUARDED_BY(mu_);
};

SpareDescriptors& TheSpares() {
  static SpareDescriptors* const spares = new SpareDescriptors;
  return *spares;
}

}  // namespace

void KeepSpareDescriptors() { TheSpares().Keep(); }

bool GiveUpSpareDescriptor() { return TheSpares().GiveUp(); }

int OpenFile(const std::string& path, int flags, mode_t mode) {
  TheSpares().Refill();
  while (true) {
    const int fd = open(path.c_str(), flags, mode);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    // Another thread may be faster in taking what is given up.
    const int error = errno;
    if (!TheSpares().GiveUp()) {
      errno = error;
      return -1;
    }
  }
}

}  // namespace gandem
