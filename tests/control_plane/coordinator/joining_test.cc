// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalidJoin = absl::StatusCode::kInvalidArgument;

class JoiningTest : public ::testing::Test {
 protected:
  Place& Register(WorkerKey key, const std::string& host) {
    RegisterRequest request;
    request.set_host(host);
    Place& place = *members_.Find(key);
    members_.Admit(place, request, ++incarnation_, 0, absl::UnixEpoch());
    return place;
  }
  static JoinRequest At(const std::string& exchange, const std::string& local,
                        const std::string& network = "") {
    JoinRequest request;
    request.set_exchange_address(exchange);
    request.set_fleet_local_address(local);
    request.set_fleet_network_address(network);
    return request;
  }

  Membership members_{{{GENERATOR, 0}, {GENERATOR, 1}, {DISCRIMINATOR, 0}},
                      RunCounters()};
  int64_t incarnation_ = 0;
};

TEST_F(JoiningTest, EachRoleReceivesItsOwnAddresses) {
  const Place& generator = Register({GENERATOR, 0}, "a");
  const Place& discriminator = Register({DISCRIMINATOR, 0}, "a");
  EXPECT_OK(CheckJoin(members_, generator, At("", "unix:/g")));
  EXPECT_OK(CheckJoin(members_, discriminator, At("a:1", "")));
  EXPECT_THAT(CheckJoin(members_, generator, At("a:1", "unix:/g")),
              StatusIs(kInvalidJoin, HasSubstr("only a discriminator")));
  EXPECT_THAT(CheckJoin(members_, discriminator, At("", "")),
              StatusIs(kInvalidJoin, HasSubstr("its exchange address")));
  EXPECT_THAT(CheckJoin(members_, discriminator, At("a:1", "unix:/d")),
              StatusIs(kInvalidJoin, HasSubstr("the only worker of a role")));
  EXPECT_THAT(
      CheckJoin(members_, discriminator, At(std::string(5000, 'a'), "")),
      StatusIs(kInvalidJoin, HasSubstr("too long")));
}

TEST_F(JoiningTest, AWorkerMustProveThatItSeesTheRunFolder) {
  const Place& generator = Register({GENERATOR, 0}, "there");
  const FolderProof proof = {.file = "state/folder-1", .text = "secret"};
  JoinRequest request;
  const auto refused = StatusIs(
      kInvalidJoin,
      AllOf(HasSubstr("generator 0 on there does not see the run folder "
                      "'/runs/a'"),
            HasSubstr("--run_dir")));
  EXPECT_THAT(CheckProof(generator, request, proof, "/runs/a"), refused);
  request.set_proof("another");
  EXPECT_THAT(CheckProof(generator, request, proof, "/runs/a"), refused);
  request.set_proof("secret");
  EXPECT_OK(CheckProof(generator, request, proof, "/runs/a"));
}

TEST_F(JoiningTest, ALaterWorkerOnAnotherHostMakesAnEarlierOneUnready) {
  Place& first = Register({GENERATOR, 0}, "a");
  Place& discriminator = Register({DISCRIMINATOR, 0}, "a");
  EXPECT_OK(TakeJoin(members_, first, At("", "unix:/g")));
  EXPECT_OK(TakeJoin(members_, discriminator, At("unix:/d", "")));
  Place& second = Register({GENERATOR, 1}, "b");
  EXPECT_OK(TakeJoin(members_, second, At("", "unix:/g", "b:2")));
  EXPECT_FALSE(first.joined);
  EXPECT_FALSE(discriminator.joined);
  EXPECT_TRUE(second.joined);
  EXPECT_THAT(TakeJoin(members_, first, At("", "unix:/g")),
              StatusIs(kInvalidJoin, HasSubstr("--fleet_listen HOST:PORT")));
  EXPECT_THAT(TakeJoin(members_, discriminator, At("unix:/d", "")),
              StatusIs(kInvalidJoin, HasSubstr("generator 1 on b cannot")));
}

TEST_F(JoiningTest, OnlyMembersAreIntroduced) {
  for (const int rank : {0, 1}) {
    ASSERT_OK(TakeJoin(members_, Register({GENERATOR, rank}, "a"),
                       At("", absl::StrCat("unix:/g", rank))));
  }
  Place& discriminator = Register({DISCRIMINATOR, 0}, "a");
  ASSERT_OK(TakeJoin(members_, discriminator, At("unix:/d", "")));
  Place& first = *members_.Find({GENERATOR, 0});
  Place& second = *members_.Find({GENERATOR, 1});
  JoinReply reply;
  AddOthers(members_, second, reply);
  ASSERT_EQ(reply.fleet_size(), 2);
  EXPECT_EQ(reply.fleet(1).local_address(), "unix:/g1");
  EXPECT_THAT(reply.discriminator_addresses(), ElementsAre("unix:/d"));
  RegisterReply registered;
  SetPosition(members_, second, registered);
  EXPECT_EQ(registered.position(), 1);

  first.is_member = false;
  reply.Clear();
  AddOthers(members_, second, reply);
  EXPECT_EQ(reply.fleet_size(), 0);  // alone in its role
  SetPosition(members_, second, registered);
  EXPECT_EQ(registered.position(), 0);
  EXPECT_EQ(registered.generators(), 1);
  EXPECT_EQ(registered.discriminators(), 1);
}

}  // namespace
}  // namespace gandem
