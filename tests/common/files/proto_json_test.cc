// SPDX-License-Identifier: Apache-2.0
#include "common/files/proto_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "proto/checkpoint.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

TEST(ProtoJsonTest, EveryFieldIsWritten) {
  RoundMetrics metrics;
  metrics.set_role(GENERATOR);
  metrics.set_round(7);
  metrics.set_loss(0.5);
  metrics.set_sample_grid("samples/7.png");
  metrics.mutable_data();
  metrics.set_ada_p(0.5);
  metrics.set_ada_r_t(0);
  metrics.set_image_gradient_norm(1);
  metrics.set_image_spread(0);
  const Json json = Json::parse(ProtoJson(metrics));
  EXPECT_EQ(json.size(), RoundMetrics::descriptor()->field_count());
  EXPECT_EQ(json.at("role"), "generator");
  EXPECT_EQ(json.at("round"), 7);
  EXPECT_EQ(json.at("loss"), 0.5);
  EXPECT_EQ(json.at("sample_grid"), "samples/7.png");
}

TEST(ProtoJsonTest, WrittenMessagesAreReadBack) {
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_round(int64_t{1} << 60);
  metrics.set_loss(std::numeric_limits<double>::quiet_NaN());
  metrics.set_sample_grid("samples/7.png");
  metrics.mutable_data()->set_images(64);
  metrics.add_health()->set_text("a");
  GradientNoise& noise = *metrics.add_gradient_noise();
  noise.set_part(GradientNoise::REAL);
  noise.set_small_images(0.5);
  RoundMetrics read;
  ASSERT_TRUE(ParseProtoJson(ProtoJson(metrics), read));
  EXPECT_EQ(ProtoJson(read), ProtoJson(metrics));
}

TEST(ProtoJsonTest, ValuesOfOtherTypesAreRefused) {
  for (const char* const text :
       {"", "[]", R"({"role":"critic"})", R"({"round":1.5})",
        R"({"loss":"0.5"})", R"({"data":[]})", R"({"health":{}})",
        R"({"sample_grid":1})"}) {
    RoundMetrics metrics;
    EXPECT_FALSE(ParseProtoJson(text, metrics)) << text;
  }
  RoundMetrics metrics;
  EXPECT_TRUE(ParseProtoJson(R"({"of another version":[1]})", metrics));
}

TEST(ProtoJsonTest, NestedMessagesAreRead) {
  CheckpointManifest manifest;
  manifest.set_step(3);
  manifest.add_files()->set_name("a");
  manifest.add_files()->set_size(int64_t{1} << 60);
  EXPECT_EQ(ProtoJson(manifest),
            R"({"step":3,"run_epoch":0,"config_hash":0,"files":[)"
            R"({"name":"a","size":0,"crc32c":0},)"
            R"({"name":"","size":1152921504606846976,"crc32c":0}],)"
            R"("rollbacks":0,"numerics":[]})");
}

TEST(ProtoJsonTest, NumbersThatAreNotFiniteAreNull) {
  RoundMetrics metrics;
  metrics.set_loss(std::numeric_limits<double>::quiet_NaN());
  metrics.set_gradient_norm(std::numeric_limits<double>::infinity());
  const Json json = Json::parse(ProtoJson(metrics));
  EXPECT_TRUE(json.at("loss").is_null());
  EXPECT_TRUE(json.at("gradient_norm").is_null());
}

TEST(ProtoJsonTest, InvalidUtf8DoesNotBreakTheLine) {
  RoundMetrics metrics;
  metrics.set_sample_grid("\xff\n");
  const std::string line = ProtoJson(metrics);
  EXPECT_TRUE(Json::accept(line));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace gandem
