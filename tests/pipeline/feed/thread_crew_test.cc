// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/thread_crew.h"

#include <gtest/gtest.h>

#include "tests/testing/soon.h"

namespace gandem {
namespace {

// Threads that do nothing until they are too many or all is over.
class CrewOwner {
 public:
  ~CrewOwner() {
    absl::MutexLock lock(&mu_);
    is_over_ = true;
  }

  void Want(int threads) {
    {
      absl::MutexLock lock(&mu_);
      crew_.Want(threads);
    }
    crew_.StartMissing();
  }
  bool Becomes(int threads) {
    absl::MutexLock lock(&mu_);
    const auto is_so = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return inside_ == threads;
    };
    return mu_.AwaitWithDeadline(absl::Condition(&is_so), Soon());
  }

 private:
  bool Wakes() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return is_over_ || crew_.HasSurplus();
  }
  void Run() {
    absl::MutexLock lock(&mu_);
    ++inside_;
    mu_.Await(absl::Condition(this, &CrewOwner::Wakes));
    --inside_;
    if (is_over_) return;
    EXPECT_TRUE(crew_.Leaves());
  }

  absl::Mutex mu_;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
  ThreadCrew crew_{"crew", [this] { Run(); }};
};

TEST(ThreadCrewTest, HasAsManyAsAreWanted) {
  CrewOwner owner;
  for (const int threads : {1, 5, 2, 2, 7, 0, 3}) {
    owner.Want(threads);
    EXPECT_TRUE(owner.Becomes(threads)) << threads;
  }
}

TEST(ThreadCrewTest, NoneIsStartedWhenItIsOver) {
  int runs = 0;
  ThreadCrew crew("crew", [&runs] { ++runs; });
  crew.Want(1);
  crew.StartMissing();
  crew.Join();
  EXPECT_EQ(runs, 1);
  crew.Want(2);
  crew.StartMissing();
  crew.Join();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace gandem
