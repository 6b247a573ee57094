// SPDX-License-Identifier: Apache-2.0
//
// Damaged messages of the control plane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/rpc/channel.h"
#include "common/rpc/socket_folder.h"
#include "common/rpc/unary_calls.h"
#include "proto/control.grpc.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::Time InTime() { return MonotonicNow() + absl::Seconds(60); }

// Records registrations and gives each the same answer.
class HearingControl : public Control::Service {
 public:
  grpc::Status Register(grpc::ServerContext* context,
                        const RegisterRequest* request,
                        RegisterReply* reply) override {
    const auto handle = [&]() -> absl::StatusOr<RegisterReply> {
      heard_.push_back(request->SerializeAsString());
      if (!refusal_.ok()) return refusal_;
      return TheReply();
    };
    return AnswerChecked(*context, *request, handle, reply);
  }

  static RegisterReply TheReply() {
    RegisterReply reply;
    reply.set_incarnation(12345);
    reply.set_config_text("rounds: 10");
    reply.set_first_round(5);
    return reply;
  }
  void Refuse(absl::Status refusal) { refusal_ = std::move(refusal); }
  const std::vector<std::string>& heard() const { return heard_; }

 private:
  absl::Status refusal_;
  std::vector<std::string> heard_;
};

class ChecksumsTest : public ::testing::Test {
 protected:
  // Channels and servers check for an armed failpoint when they are created.
  void Start(const std::string& failpoint) {
    server_.reset();
    service_ = std::make_unique<HearingControl>();
    damage_.clear();
    ASSERT_OK(ArmFailpoint(failpoint));
    server_ = *RpcServer::Start({.address = folder_->AddressOf("control")},
                                [&](grpc::ServerBuilder& builder) {
                                  builder.RegisterService(service_.get());
                                });
    const auto channel = *CreateChannel(server_->address(), {});
    stub_ = std::make_unique<ReconnectingStub<Control>>(server_->address(),
                                                        channel);
  }
  ~ChecksumsTest() override { EXPECT_OK(ArmFailpoint("")); }

  static RegisterRequest TheRequest() {
    RegisterRequest request;
    request.set_role(GENERATOR);
    request.set_rank(1);
    request.set_host("alpha");
    request.set_round(812);
    return request;
  }
  absl::StatusOr<RegisterReply> Call() {
    UnaryCalls calls("", [this](bool is_outgoing) {
      damage_.push_back(is_outgoing ? "request" : "answer");
    });
    return calls.CheckedCall(*stub_, &Control::Stub::Register, TheRequest(),
                             InTime());
  }

  const std::unique_ptr<SocketFolder> folder_ = *SocketFolder::Create();
  std::unique_ptr<HearingControl> service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<ReconnectingStub<Control>> stub_;
  std::vector<std::string> damage_;
};

TEST_F(ChecksumsTest, AnIntactMessageArrivesOnce) {
  Start("");
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Call());
  EXPECT_EQ(reply.SerializeAsString(),
            HearingControl::TheReply().SerializeAsString());
  EXPECT_THAT(service_->heard(), ElementsAre(TheRequest().SerializeAsString()));
  EXPECT_THAT(damage_, SizeIs(0));
}

// Damages numbers, texts, tags and lengths: the result may still parse.
TEST_F(ChecksumsTest, ADamagedRequestIsNotHandledAndIsSentAgain) {
  for (int place = 0; place < 1000; place += 37) {
    Start(absl::StrCat("corrupt=", place, " control.encode_request:1"));
    ASSERT_OK(Call());
    EXPECT_THAT(service_->heard(),
                ElementsAre(TheRequest().SerializeAsString()));
    EXPECT_THAT(damage_, ElementsAre("request")) << place;
  }
}

TEST_F(ChecksumsTest, ADamagedAnswerIsRequestedAgain) {
  for (int place = 0; place < 1000; place += 37) {
    Start(absl::StrCat("corrupt=", place, " control.encode_reply:1"));
    ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Call());
    EXPECT_EQ(reply.SerializeAsString(),
              HearingControl::TheReply().SerializeAsString());
    EXPECT_THAT(service_->heard(), SizeIs(2));
    EXPECT_THAT(damage_, ElementsAre("answer")) << place;
  }
}

TEST_F(ChecksumsTest, ALinkThatDamagesEverythingIsAnError) {
  Start("corrupt=300 control.encode_request:1+");
  EXPECT_THAT(Call(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("checksum of the request")));
  EXPECT_THAT(service_->heard(), SizeIs(0));
  EXPECT_THAT(damage_, ElementsAre("request", "request"));
  Start("corrupt=300 control.encode_reply:1+");
  EXPECT_THAT(Call(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("checksum of the answer")));
  EXPECT_THAT(damage_, ElementsAre("answer", "answer"));
}

TEST_F(ChecksumsTest, ARefusalIsNotTreatedAsDamage) {
  Start("");
  for (const absl::Status& refusal :
       {absl::DataLossError("all checkpoints are damaged"),
        absl::InternalError("a bug \x01 of \xc3\xa4 \n kind"),
        absl::UnimplementedError(""), absl::FailedPreconditionError("over")}) {
    service_->Refuse(refusal);
    EXPECT_THAT(Call(), StatusIs(refusal.code()));
  }
  EXPECT_THAT(service_->heard(), SizeIs(4));
  EXPECT_THAT(damage_, SizeIs(0));
}

TEST_F(ChecksumsTest, MessagesWithoutChecksumAreAccepted) {
  Start("");
  grpc::ClientContext context;
  EXPECT_OK(CallIn(context, *stub_->Get(), &Control::Stub::Register,
                   TheRequest(), InTime()));
  EXPECT_THAT(service_->heard(), SizeIs(1));
}

TEST(UnaryCallsTest, EqualMessagesHaveTheSameCheckedBytes) {
  RegisterRequest forward;
  RegisterRequest backward;
  for (int i = 0; i < 100; ++i) {
    (*forward.mutable_numerics())[absl::StrCat(i)] = "a";
    (*backward.mutable_numerics())[absl::StrCat(99 - i)] = "a";
  }
  EXPECT_EQ(CheckedBytes(forward), CheckedBytes(backward));
  RegisterRequest received;
  ASSERT_TRUE(received.ParseFromString(backward.SerializeAsString()));
  EXPECT_EQ(CheckedBytes(received), CheckedBytes(forward));
}

}  // namespace
}  // namespace gandem
