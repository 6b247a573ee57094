// SPDX-License-Identifier: Apache-2.0
#include "common/config/locate_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

constexpr absl::string_view kText =
    "\xef\xbb\xbfrounds: 5\n"
    "generator {\n"
    "\tnetwork { mlp { hidden: 3 hidden: 0 } }\n"
    "  freeze: 'a' freeze: ''\n"
    "  optimizer {\n"
    "    group { parameters: 'a' }  # \xc3\xa4\n"
    "    group { parameters: 'b' }\n"
    "  }\n"
    "}\n"
    "discriminator {\n"
    "  freeze: ['a', '']\n"
    "  optimizer { group: [{}, {parameters: ''}] }\n"
    "}\n";

// Returns the prefix of a fault of `path`.
std::string Before(const std::string& path,
                   const std::vector<std::string>& sets = {},
                   absl::string_view text = kText) {
  Faults faults("ignored");
  faults.Add(path + " is wrong");
  const absl::Status status =
      LocateFaults(faults, text, "f", sets, RunConfig::default_instance());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  const size_t end = message.find(": " + path + " is wrong");
  EXPECT_NE(end, message.npos) << message;
  return message.substr(0, end);
}

TEST(LocateFaultsTest, TheLineOfAFieldsNameIsReported) {
  EXPECT_EQ(Before("rounds 5"), "f:1:1");
  EXPECT_EQ(Before("generator.network.mlp.hidden[1]:"), "f:3:28");
  EXPECT_EQ(Before("generator.network.mlp.hidden"), "f:3:18");
  EXPECT_EQ(Before("generator.freeze[1]"), "f:4:15");
  EXPECT_EQ(Before("generator.optimizer.group[1].parameters 'b'"), "f:7:13");
  EXPECT_EQ(Before("discriminator.freeze[1]"), "f:11:3");
  EXPECT_EQ(Before("discriminator.optimizer.group[1].parameters"), "f:12:28");
}

TEST(LocateFaultsTest, TheLongestPartOfAPathThatTheTextContainsIsLocated) {
  EXPECT_EQ(Before("generator.optimizer.adam.beta1 2"), "f:5:3");
  EXPECT_EQ(Before("generator.freeze[-1]"), "f:2:1");
  EXPECT_EQ(Before("generator.freeze[x"), "f:2:1");
  EXPECT_EQ(Before("rounds.of.what"), "f:1:1");
  EXPECT_EQ(Before("schedule.lag 100"), "f");
  EXPECT_EQ(Before("this is no path"), "f");
  EXPECT_EQ(Before(""), "f");
  EXPECT_EQ(Before("generator", {}, "rounds: {"), "f");
}

TEST(LocateFaultsTest, AListAmongStatementsPointsAtTheFirstStatement) {
  constexpr absl::string_view kMixed =
      "generator {\n"
      "  freeze: []\n"
      "  freeze: ''\n"
      "  optimizer {\n"
      "    group: [{ parameters: 'a' }, { parameters: '' }]\n"
      "    group { parameters: 'c' }\n"
      "  }\n"
      "}\n"
      "discriminator { freeze: ['a', ''] freeze: ['', 'b'] }\n";
  EXPECT_EQ(Before("generator.freeze[0]", {}, kMixed), "f:2:3");
  EXPECT_EQ(Before("generator.optimizer.group[1]", {}, kMixed), "f:5:5");
  EXPECT_EQ(Before("generator.optimizer.group[1].parameters", {}, kMixed),
            "f:5:36");
  EXPECT_EQ(Before("generator.optimizer.group[2].parameters", {}, kMixed),
            "f:6:13");
  EXPECT_EQ(Before("generator.optimizer.group[3].parameters", {}, kMixed),
            "f:5:5");
  EXPECT_EQ(Before("discriminator.freeze[3]", {}, kMixed), "f:9:17");
}

TEST(LocateFaultsTest, TheNumberOfReportedFaultsIsLimited) {
  Faults faults("ignored");
  for (int i = 0; i < 1000; ++i) faults.Add("rounds 5 are few");
  const std::string message(
      LocateFaults(faults, kText, "f", {}, RunConfig()).message());
  EXPECT_EQ(std::ranges::count(message, '\n'), 20);
  EXPECT_THAT(message, ::testing::EndsWith("\nf: and 980 more"));
}

TEST(LocateFaultsTest, FieldsSetElsewhereHaveNoLine) {
  EXPECT_EQ(Before("rounds 7", {" rounds = 7"}), "f");
  EXPECT_EQ(Before("generator.freeze[1]", {"generator.freeze=['b']"}), "f");
  EXPECT_EQ(Before("generator.freeze[1]", {"a=1", "generator={}"}), "f");
  EXPECT_EQ(Before("generator.freeze[1]", {"generator"}), "f");
  EXPECT_EQ(Before("generator.freeze[1]", {"gen=1", "generator.fre=1", "=1"}),
            "f:4:15");
}

TEST(LocateFaultsTest, EachFaultHasALine) {
  Faults faults("ignored");
  const auto located = [&] {
    return LocateFaults(faults, kText, "f", {}, RunConfig());
  };
  EXPECT_OK(located());
  faults.Add("rounds 5 are few");
  faults.Add("schedule.lag is missing");
  EXPECT_THAT(located(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::StrEq("f:1:1: rounds 5 are few\n"
                                        "f: schedule.lag is missing")));
}

}  // namespace
}  // namespace gandem
