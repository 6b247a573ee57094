// SPDX-License-Identifier: Apache-2.0
#include "common/control/link_damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/control/link_damages.h"

namespace gandem {
namespace {

using ::gandem::testing::AddDamage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr WorkerKey kOneOfTwo = {GENERATOR, 1};

// Two generators and two discriminators.
std::optional<int> RankOfFour(Role, int position) {
  return position < 2 ? std::optional(position) : std::nullopt;
}

TEST(LinkDamageTotalsTest, NamesEveryLink) {
  LinkDamageTotals damage;
  HeartbeatRequest request;
  AddDamage(LinkDamage::EXCHANGE, 0, true, 1, request);
  AddDamage(LinkDamage::EXCHANGE, 1, false, 2, request);
  AddDamage(LinkDamage::FLEET, 0, false, 3, request);
  AddDamage(LinkDamage::CONTROL, 0, true, 4, request);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);
  HeartbeatRequest other;
  AddDamage(LinkDamage::FLEET, 1, true, 5, other);
  AddDamage(LinkDamage::CONTROL, 0, false, 6, other);
  damage.Note({DISCRIMINATOR, 0}, 8, other, RankOfFour);
  EXPECT_THAT(damage.totals(),
              ElementsAre(Pair("control gandem -> discriminator 0", 6),
                          Pair("control generator 1 -> gandem", 4),
                          Pair("exchange discriminator 1 -> generator 1", 2),
                          Pair("exchange generator 1 -> discriminator 0", 1),
                          Pair("ring of the discriminators 0 -> 1", 5),
                          Pair("ring of the generators 0 -> 1", 3)));
}

TEST(LinkDamageTotalsTest, TheOperatorReadsOfTheFirstAndOfEachDoubling) {
  LinkDamageTotals damage;
  HeartbeatRequest request;
  AddDamage(LinkDamage::FLEET, 0, false, 1, request);
  std::vector<int64_t> said;
  for (int64_t messages = 1; messages <= 100; ++messages) {
    request.mutable_damage(0)->set_messages(messages);
    for (const std::string& news :
         damage.Note(kOneOfTwo, 7, request, RankOfFour)) {
      EXPECT_EQ(news, absl::StrCat("ring of the generators 0 -> 1: ", messages,
                                   " messages arrived damaged"));
      said.push_back(messages);
    }
  }
  EXPECT_THAT(said, ElementsAre(1, 2, 4, 8, 16, 32, 64));
}

TEST(LinkDamageTotalsTest, ARepeatCountsOnceAndANewProcessAnew) {
  LinkDamageTotals damage;
  HeartbeatRequest request;
  AddDamage(LinkDamage::FLEET, 0, false, 2, request);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);
  request.mutable_damage(0)->set_messages(3);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);
  request.mutable_damage(0)->set_messages(1);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);  // overtaken
  EXPECT_THAT(damage.totals(),
              ElementsAre(Pair("ring of the generators 0 -> 1", 3)));
  damage.Note(kOneOfTwo, 9, request, RankOfFour);
  EXPECT_THAT(damage.totals(),
              ElementsAre(Pair("ring of the generators 0 -> 1", 4)));
}

// Whatever is told, there are no more names than links, and numbers stay some.
TEST(LinkDamageTotalsTest, LinksThatTheRunHasNotAreLeftOut) {
  LinkDamageTotals damage;
  HeartbeatRequest request;
  AddDamage(LinkDamage::FLEET, 2, false, 1, request);
  AddDamage(LinkDamage::FLEET, -1, false, 1, request);
  AddDamage(LinkDamage::FLEET, 1, false, 1, request);  // itself
  AddDamage(LinkDamage::UNKNOWN, 0, false, 1, request);
  AddDamage(static_cast<LinkDamage::Link>(99), 0, false, 1, request);
  AddDamage(LinkDamage::EXCHANGE, 0, false, -5, request);
  damage.Note(kOneOfTwo, 7, request, RankOfFour);
  EXPECT_THAT(damage.totals(), IsEmpty());
  HeartbeatRequest many;
  AddDamage(LinkDamage::EXCHANGE, 0, false, INT64_MAX, many);
  for (int64_t process = 1; process < 20; ++process) {
    damage.Note(kOneOfTwo, process, many, RankOfFour);
  }
  EXPECT_GT(damage.totals().begin()->second, 0);
}

}  // namespace
}  // namespace gandem
