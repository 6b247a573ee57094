// SPDX-License-Identifier: Apache-2.0
//
// Simulates a full disk during its lifetime by a file-size limit. Owner: the
// test. Thread safety: the limit applies to the whole process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

namespace gandem::testing {

class FullDisk {
 public:
  FullDisk() {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  const sighandler_t handler_ = signal(SIGXFSZ, SIG_IGN);
};

}  // namespace gandem::testing
