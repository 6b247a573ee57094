// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

constexpr WorkerKey kGenerator0 = {GENERATOR, 0};
constexpr WorkerKey kGenerator1 = {GENERATOR, 1};
constexpr WorkerKey kDiscriminator0 = {DISCRIMINATOR, 0};
constexpr auto kFenced = absl::StatusCode::kFailedPrecondition;

class MembershipTest : public ::testing::Test {
 protected:
  static RunCounters Earlier() {
    RunCounters counters;
    counters.set_run_epoch(1);
    counters.set_incarnation(10);
    return counters;
  }
  Place& At(WorkerKey key) { return *members_.Find(key); }
  void Admit(WorkerKey key, int64_t incarnation, int64_t before = 0) {
    RegisterRequest request;
    request.set_previous_incarnation(before);
    members_.Admit(At(key), request, incarnation, /*first_round=*/4,
                   absl::UnixEpoch());
  }
  void ComeBack(WorkerKey key, std::optional<int64_t> held_rounds) {
    At(key).is_back = true;
    At(key).holds_state = held_rounds.has_value();
    At(key).held_rounds = held_rounds.value_or(0);
  }

  Membership members_{{kDiscriminator0, kGenerator1, kGenerator0}, Earlier()};
};

TEST_F(MembershipTest, PlacesAreSortedByRoleAndRank) {
  ASSERT_EQ(members_.places().size(), 3);
  EXPECT_EQ(members_.places()[0].key, kGenerator0);
  EXPECT_EQ(members_.places()[1].key, kGenerator1);
  EXPECT_EQ(members_.places()[2].key, kDiscriminator0);
  EXPECT_EQ(members_.Find({DISCRIMINATOR, 1}), nullptr);
}

TEST_F(MembershipTest, PositionsCountMembersOnly) {
  EXPECT_EQ(members_.RankAt(GENERATOR, 0), 0);
  EXPECT_EQ(members_.RankAt(GENERATOR, 1), 1);
  EXPECT_EQ(members_.RankAt(GENERATOR, 2), std::nullopt);
  EXPECT_EQ(members_.RankAt(GENERATOR, -1), std::nullopt);
  At(kGenerator0).is_member = false;
  EXPECT_EQ(members_.RankAt(GENERATOR, 0), 1);
  EXPECT_EQ(members_.RankAt(COLOCATED, 0), std::nullopt);
}

TEST_F(MembershipTest, OnlyTheNewestIncarnationIsAccepted) {
  Admit(kGenerator0, 11);
  ASSERT_OK_AND_ASSIGN(Place* const place, members_.Speaker(11));
  EXPECT_EQ(place->key, kGenerator0);
  EXPECT_EQ(place->progress.completed_rounds(), 4);
  Admit(kGenerator0, 3, 11);  // newer incarnations need not be larger
  EXPECT_OK(members_.Speaker(3));
  // The incarnation may be from an earlier coordinator, which did not record
  // places. The process has to register to learn more.
  EXPECT_THAT(members_.Speaker(11), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(members_.CheckFence(At(kGenerator0), 12, false),
              StatusIs(kFenced));
  Membership first({kGenerator0, kDiscriminator0}, RunCounters());
  EXPECT_THAT(first.Speaker(11), StatusIs(kFenced));
  EXPECT_THAT(members_.Speaker(0),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MembershipTest, FenceRejectsReplacedProcesses) {
  Admit(kGenerator0, 11);
  Admit(kGenerator0, 12, 11);
  const Place& place = At(kGenerator0);
  for (const bool keeps_state : {false, true}) {
    EXPECT_OK(members_.CheckFence(place, 12, keeps_state));
    // The reply to 11 was lost.
    EXPECT_OK(members_.CheckFence(place, 11, keeps_state));
    // Incarnation 10 of an earlier coordinator is neither of the two.
    EXPECT_THAT(members_.CheckFence(place, 10, keeps_state), StatusIs(kFenced));
    EXPECT_OK(members_.CheckFence(place, 0, keeps_state));  // a new process
    // No process has registered for this place yet, so any is accepted.
    EXPECT_OK(members_.CheckFence(At(kGenerator1), 10, keeps_state));
  }
  Admit(kGenerator0, 13);
  EXPECT_THAT(members_.CheckFence(place, 12, false), StatusIs(kFenced));
  EXPECT_THAT(members_.CheckFence(place, 12, true), StatusIs(kFenced));
}

TEST_F(MembershipTest, DeadProcessesMustNotKeepTheirState) {
  Admit(kGenerator0, 11);
  At(kGenerator0).incarnation = 0;
  EXPECT_OK(members_.CheckFence(At(kGenerator0), 11, /*keeps_state=*/false));
  EXPECT_THAT(members_.CheckFence(At(kGenerator0), 11, /*keeps_state=*/true),
              StatusIs(kFenced));
}

TEST_F(MembershipTest, IncarnationsOfEarlierCoordinatorsAreKnown) {
  RunCounters counters = Earlier();
  RegisterRequest request;
  request.set_role(GENERATOR);
  request.set_rank(1);
  request.set_previous_incarnation(7);
  CountIncarnation(request, 11, counters);
  request.set_previous_incarnation(11);
  CountIncarnation(request, 5, counters);
  EXPECT_EQ(counters.incarnation(), 12);
  ASSERT_EQ(counters.places_size(), 1);
  EXPECT_EQ(counters.places(0).incarnation(), 5);
  // The incarnation of another place is unknown.
  Membership some({kGenerator1, kDiscriminator0}, counters);
  EXPECT_THAT(some.Speaker(9), StatusIs(absl::StatusCode::kNotFound));

  request.set_role(DISCRIMINATOR);
  request.set_rank(0);
  request.set_previous_incarnation(0);
  CountIncarnation(request, 2, counters);
  Membership all({kGenerator1, kDiscriminator0}, counters);
  EXPECT_THAT(all.Speaker(5), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(all.Speaker(2), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(all.Speaker(9), StatusIs(absl::StatusCode::kNotFound));
  const Place& place = *all.Find(kGenerator1);
  EXPECT_OK(all.CheckFence(place, 5, /*keeps_state=*/true));
  EXPECT_OK(all.CheckFence(place, 11, /*keeps_state=*/true));
  EXPECT_THAT(all.CheckFence(place, 7, /*keeps_state=*/true),
              StatusIs(kFenced));
  // The run has one worker less than before.
  Membership fewer({kGenerator1}, counters);
  EXPECT_THAT(fewer.Speaker(2), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(MembershipTest, IncarnationsAreRandom) {
  int64_t all_bits = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t incarnation = RandomIncarnation();
    ASSERT_GT(incarnation, 0);
    all_bits |= incarnation;
  }
  EXPECT_EQ(all_bits, INT64_MAX);
  EXPECT_NE(RandomIncarnation(), RandomIncarnation());
}

TEST_F(MembershipTest, NewEpochsEndThePreviousOne) {
  Admit(kGenerator0, 11);
  At(kGenerator0).joined = true;
  EXPECT_TRUE(members_.IsInEpoch(At(kGenerator0)));
  members_.BeginEpoch(2, /*from_memory=*/false, absl::UnixEpoch());
  EXPECT_FALSE(members_.IsInEpoch(At(kGenerator0)));
  EXPECT_FALSE(At(kGenerator0).joined);
  Admit(kGenerator0, 12, 11);
  EXPECT_TRUE(members_.IsInEpoch(At(kGenerator0)));
}

TEST_F(MembershipTest, EpochsFromACheckpointHaveAllPlaces) {
  At(kGenerator1).is_member = false;
  members_.BeginEpoch(2, /*from_memory=*/true, absl::UnixEpoch());
  EXPECT_EQ(members_.source(), Membership::Source::kMemoryIsOpen);
  EXPECT_EQ(members_.NumMembers(), 2);
  EXPECT_EQ(members_.NumMembers(GENERATOR), 1);
  members_.BeginEpoch(3, /*from_memory=*/false, absl::UnixEpoch());
  EXPECT_EQ(members_.source(), Membership::Source::kCheckpoint);
  EXPECT_EQ(members_.NumMembers(), 3);
}

TEST_F(MembershipTest, OnlyMembersNeedToJoin) {
  Admit(kGenerator0, 11);
  Admit(kDiscriminator0, 12);
  At(kGenerator0).joined = At(kDiscriminator0).joined = true;
  EXPECT_FALSE(members_.AllJoined());
  At(kGenerator1).is_member = false;
  EXPECT_TRUE(members_.AllJoined());
  At(kGenerator0).incarnation = 0;
  EXPECT_FALSE(members_.AllJoined());
}

TEST_F(MembershipTest, SealWaitsForAllMembers) {
  members_.BeginEpoch(2, /*from_memory=*/true, absl::UnixEpoch());
  ComeBack(kGenerator0, 7);
  EXPECT_THAT(members_.Seal(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "the fleets re-form and wait for generator 1, "
                       "discriminator 0"));
  EXPECT_EQ(members_.source(), Membership::Source::kMemoryIsOpen);
  At(kGenerator1).is_member = false;
  ComeBack(kDiscriminator0, 6);
  ASSERT_OK_AND_ASSIGN(const int64_t first_round, members_.Seal());
  EXPECT_EQ(first_round, 6);  // completed by all
  EXPECT_EQ(members_.source(), Membership::Source::kMemory);
}

TEST_F(MembershipTest, OneMemberOfEachRoleMustHoldItsState) {
  members_.BeginEpoch(2, /*from_memory=*/true, absl::UnixEpoch());
  ComeBack(kGenerator0, std::nullopt);
  ComeBack(kDiscriminator0, std::nullopt);
  ComeBack(kGenerator1, 5);
  EXPECT_THAT(members_.Seal(),
              StatusIs(absl::StatusCode::kNotFound,
                       "no discriminator has a state any more"));
  ComeBack(kDiscriminator0, 8);
  ASSERT_OK_AND_ASSIGN(const int64_t first_round, members_.Seal());
  EXPECT_EQ(first_round, 5);
}

}  // namespace
}  // namespace gandem
