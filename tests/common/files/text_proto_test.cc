// SPDX-License-Identifier: Apache-2.0
#include "common/files/text_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/nearest.h"
#include "common/files/utf8.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

auto Fails(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, message);
}

absl::Status Parse(absl::string_view text) {
  RunConfig config;
  return ParseTextProto(text, "run.textproto", config);
}

TEST(TextProtoTest, ParsingReplacesTheMessage) {
  RunConfig config;
  config.set_name("before");
  ASSERT_OK(ParseTextProto("rounds: 7  # comment", "f", config));
  EXPECT_EQ(config.rounds(), 7);
  EXPECT_FALSE(config.has_name());
}

TEST(TextProtoTest, UnknownFieldsAreReportedWithTheNearestName) {
  EXPECT_THAT(Parse("rounds: 1\n  ruonds: 2"),
              Fails("run.textproto:2:3: RunConfig has no field 'ruonds' (did "
                    "you mean 'rounds'?)"));
  EXPECT_THAT(Parse("rounds: 1\n\t ruonds\n\n : 2"),
              Fails("run.textproto:2:3: RunConfig has no field 'ruonds' (did "
                    "you mean 'rounds'?)"));
  EXPECT_THAT(Parse("schedule { lagg: 2 }"),
              Fails("run.textproto:1:12: ScheduleConfig has no field 'lagg' "
                    "(did you mean 'lag'?)"));
}

TEST(TextProtoTest, UnknownFieldsWithoutANearNameAreReportedWithTheList) {
  EXPECT_THAT(Parse("samples { zzzzzz: 2 }"),
              Fails("run.textproto:1:11: SampleConfig has no field 'zzzzzz' "
                    "(fields: every_rounds, num_images)"));
}

TEST(TextProtoTest, AFieldInTheWrongMessageIsReportedWithTheRightOne) {
  EXPECT_THAT(Parse("optimism: 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there is generator.optimizer.optimism and "
                                 "discriminator.optimizer.optimism")));
}

TEST(TextProtoTest, AMisspeltOptimizerIsReportedWithTheNearestName) {
  EXPECT_THAT(Parse("generator { optimizer { adabelive {} } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("OptimizerConfig has no field 'adabelive' "
                                 "(did you mean 'adabelief'?)")));
}

TEST(TextProtoTest, UnknownEnumValuesAreReportedWithTheList) {
  EXPECT_THAT(Parse("loss: HINJE"),
              Fails("run.textproto:1:7: loss has no value 'HINJE' (did you "
                    "mean 'HINGE'? values: NON_SATURATING, HINGE, SATURATING, "
                    "LEAST_SQUARES, WASSERSTEIN, RELATIVISTIC_PAIRED, "
                    "RELATIVISTIC_AVERAGE)"));
  EXPECT_THAT(Parse("rounds: 1\nloss: HINJE\n\nseed: 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.textproto:2:7: loss has no value")));
  EXPECT_THAT(Parse("schedule { feedback: NOTHING }"),
              Fails("run.textproto:1:22: feedback has no value 'NOTHING' "
                    "(values: SNAPSHOT, IMAGE_GRADIENT, FUSED)"));
  EXPECT_THAT(Parse("loss: 7"), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("loss has no value '7'")));
}

TEST(TextProtoTest, CommentsAfterAWrongValueDoNotMoveItsPosition) {
  EXPECT_THAT(Parse("loss: WGAN  # WGAN-GP is another WGAN\n# WGAN\nseed: 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.textproto:1:7: loss has no value")));
  EXPECT_THAT(
      Parse("name: \"lose\" lose: 1 # lose\nseed: 1"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("run.textproto:1:14: RunConfig has no field")));
}

TEST(TextProtoTest, QuotedNumbersAreRefused) {
  EXPECT_THAT(
      Parse("rounds: \"5\""),
      Fails("run.textproto:1:9: rounds is a whole number without quotes, "
            "not \"5\""));
}

TEST(TextProtoTest, QuotedEnumValuesAreRefused) {
  EXPECT_THAT(Parse("loss: \"HINGE\""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:7: loss has no value "
                                       "\"HINGE\" (did you mean 'HINGE'?"),
                             HasSubstr("without quotes"))));
  EXPECT_THAT(Parse("loss: \"my_losses.py:Loss\""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("loss has no value "
                                       "\"my_losses.py:Loss\" (values: NON_"),
                             HasSubstr("without quotes"))));
}

// Word processors and web pages insert such quotes.
TEST(TextProtoTest, TypographicQuotesAreNamed) {
  EXPECT_THAT(Parse("seed: 1\nname: \u201cx\u201d"),
              Fails("run.textproto:2:7: a typographic quote (\u201c): write "
                    "\" or ' instead"));
  EXPECT_THAT(Parse("name: \u2018x\u2019"),
              Fails("run.textproto:1:7: a typographic quote (\u2018): write "
                    "\" or ' instead"));
  EXPECT_OK(Parse("name: \"\u201cx\u201d\"  # \u2018a\u2019"));
}

// Two families have a field `form`; the message lists the values of both.
TEST(TextProtoTest, EnumFieldsWithTheSameNameListTheValuesOfEach) {
  EXPECT_THAT(
      Parse("generator { network { biggan { form: DEPE } } }"),
      Fails("run.textproto:1:38: form has no value 'DEPE' (in BigganConfig did "
            "you mean 'DEEP'? values: STANDARD, PYTORCH, DEEP, DEEP_MIXING; in "
            "Dcgan5Config values: WGAN_GP, RADFORD)"));
}

TEST(TextProtoTest, WrongTypesAndSyntaxErrorsHaveLineAndColumn) {
  for (const auto& [text, place] : std::map<std::string, std::string>{
           {"rounds: \"many\"", ":1:9: "},
           {"\nrounds: 1.5", ":2:9: "},
           {"rounds: 99999999999999999999", ":1:9: "},
           {"seed: -1", ":1:7: "},
           {"name: 7", ":1:7: "},
           {"rounds 7", ":1:8: "},
           {"schedule { lag: 1", ":1:18: "},
           {"}", ":1:1: "},
           {"rounds: ", ":1:9: "},
           {"\t\t}", ":1:3: "},
           {"\x01", ":1:1: "}}) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("run.textproto" + place)))
        << text;
  }
}

// protobuf stops at the first fault.
TEST(TextProtoTest, TheFirstOfTwoFaultsIsReported) {
  EXPECT_THAT(Parse("rounds: \"many\" ruonds: 2"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:9: "),
                             Not(HasSubstr("ruonds")))));
  EXPECT_THAT(Parse("ruonds: 2 rounds: \"many\""),
              Fails("run.textproto:1:1: RunConfig has no field 'ruonds' (did "
                    "you mean 'rounds'?)"));
  EXPECT_THAT(Parse("generator { network { mlp { hidden: [1, HINGE] } } "
                    "laggg: 1 }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:41: "),
                             Not(HasSubstr("laggg")))));
  EXPECT_THAT(Parse("schedule lagg: 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:10: "),
                             Not(HasSubstr("no field")))));
  EXPECT_THAT(Parse("ruonds \"text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:13: "),
                             HasSubstr("run.textproto:1:1: RunConfig has no "
                                       "field 'ruonds'"))));
  EXPECT_THAT(Parse("loss: -7"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(":1:7: loss has no value "
                                                    "'-7'")));
  EXPECT_THAT(Parse("loss: \"HINJE\""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.textproto:1:7: ")));
}

TEST(TextProtoTest, FaultsAreLocatedAfterEveryKindOfValue) {
  for (const std::string before :
       {"# lagg: 1\n", "name: \"lagg: 1\" '}'\n", "seed: 0x1F,\n",
        "loss: HINGE;\n", "ema < decay: .5f >\n",
        "generator: { network { mlp { hidden: [1, 2] hidden: 3 } } }\n",
        "penalties { lecam: 1e-3 }\n"}) {
    EXPECT_THAT(Parse(before + "lagg: 1"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("run.textproto:2:1: RunConfig has no field "
                                   "'lagg'")))
        << before;
  }
}

TEST(TextProtoTest, ARepeatedFieldNameIsRefused) {
  EXPECT_THAT(Parse("rounds: 1 rounds: 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run.textproto:1:11: "),
                             HasSubstr("specified multiple times"))));
  EXPECT_THAT(Parse("schedule {} schedule {}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("specified multiple times")));
  EXPECT_THAT(Parse("generator { network { mlp {} dcgan {} } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("dcgan"), HasSubstr("mlp"))));
  EXPECT_OK(Parse("generator { network { mlp { hidden: 1 hidden: 2 } } }"));
}

TEST(TextProtoTest, InvalidUtf8IsRefused) {
  EXPECT_THAT(Parse("rounds: 1\nname: \"a\xff\""),
              Fails("run.textproto:2:9: a byte that is not UTF-8"));
  EXPECT_THAT(Parse("data { idx_images: \"\\377\" }"),
              Fails("run.textproto:1:1: data.idx_images is not UTF-8"));
  EXPECT_OK(Parse("name: \"\u00e9\""));
}

TEST(TextProtoTest, SkipsAByteOrderMark) {
  EXPECT_OK(Parse("\xef\xbb\xbfrounds: 7"));
  EXPECT_OK(Parse("\xef\xbb\xbf# comment\nrounds: 7"));
  EXPECT_THAT(Parse("\xff\xfer\0o\0"),
              Fails("run.textproto:1:1: is UTF-16; save it as UTF-8"));
}

TEST(TextProtoTest, NegativeNumbersAreReportedWithTheAllowedRange) {
  EXPECT_THAT(Parse("rounds: 1\nseed: -1"),
              Fails("run.textproto:2:7: seed has no value '-1' (it is a whole "
                    "number from 0 on)"));
}

TEST(TextProtoTest, MoreThanOneMebibyteIsRefused) {
  const std::string text = "rounds: 1 #";
  EXPECT_OK(Parse(text + std::string((1 << 20) - text.size(), 'x')));
  EXPECT_THAT(Parse(text + std::string((1 << 20) - text.size() + 1, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the limit is 1048576")));
}

class SetFieldTest : public ::testing::Test {
 protected:
  void Set(absl::string_view assignment) {
    ASSERT_OK(SetField(assignment, config_)) << assignment;
  }
  RunConfig config_;
};

TEST_F(SetFieldTest, SetsEveryKindOfField) {
  Set("rounds=7");
  Set(" seed = 18446744073709551615 ");
  Set("loss=HINGE");
  Set("name=my run \"x\"");
  Set("data.idx_labels=\"quoted\"");
  Set("data.idx_images=");
  Set("ema.decay=0.5");
  Set("generator.network.mlp.hidden=[64, 32]");
  Set("generator.optimizer={adam {beta1: 0.5}}");
  Set("discriminator.network.dcgan.width=32");
  EXPECT_EQ(config_.rounds(), 7);
  EXPECT_EQ(config_.seed(), UINT64_MAX);
  EXPECT_EQ(config_.loss(), HINGE);
  EXPECT_EQ(config_.name(), "my run \"x\"");
  EXPECT_EQ(config_.data().idx_labels(), "quoted");
  EXPECT_TRUE(config_.data().has_idx_images());
  EXPECT_EQ(config_.data().idx_images(), "");
  EXPECT_EQ(config_.ema().decay(), 0.5);
  EXPECT_THAT(config_.generator().network().mlp().hidden(),
              ElementsAre(64, 32));
  EXPECT_EQ(config_.generator().optimizer().adam().beta1(), 0.5);
  EXPECT_EQ(config_.discriminator().network().dcgan().width(), 32);
}

TEST_F(SetFieldTest, ReplacesListsMessagesAndOneofMembers) {
  Set("generator.network.mlp.hidden=[64, 32]");
  Set("generator.network.mlp.hidden=[8]");
  EXPECT_THAT(config_.generator().network().mlp().hidden(), ElementsAre(8));
  Set("generator.network.mlp.hidden=[]");
  EXPECT_EQ(config_.generator().network().mlp().hidden_size(), 0);
  Set("generator.network.dcgan.width=32");
  EXPECT_FALSE(config_.generator().network().has_mlp());
  Set("generator.network.dcgan.noise_dim=5");
  EXPECT_EQ(config_.generator().network().dcgan().width(), 32);
  Set("generator.network.dcgan={noise_dim: 6}");
  EXPECT_FALSE(config_.generator().network().dcgan().has_width());
  EXPECT_EQ(config_.generator().network().dcgan().noise_dim(), 6);
}

TEST_F(SetFieldTest, ErrorsNameTheTextAndTheAllowedValues) {
  const std::map<std::string, std::string> cases = {
      {"rounds", "it is not path.to.field=value"},
      {"=1", "RunConfig has no field ''"},
      {"ruonds=1", "(did you mean 'rounds'?)"},
      {"schedule.lagg=1",
       "ScheduleConfig has no field 'lagg' (did you mean "
       "'lag'?)"},
      {"schedule.=1", "ScheduleConfig has no field ''"},
      {"rounds.x=1", "'rounds' has no fields"},
      {"generator.network.mlp.hidden.x=1", "'hidden' has no fields"},
      {"loss=HINJE", "values: NON_SATURATING, HINGE"},
      {"rounds=many", "many"},
      {"rounds=", "Expected integer"},
      {"rounds=10k", "rounds is a whole number (did you mean 10000?)"},
      {"rounds=10x", "Need space between number and identifier"},
      {"rounds=9999999T", "Need space between number and identifier"},
      {"rounds=1.5M", "(did you mean 1500000?)"},
      {"data.memory_bytes=64MB", "(did you mean 64000000?)"},
      {"data.memory_bytes=64M", "(did you mean 67108864?)"},
      {"data.memory_bytes=1GiB", "(did you mean 1073741824?)"},
      {"seed=-1", "seed has no value '-1' (it is a whole number from 0 on)"},
      {"rounds=1 seed: 2", "more than one field"},
      {"rounds=1 rounds: 2", "multiple times"},
      {"rounds=[1]", "["},
      {"schedule=7", "7"},
      {"name=\"unfinished", "Unexpected end of string"},
      {"name=\xff", "not UTF-8"},
      {"optimism=1", "there is generator.optimizer.optimism and"},
  };
  for (const auto& [assignment, what] : cases) {
    RunConfig config;
    EXPECT_THAT(
        SetField(assignment, config),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("'" + assignment + "'"), HasSubstr(what))))
        << assignment;
    EXPECT_EQ(config.ByteSizeLong(), 0) << assignment;
  }
}

TEST(NearestTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("lag", ""), 3);
  EXPECT_EQ(EditDistance("", "lag"), 3);
  EXPECT_EQ(EditDistance("lag", "lagg"), 1);
  EXPECT_EQ(EditDistance("ruonds", "rounds"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestTest, ReturnsTheNearestNameWithinTheLimit) {
  const std::vector<std::string> names = {"lag", "rounds", "rounds_"};
  EXPECT_THAT(Nearest("round", names), ElementsAre("rounds"));
  EXPECT_THAT(Nearest("ROUNDS", names), ElementsAre("rounds", "rounds_"));
  EXPECT_THAT(Nearest("la", names), ElementsAre("lag"));
  EXPECT_THAT(Nearest("zzz", names), IsEmpty());
  EXPECT_THAT(Nearest("", names), IsEmpty());
  EXPECT_EQ(DidYouMean("la", names), "did you mean 'lag'?");
  EXPECT_EQ(DidYouMean("ROUNDS", names), "did you mean 'rounds' or 'rounds_'?");
  EXPECT_EQ(DidYouMean("zzz", names), "");
}

TEST(Utf8Test, FindsTheFirstInvalidByte) {
  for (const char* valid : {"", "a", "\u00e9", "\u20ac", "\U0001f600",
                            "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(IsValidUtf8(valid)) << valid;
  }
  for (const char* bad :
       {"\x80", "\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
        "\xe2\x82"}) {
    EXPECT_EQ(ValidUtf8Prefix(absl::StrCat("ab", bad)), 2) << bad;
  }
}

}  // namespace
}  // namespace gandem
