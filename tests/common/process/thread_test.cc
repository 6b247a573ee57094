// SPDX-License-Identifier: Apache-2.0
#include "common/process/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"

namespace gandem {
namespace {

TEST(ThreadTest, DestructorJoins) {
  bool done = false;
  {
    absl::Notification release;
    Thread thread("worker", [&] {
      release.WaitForNotification();
      done = true;
    });
    release.Notify();
  }
  EXPECT_TRUE(done);
}

TEST(ThreadTest, NamesItselfForTheOperatingSystem) {
  std::string name;
  Thread("a name longer than 15 bytes", [&name] {
    char buffer[32];
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name = buffer;
  }).Join();
  EXPECT_EQ(name, "a name longer t");
}

TEST(ThreadTest, APriorityAppliesToItsThreadOnly) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int lowered = before;
  Thread("low", [&lowered] {
    LowerPriority();
    lowered = getpriority(PRIO_PROCESS, 0);
  }).Join();
  EXPECT_EQ(lowered, std::min(before + 5, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(ThreadTest, AssignmentJoinsTheThreadItReplaces) {
  bool done = false;
  absl::Notification release;
  Thread thread("first", [&] {
    release.WaitForNotification();
    done = true;
  });
  Thread second("second", [] {});
  release.Notify();
  thread = std::move(second);
  EXPECT_TRUE(done);
  thread.Join();
  thread.Join();  // a second Join() does nothing
}

TEST(ThreadTest, TakesMoveOnlyWork) {
  auto value = std::make_unique<int>(7);
  int seen = 0;
  Thread("mover", [value = std::move(value), &seen] { seen = *value; }).Join();
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace gandem
