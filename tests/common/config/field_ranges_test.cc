// SPDX-License-Identifier: Apache-2.0
#include "common/config/field_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "proto/config.pb.h"

namespace gandem {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

double DefaultOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return field.default_value_int32();
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(field.default_value_int64());
    default:
      return field.default_value_double();
  }
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

// Calls visit(path, field) for all fields below `type`.
template <typename Visit>
void ForEachField(const Descriptor& type, const std::string& prefix,
                  Visit visit) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = prefix + field.name();
    visit(path, field);
    if (field.message_type() != nullptr) {
      ForEachField(*field.message_type(), path + ".", visit);
    }
  }
}

TEST(FieldRangesTest, EveryNumberHasARangeWithItsDefault) {
  int ranges = 0;
  ForEachField(*RunConfig::descriptor(), "",
               [&](const std::string& path, const FieldDescriptor& field) {
                 ASSERT_EQ(RangeOf(field).has_value(), IsNumber(field)) << path;
                 if (!IsNumber(field)) return;
                 ++ranges;
                 if (!field.has_default_value()) return;
                 EXPECT_TRUE(RangeOf(field)->Has(DefaultOf(field))) << path;
               });
  EXPECT_GT(ranges, 200);
}

TEST(FieldRangesTest, EndsBelongToARangeWithSquareBrackets) {
  const FieldRange lag = RangeOf<ScheduleConfig>("lag");
  EXPECT_EQ(lag.text, "[0, 64]");
  EXPECT_TRUE(lag.Has(0) && lag.Has(64));
  EXPECT_FALSE(lag.Has(-1) || lag.Has(65) || lag.Has(NAN));
  const FieldRange rate = RangeOf<AdamConfig>("learning_rate");
  EXPECT_TRUE(rate.Has(1e-300) && rate.Has(10));
  EXPECT_FALSE(rate.Has(0) || rate.Has(std::nextafter(10, 11)));
  const FieldRange decay = RangeOf<EmaConfig>("decay");
  EXPECT_TRUE(decay.Has(0) && decay.Has(std::nextafter(1, 0)));
  EXPECT_FALSE(decay.Has(1));
  EXPECT_TRUE(RangeOf<DataConfig>("max_images").Has(0x1p62));
  EXPECT_FALSE(RangeOf<DataConfig>("max_images").Has(INFINITY));
}

TEST(FieldRangesTest, ARangeMayHaveExtraValues) {
  const FieldRange timeout = RangeOf<ControlConfig>("progress_timeout_seconds");
  EXPECT_TRUE(timeout.Has(-1) && timeout.Has(0) && timeout.Has(1));
  EXPECT_FALSE(timeout.Has(-0.5) || timeout.Has(0.5) || timeout.Has(86401));
}

TEST(FieldRangesTest, ListsEveryFaultWithItsPath) {
  RunConfig config;
  config.set_rounds(0);
  config.mutable_generator()->set_threads(0);
  config.mutable_generator()->mutable_network()->mutable_mlp()->add_hidden(8);
  config.mutable_generator()->mutable_network()->mutable_mlp()->add_hidden(0);
  config.mutable_generator()->mutable_optimizer()->add_group();
  config.mutable_generator()
      ->mutable_optimizer()
      ->add_group()
      ->set_learning_rate_factor(-0.5);
  Faults faults("config");
  EXPECT_FALSE(CheckRanges("c.", config, faults));
  EXPECT_FALSE(IsWithinRanges(config));
  EXPECT_THAT(
      faults.list(),
      ElementsAre("c.rounds 0 is not in [1, 1000000000]",
                  "c.generator.network.mlp.hidden[1] 0 is not in [1, 65536]",
                  "c.generator.optimizer.group[1].learning_rate_factor -0.5 is "
                  "not in (0, 1000]",
                  "c.generator.threads 0 is not in [1, 1024]"));
}

TEST(FieldRangesTest, LongListsAreRefused) {
  MlpConfig config;
  for (int i = 0; i < 64; ++i) config.add_hidden(1);
  Faults faults("config");
  EXPECT_TRUE(CheckRanges("", config, faults));
  EXPECT_THAT(faults.list(), IsEmpty());
  config.add_hidden(1);
  EXPECT_FALSE(CheckRanges("", config, faults));
  EXPECT_THAT(faults.list(),
              ElementsAre("hidden has 65 values, the most are 64"));
}

}  // namespace
}  // namespace gandem
