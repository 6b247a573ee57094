// SPDX-License-Identifier: Apache-2.0
//
// What workers tell of links that damage messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "common/control/limits.h"
#include "tests/common/control/link_damages.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::AddDamage;
using ::gandem::testing::PlayedWorker;
using ::gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorDamageTest : public gandem::testing::CoordinatorFixture {};

TEST_F(CoordinatorDamageTest, IsShownByLinkAlsoOfAWorkerThatFailsForIt) {
  options_.epoch.workers = {
      {DISCRIMINATOR, 0}, {DISCRIMINATOR, 1}, {GENERATOR, 0}};
  Open();
  PlayedWorker one = {.key = {DISCRIMINATOR, 0}};
  PlayedWorker two = {.key = {DISCRIMINATOR, 1}};
  PlayedWorker generator = {.key = {GENERATOR, 0}};
  for (PlayedWorker* const worker : {&one, &two, &generator}) {
    Launch(*worker);
    ASSERT_OK(Register(*worker));
  }
  EXPECT_THAT(coordinator_->Status().damaged_links(), IsEmpty());
  HeartbeatRequest request = Beat(generator, -1, 0);
  AddDamage(LinkDamage::EXCHANGE, 1, true, 1, request);
  ASSERT_OK(coordinator_->Heartbeat(request));
  request = Beat(one, -1, 0);
  AddDamage(LinkDamage::FLEET, 1, false, 1, request);
  request.set_failure("DATA_LOSS: checksum of a chunk of rank 1");
  request.set_failure_exit_code(74);
  ASSERT_OK(coordinator_->Heartbeat(request));
  EXPECT_THAT(
      coordinator_->Tick(),
      Contains(
          "ring of the discriminators 1 -> 0: 1 messages arrived damaged"));
  const StatusReply status = coordinator_->Status();
  ASSERT_EQ(status.damaged_links_size(), 2);
  EXPECT_EQ(status.damaged_links(0).name(),
            "exchange generator 0 -> discriminator 1");
  EXPECT_EQ(status.damaged_links(1).name(),
            "ring of the discriminators 1 -> 0");
  EXPECT_EQ(status.damaged_links(1).messages(), 1);
}

TEST_F(CoordinatorDamageTest, TooManyLinksAreRefused) {
  Open();
  PlayedWorker generator = {.key = gandem::testing::kGenerator};
  Launch(generator);
  ASSERT_OK(Register(generator));
  HeartbeatRequest request = Beat(generator, -1, 0);
  for (int i = 0; i <= kMaxDamagedLinks; ++i) {
    AddDamage(LinkDamage::EXCHANGE, 0, true, 1, request);
  }
  EXPECT_THAT(
      coordinator_->Heartbeat(request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("damaged links")));
  EXPECT_THAT(coordinator_->Status().damaged_links(), IsEmpty());
}

}  // namespace
}  // namespace gandem
