// SPDX-License-Identifier: Apache-2.0
#include "common/control/damage_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/control/limits.h"

namespace gandem {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DamageLedgerTest, CountsByLinkAndDirection) {
  DamageLedger ledger;
  EXPECT_TRUE(ledger.empty());
  ledger.Note(LinkDamage::FLEET, 2, /*is_outgoing=*/false);
  ledger.Note(LinkDamage::FLEET, 2, /*is_outgoing=*/true);
  ledger.Note(LinkDamage::FLEET, 2, /*is_outgoing=*/false);
  ledger.Note(LinkDamage::EXCHANGE, 2, /*is_outgoing=*/false);
  ASSERT_THAT(ledger.links(), SizeIs(3));
  EXPECT_EQ(ledger.links()[1].ShortDebugString(),
            "link: FLEET peer: 2 messages: 2");
  EXPECT_EQ(ledger.links()[2].ShortDebugString(),
            "link: FLEET peer: 2 is_outgoing: true messages: 1");
  ledger.Clear();
  EXPECT_THAT(ledger.links(), IsEmpty());
  EXPECT_TRUE(ledger.empty());
}

TEST(DamageLedgerTest, TellsNoMoreThanAHeartbeatMay) {
  DamageLedger ledger;
  for (int peer = 0; peer < 2 * kMaxDamagedLinks; ++peer) {
    ledger.Note(LinkDamage::FLEET, peer, /*is_outgoing=*/false);
  }
  EXPECT_THAT(ledger.links(), SizeIs(kMaxDamagedLinks));
}

}  // namespace
}  // namespace gandem
