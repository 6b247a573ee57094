// SPDX-License-Identifier: Apache-2.0
#include "common/process/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace gandem {
namespace {

TEST(StrandTest, NeverRunsTwiceAtOnceAndMissesNoPoke) {
  constexpr int kThreads = 4;
  constexpr int kPokes = 2000;
  std::atomic<int> events = 0;
  int seen = 0;  // used in the strand only: a race would show
  int inside = 0;
  Strand strand([&] {
    ASSERT_EQ(++inside, 1);
    seen = events;
    --inside;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int poke = 0; poke < kPokes; ++poke) {
        ++events;
        strand.Poke();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, kThreads * kPokes);
}

TEST(StrandTest, APokeFromInsideTheStrandRunsItAgain) {
  int runs = 0;
  Strand* self = nullptr;
  Strand strand([&] {
    if (++runs < 3) self->Poke();
  });
  self = &strand;
  strand.Poke();
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace gandem
