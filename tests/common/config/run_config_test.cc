// SPDX-License-Identifier: Apache-2.0
#include "common/config/run_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kSmall[] = R"(
  rounds: 10
  generator { network { mlp { hidden: 8 } } }
  discriminator { network { dcgan {} } }
)";

absl::StatusOr<RunConfig> With(std::vector<std::string> sets) {
  return ParseRunConfig(kSmall, "small", sets);
}

auto Fault(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}

TEST(RunConfigTest, LoadsAFileAndAppliesSetsInOrder) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "run.textproto", kSmall));
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       LoadRunConfig(dir / "run.textproto",
                                     std::vector<std::string>{
                                         "rounds=20", "rounds=30",
                                         "generator.network.dcgan.width=16"}));
  EXPECT_EQ(config.rounds(), 30);
  EXPECT_EQ(config.generator().network().dcgan().width(), 16);
  EXPECT_THAT(LoadRunConfig(dir / "none", {}),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(RunConfigTest, ErrorsNameFileAndLine) {
  EXPECT_THAT(ParseRunConfig("ruonds: 1", "f.textproto", {}),
              Fault("f.textproto:1:1: RunConfig has no field 'ruonds' (did you "
                    "mean 'rounds'?)"));
  EXPECT_THAT(With({"ruonds=1"}),
              Fault("--set 'ruonds=1': RunConfig has no field 'ruonds' (did "
                    "you mean 'rounds'?)"));
  EXPECT_THAT(With({"rounds=0"}),
              Fault("small: rounds 0 is not in [1, 1000000000]"));
}

// Covers faults of the whole config, but no values from --set.
TEST(RunConfigTest, FaultsNameTheirPlace) {
  static constexpr char kText[] =
      "rounds: 0\n"
      "generator { network { mlp { hidden: 8 } } batch_size: 32 }\n"
      "discriminator { network { dcgan {} }\n"
      "  batch_size: -1\n"
      "  optimizer { adam { beta1: 2 } } }\n";
  const auto said = [](std::vector<std::string> sets) {
    return std::string(
        ParseRunConfig(kText, "f.textproto", sets).status().message());
  };
  EXPECT_THAT(
      absl::StrSplit(said({}), '\n'),
      IsSupersetOf({"f.textproto:1:1: rounds 0 is not in [1, 1000000000]",
                    "f.textproto:4:3: discriminator.batch_size -1 is not in "
                    "[1, 65536]",
                    "f.textproto:5:22: discriminator.optimizer.adam.beta1 2 is "
                    "not in [0, 1)"}));
  EXPECT_THAT(
      absl::StrSplit(said({" rounds = -1", "schedule.lag=100",
                           "discriminator.optimizer={adam{beta1:3}}"}),
                     '\n'),
      IsSupersetOf({"f.textproto: rounds -1 is not in [1, 1000000000]",
                    "f.textproto: schedule.lag 100 is not in [0, 64]",
                    "f.textproto:4:3: discriminator.batch_size -1 is not in "
                    "[1, 65536]",
                    "f.textproto: discriminator.optimizer.adam.beta1 3 is not "
                    "in [0, 1)"}));
}

TEST(RunConfigTest, TheSmallestConfigIsValid) { EXPECT_OK(With({})); }

// Whether the patterns match is known only with the networks.
TEST(RunConfigTest, ParameterPatternsArePartOfTheHash) {
  EXPECT_THAT(With({"generator.freeze=['main.0.*', '']"}),
              Fault("generator.freeze[1] is empty"));
  ASSERT_OK_AND_ASSIGN(const RunConfig plain, With({}));
  ASSERT_OK_AND_ASSIGN(const RunConfig frozen,
                       With({"generator.freeze=['main.0.*']"}));
  ASSERT_OK_AND_ASSIGN(
      const RunConfig grouped,
      With({"generator.optimizer.group=[{parameters: 'main.*'}]"}));
  EXPECT_NE(ConfigHash(frozen), ConfigHash(plain));
  EXPECT_NE(ConfigHash(grouped), ConfigHash(plain));
  EXPECT_TRUE(EffectiveConfig(grouped)
                  .generator()
                  .optimizer()
                  .group(0)
                  .has_learning_rate_factor());
}

TEST(RunConfigTest, ListsEveryFaultAtOnce) {
  EXPECT_THAT(ParseRunConfig("schedule { lag: -1 } ema { decay: 1 } "
                             "discriminator { batch_size: 0 device: \"gpu\" }",
                             "f", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rounds is missing"),
                             HasSubstr("schedule.lag -1 is not in [0, 64]"),
                             HasSubstr("discriminator.batch_size 0 is not in"),
                             HasSubstr("discriminator.device 'gpu'"),
                             HasSubstr("generator.network is missing"),
                             HasSubstr("discriminator.network is missing"),
                             HasSubstr("ema.decay 1 is not in [0, 1)"))));
}

// Each text alone makes the config invalid, and the message names its range.
TEST(RunConfigTest, EveryRangeIsChecked) {
  const struct {
    const char* set;
    const char* fault;
  } kCases[] = {
      {"name=", "name is not 1 to 128 bytes"},
      {"name=\"a\\n\"", "name has a control character"},
      {"rounds=-1", "rounds -1"},
      {"rounds=1000000001", "rounds 1000000001"},
      {"data.idx_images=", "data.idx_images is empty"},
      {"data.idx_images=\"a\\000b\"", "data.idx_images has a control"},
      {"data.idx_labels=\"a\\000b\"", "data.idx_labels has a control"},
      {"data.source=\"a\\000b\"", "data.source has a control"},
      {"data.inputs=\"a\\000b\"", "data.inputs has a control"},
      {"generator.network.own.options=16", "network.own.name is missing"},
      {"discriminator={network { own { name: 'x' } } sync { batch_norm: true "
       "}}",
       "discriminator.sync.batch_norm is for gandem's own layers"},
      {"data.channels=2", "data.channels 2 is none of 1 (gray), 3 (RGB)"},
      {"data={source: 'a' idx_images: 'b'}",
       "data.source and data.idx_images are both set"},
      {"data={source: 'a' idx_labels: 'b'}",
       "data.source and data.idx_labels are both set"},
      {"data={source: 'a' idx_inputs: 'b'}",
       "data.source and data.idx_inputs are both set"},
      {"data.inputs=a", "data.inputs goes with data.source"},
      {"data.exclude=a", "data.exclude goes with data.source"},
      {"data.member=a", "data.member goes with data.source"},
      {"data.member=\"a\\000b\"", "data.member has a control"},
      {"data.exclude=\"a\\000b\"", "data.exclude has a control"},
      {"data.exclude_sha256=00", "data.exclude_sha256 is not the SHA-256"},
      {"data.max_excluded=1", "data.max_excluded 1 is not in [0, 1)"},
      {"data.shuffle_window=0", "data.shuffle_window 0"},
      {"data.side_by_side=INPUT_LEFT",
       "data.side_by_side goes with data.source"},
      {"data={source: 'a' inputs: 'b' side_by_side: INPUT_LEFT}",
       "pairs are either two sources or two halves"},
      {"data={source: 'a' inputs: 'b'}",
       "data.inputs are to be translated, and generator.network.mlp does not"},
      {"data.idx_inputs=\"a\\000b\"", "data.idx_inputs has a control"},
      {"data.image_size=0", "data.image_size 0"},
      {"data.image_size=4097", "data.image_size 4097"},
      {"data.prefetch_batches=0", "data.prefetch_batches 0"},
      {"data.memory_bytes=1000", "data.memory_bytes 1000"},
      {"data.max_images=-1", "data.max_images -1"},
      {"data.num_classes=-1", "data.num_classes -1"},
      {"data={num_classes: 10 idx_labels: ''}",
       "data.num_classes 10 needs the labels of the images"},
      {"data.num_classes=10", "network.dcgan cannot be told labels"},
      {"data.generated_labels=AS_DATASET",
       "data.generated_labels AS_DATASET draws labels"},
      {"schedule.lag=-1", "schedule.lag -1"},
      {"schedule.lag=65", "schedule.lag 65"},
      {"schedule.discriminator_steps_per_round=0",
       "schedule.discriminator_steps_per_round 0"},
      {"schedule.max_samples_per_image=0", "schedule.max_samples_per_image 0"},
      {"schedule.max_samples_per_image=2", "needs consistency BOUNDED"},
      {"schedule={lag: 0 consistency: BOUNDED}", "BOUNDED needs lag >= 1"},
      {"generator.batch_size=128", "REUSED needs"},
      {"schedule.discriminator_steps_per_round=2",
       "but 2 * 64 != 64: set generator.batch_size=128, or "
       "schedule.image_source=FRESH"},
      {"exchange.cache_rounds=-1", "exchange.cache_rounds -1"},
      {"exchange.cache_rounds=1025", "exchange.cache_rounds 1025"},
      {"exchange.cache_bytes=0", "exchange.cache_bytes 0"},
      {"exchange.cache_bytes=262143",  // 64 images of 32 x 32 floats - 1
       "exchange.cache_bytes 262143 does not hold max(1, lag) = 1 rounds of "
       "generated images, which have 262144 bytes"},
      {"exchange.max_message_bytes=100", "exchange.max_message_bytes 100"},
      {"exchange.max_message_bytes=2147483648",
       "exchange.max_message_bytes 2147483648"},
      {"exchange.max_message_bytes=327679",
       "does not hold a micro-batch of the generator, 327680 bytes"},
      {"exchange.poll_seconds=0", "exchange.poll_seconds 0"},
      {"exchange.feedback_encoding=UINT8", "feedback_encoding UINT8 cannot"},
      {"exchange.image_encoding=FLOAT64", "need each other"},
      {"exchange.feedback_encoding=FLOAT64", "need each other"},
      {"generator.precision=FLOAT64", "need each other"},
      {"discriminator.precision=TF32", "discriminator.precision TF32 needs a"},
      {"generator.loss_scale.initial=0.5", "generator.loss_scale.initial 0.5"},
      {"discriminator.loss_scale.growth_factor=1",
       "discriminator.loss_scale.growth_factor 1 is not in (1, 1024]"},
      {"generator.loss_scale.backoff_factor=1",
       "generator.loss_scale.backoff_factor 1 is not in (0, 1)"},
      {"generator.loss_scale.growth_interval=0",
       "generator.loss_scale.growth_interval 0"},
      {"generator.batch_size=0", "generator.batch_size 0"},
      {"generator.micro_batch=-1", "generator.micro_batch -1"},
      {"generator.micro_batch=65",
       "generator.micro_batch 65 is more than the images of a batch, 64"},
      {"discriminator.micro_batch=65", "discriminator.micro_batch 65"},
      {"generator.clip_gradient_norm=-1", "generator.clip_gradient_norm -1"},
      {"generator.device=", "generator.device ''"},
      {"generator.device=cuda0", "generator.device 'cuda0'"},
      {"generator.device=cuda:", "generator.device 'cuda:'"},
      {"generator.device=cuda:01", "generator.device 'cuda:01'"},
      {"generator.device=cuda:-1", "generator.device 'cuda:-1'"},
      {"generator.threads=0", "generator.threads 0"},
      {"discriminator.recompute_blocks=true",
       "discriminator.recompute_blocks: dcgan is not made of blocks; set it to "
       "false"},
      {"generator.workers=65",
       "generator.workers 65 is more than the images of a batch, 64"},
      {"discriminator.workers=0", "discriminator.workers 0"},
      {"generator.sync.interval=0", "generator.sync.interval 0"},
      {"generator.sync.interval=2",
       "REUSED needs as many images in the discriminator's steps of a round "
       "as in the generator's, but 1 * 64 != 128 (batch_size times "
       "sync.interval)"},
      {"generator.sync.interval=1025",
       "generator.sync.interval 1025 is not in [1, 1024]"},
      {"discriminator={batch_size: 65, sync: {interval: 1024}}",
       "discriminator.batch_size times discriminator.sync.interval 66560 is "
       "not in [1, 65536]"},
      {"discriminator.sync.bucket_bytes=0", "sync.bucket_bytes 0"},
      {"discriminator.sync.divergence_check_interval=-1",
       "discriminator.sync.divergence_check_interval -1"},
      {"generator.network={}", "generator.network is missing"},
      {"generator.network.mlp.hidden=[8, 0]", "mlp.hidden[1] 0"},
      {"generator.network.mlp.noise_dim=0", "mlp.noise_dim 0"},
      {"generator.network.dcgan={width: 0}", "dcgan.width 0"},
      {"generator.network.sngan={noise_dim: 0}", "sngan.noise_dim 0"},
      {"generator.network.sndcgan={width: 65537}", "sndcgan.width 65537"},
      {"data.image_size=48",
       "discriminator.network.dcgan is for images of 32 x 32 or 64 x 64, not "
       "48 x 48 (data.image_size)"},
      {"generator.network.keras_dcgan={dropout: 1.5}",
       "keras_dcgan.dropout 1.5 is not in [0, 1)"},
      {"generator.network.pix2pix={dropout: 1}",
       "generator.network.pix2pix.dropout 1 is not in [0, 1)"},
      {"discriminator.network.sngan={batch_norm_eps: 0}",
       "sngan.batch_norm_eps 0 is not in (0, 1]"},
      {"discriminator.network.sagan={spectral_norm_eps: 2}",
       "sagan.spectral_norm_eps 2 is not in (0, 1]"},
      {"discriminator.network.sngan={norm: BATCH shortcut: RECTIFIED}",
       "sngan.shortcut RECTIFIED is not defined with norm BATCH"},
      {"generator.network.sagan={width: 2}",
       "generator.network.sagan: attention is for multiples of 8 channels, "
       "the discriminator has 4 at 16 x 16: change width"},
      {"discriminator.network.biggan={attention_size: 48}",
       "discriminator.network.biggan: the discriminator has no layer of 48 x "
       "48 for attention: change attention_size"},
      {"generator.network.biggan={noise_dim: 121}",
       "biggan.noise_dim 121 does not split into 4 equal chunks"},
      {"discriminator.network.biggan={head: CONTRASTIVE}",
       "biggan.head CONTRASTIVE needs classes to tell apart"},
      {"generator.network.keras_dcgan={dropout: nan}", "dropout nan"},
      {"generator.network.pix2pix={input_channels: -1}",
       "pix2pix.input_channels -1 is not in [0, 65536]"},
      {"generator.network.pix2pix={}",
       "generator.network.pix2pix translates images: set data.idx_inputs"},
      {"discriminator.network.pix2pix={paired: false}",
       "discriminator.network.pix2pix translates images"},
      {"data.idx_inputs=edges", "generator.network.mlp does not do that"},
      {"generator.network.python={module: \"a.py\" name: \"G\" noise_dim: 0}",
       "generator.network.python.noise_dim 0 translates images: set "
       "data.idx_inputs"},
      {"generator.network.pix2pix={input_channels: 3}",
       "pix2pix.input_channels 3 is not the 1 of data.channels"},
      {"paired_loss.l1=1", "set data.idx_inputs, or paired_loss.l1=0"},
      {"generator.optimizer.adam.learning_rate=0", "adam.learning_rate 0"},
      {"generator.optimizer.adam.learning_rate=-1", "adam.learning_rate -1"},
      {"generator.optimizer.adam.beta1=1", "adam.beta1 1 is not in [0, 1)"},
      {"generator.optimizer.adam.beta2=-0.1", "adam.beta2 -0.1"},
      {"discriminator.optimizer.adam.eps=0", "adam.eps 0"},
      {"discriminator.optimizer.adam.weight_decay=-1", "adam.weight_decay -1"},
      {"generator.optimizer.optimism=-1",
       "generator.optimizer.optimism -1 is not in [0, 10]"},
      {"discriminator.optimizer.rate_schedule={shape: LINEAR "
       "decay_from_round: 1000000000}",
       "discriminator.optimizer.rate_schedule.decay_from_round 1000000000 is "
       "not before the end"},
      {"ema.decay=1", "ema.decay 1"},
      {"ema.half_life_images=-1", "ema.half_life_images -1"},
      {"ema.ramp_up=0.05", "ema.ramp_up shortens ema.half_life_images"},
      {"ema.half_life_ramp_images=9", "how ema.half_life_images is reached"},
      {"ema.start_round=-1", "ema.start_round -1"},
      {"checkpoint.every_rounds=-1", "checkpoint.every_rounds -1"},
      {"checkpoint.keep_last=0", "checkpoint.keep_last 0"},
      {"checkpoint.keep_every=-1", "checkpoint.keep_every -1"},
      {"samples.every_rounds=-1", "samples.every_rounds -1"},
      {"samples.num_images=0", "samples.num_images 0"},
      {"control.heartbeat_seconds=0", "control.heartbeat_seconds 0"},
      {"control.heartbeat_timeout_seconds=0.05",
       "control.heartbeat_timeout_seconds 0.05"},
      {"control.heartbeat_timeout_seconds=0.4",
       "less than two heartbeats of 0.25 s"},
      {"control.grace_seconds=-1", "control.grace_seconds -1"},
      {"control.restart_budget=-1", "control.restart_budget -1"},
      {"control.join_timeout_seconds=0", "control.join_timeout_seconds 0"},
      {"control.metrics_every_rounds=0", "control.metrics_every_rounds 0"},
      {"control.progress_timeout_seconds=0.5",
       "control.progress_timeout_seconds 0.5"},
      {"control.progress_timeout_seconds=-2",
       "control.progress_timeout_seconds -2 is not in {-1, 0} or [1, 86400]"},
  };
  for (const auto& expected : kCases) {
    EXPECT_THAT(With({expected.set}), Fault(expected.fault)) << expected.set;
  }
}

TEST(RunConfigTest, LimitsThemselvesAreValid) {
  for (const std::vector<std::string>& sets :
       std::vector<std::vector<std::string>>{
           {"exchange.cache_bytes=262144"},
           {"exchange.max_message_bytes=327680"},
           {"exchange.max_message_bytes=2147483647"},
           {"schedule.lag=0"},
           {"schedule.lag=64"},
           {"control.progress_timeout_seconds=0"},
           {"control.progress_timeout_seconds=-1"},
           {"control.progress_timeout_seconds=1"},
           {"schedule.lag=3", "exchange.cache_rounds=3"},
           {"schedule.consistency=BOUNDED", "schedule.max_samples_per_image=9"},
           {"schedule.discriminator_steps_per_round=2",
            "generator.batch_size=128"},
           {"schedule.discriminator_steps_per_round=2",
            "schedule.image_source=FRESH"},
           {"generator.micro_batch=64"},
           {"generator.device=cuda:0", "discriminator.device=cuda:12"},
           {"generator.device=cuda", "generator.sync.collective=NCCL"},
           {"generator.network.mlp.hidden=[]"},
           {"discriminator.network.dcgan={}", "data.image_size=64"},
           {"discriminator.network.sngan={}"},
           {"discriminator.network.mlp={}", "data.num_classes=10"},
           {"discriminator.network.mlp={}", "data.image_size=7"},
           {"generator.network.pix2pix={}", "data.idx_inputs=edges",
            "paired_loss.l1=100"},
           {"generator.network.pix2pix={}", "data.idx_inputs=edges",
            "discriminator.network.pix2pix={paired: false}"},
           {"generator.precision=FLOAT64", "discriminator.precision=FLOAT64",
            "exchange.image_encoding=FLOAT64",
            "exchange.feedback_encoding=FLOAT64"},
           {"generator.precision=BFLOAT16", "discriminator.precision=FLOAT16",
            "discriminator.layout=AUTO"},
           {"generator.precision=TF32", "generator.device=cuda:0"},
           {"generator.precision=AUTO", "generator.loss_scale.initial=1"},
           {"ema.decay=0", "checkpoint.every_rounds=0",
            "samples.every_rounds=0"}}) {
    EXPECT_OK(With(sets)) << sets[0];
  }
}

TEST(RunConfigTest, GradientPenaltiesRefuseFloat16) {
  for (const std::string penalty : {"gradient_penalty", "dragan", "r1", "r2"}) {
    const std::string set = "penalties." + penalty + "=1";
    const auto with = [&](const std::string& precision) {
      return With({"discriminator.network.mlp={}", set, precision});
    };
    EXPECT_THAT(with("discriminator.precision=FLOAT16"),
                Fault("discriminator.precision FLOAT16 makes the small image "
                      "gradients 0"));
    EXPECT_OK(with("discriminator.precision=BFLOAT16"));
    EXPECT_OK(with("discriminator.precision=AUTO"));
    EXPECT_OK(with("generator.precision=FLOAT16"));
  }
}

TEST(RunConfigTest, OptionsThatFleetsDoNotSupportAreRefused) {
  const auto refused = [](std::vector<std::string> sets,
                          const std::string& fault) {
    EXPECT_THAT(With(std::move(sets)), Fault(fault));
  };
  const std::string two = "discriminator.workers=2";
  const std::string average = "discriminator.sync.mode=AVERAGE_STATE";
  EXPECT_OK(With({two, "generator.workers=3", "penalties.consistency_real=1"}));
  EXPECT_OK(With({two, average, "discriminator.sync.interval=5"}));
  EXPECT_OK(With(
      {two, "schedule.image_source=FRESH", "discriminator.sync.interval=2"}));
  EXPECT_OK(
      With({"generator.sync.interval=2", "discriminator.sync.interval=2"}));
  EXPECT_OK(With({two, "schedule.consistency=BOUNDED"}));
  refused({two, average, "discriminator.sync.interval=5",
           "schedule.consistency=BOUNDED"},
          "set discriminator.sync.interval=1, or EXACT");
  EXPECT_OK(With({two, "penalties.lecam=1"}));
  refused({two, average, "penalties.lecam=1"},
          "penalties.lecam looks at all images of a batch: set "
          "discriminator.sync.mode=ACCUMULATE");
  refused({two, "schedule.consistency=BOUNDED", "penalties.lecam=1"},
          "set schedule.consistency=EXACT, discriminator.workers=1");
  refused({two, average, "discriminator.sync.wire=BFLOAT16"},
          "set discriminator.sync.wire=EXACT");
  refused({two, average, "discriminator.precision=FLOAT16"},
          "discriminator.precision FLOAT16 has a loss scale");
  refused({two, average, "discriminator.sync.interval=5", "schedule.lag=2"},
          "needs schedule.lag <= 1");
  refused({two, average, "discriminator.sync.interval=4"},
          "rounds 10 is no multiple of the 4 rounds");
  refused({two, average, "discriminator.sync.interval=5",
           "checkpoint.every_rounds=4"},
          "checkpoint.every_rounds 4 is no multiple of the 5 rounds");
  refused({"discriminator.sync.collective=NCCL"},
          "discriminator.sync.collective NCCL sums between GPUs: set "
          "discriminator.device=cuda, or discriminator.sync.collective=RING");
  refused({"loss=RELATIVISTIC_PAIRED", "schedule.feedback=IMAGE_GRADIENT", two},
          "set discriminator.workers=1 and discriminator.sync.interval=1");
}

TEST(RunConfigTest, SyncBatchNormNeedsAllWorkersInEveryPass) {
  const auto with = [](std::vector<std::string> sets) {
    sets.push_back("generator.sync.batch_norm=true");
    sets.push_back("generator.workers=3");
    return With(std::move(sets));
  };
  EXPECT_OK(with({}));
  EXPECT_OK(with({"schedule.feedback=IMAGE_GRADIENT"}));
  // Slices of 22, 21 and 21 images.
  EXPECT_OK(with({"generator.micro_batch=5"}));
  EXPECT_THAT(with({"generator.micro_batch=7"}),
              Fault("generator.sync.batch_norm needs as many forward passes of "
                    "every generator worker, but of 64 images 3 workers make 3 "
                    "to 4: set generator.batch_size to 63 or 66, or another "
                    "generator.micro_batch"));
  EXPECT_OK(with({"generator.micro_batch=7", "generator.batch_size=63",
                  "discriminator.batch_size=63"}));
  EXPECT_OK(with({"generator.batch_size=6", "generator.sync.interval=2",
                  "discriminator.batch_size=12"}));
  EXPECT_THAT(with({"generator.batch_size=4", "generator.micro_batch=1",
                    "generator.sync.interval=2", "discriminator.batch_size=8"}),
              Fault("of 4 images 3 workers make 1 to 2: set "
                    "generator.batch_size to 3 or 6"));
  const std::string fresh = "schedule.image_source=FRESH";
  EXPECT_THAT(with({fresh, "discriminator.batch_size=2"}),
              Fault("of 2 images 3 workers make 0 to 1: set "
                    "discriminator.batch_size to 3"));
  EXPECT_OK(with({fresh, "discriminator.batch_size=3"}));
  EXPECT_THAT(with({"generator.sync.mode=AVERAGE_STATE"}),
              Fault("set generator.sync.mode=ACCUMULATE, or "
                    "generator.sync.batch_norm=false"));
  EXPECT_THAT(with({"schedule.consistency=BOUNDED"}),
              Fault("needs all generator workers in every pass"));
  // One worker computes the whole batch.
  EXPECT_OK(With({"generator.sync.batch_norm=true", "generator.micro_batch=7",
                  "schedule.consistency=BOUNDED"}));
}

TEST(RunConfigTest, SyncBatchNormOfTheDiscriminatorIncludesTheCritics) {
  const auto with = [](std::vector<std::string> sets) {
    sets.push_back("discriminator.sync.batch_norm=true");
    return With(std::move(sets));
  };
  const std::string fleet = "generator.workers=3";
  EXPECT_OK(with({fleet, "discriminator.workers=2"}));
  EXPECT_THAT(
      with({fleet, "generator.micro_batch=7"}),
      Fault("discriminator.sync.batch_norm needs as many forward passes "
            "of every generator worker"));
  EXPECT_THAT(with({fleet, "generator.sync.mode=AVERAGE_STATE"}),
              Fault("set generator.sync.mode=ACCUMULATE, or "
                    "discriminator.sync.batch_norm=false"));
  for (const std::string role : {"generator", "discriminator"}) {
    EXPECT_OK(with({role + ".workers=2", "generator.sync.interval=2",
                    "discriminator.sync.interval=2"}));
  }
  EXPECT_THAT(with({fleet, "discriminator.precision=FLOAT16"}),
              Fault("FLOAT16 tries until nothing overflows"));
  for (const std::string workers : {"generator", "discriminator"}) {
    EXPECT_THAT(
        with({workers + ".workers=2", "schedule.feedback=IMAGE_GRADIENT"}),
        Fault("set schedule.feedback=SNAPSHOT"));
  }
  EXPECT_OK(with({"schedule.feedback=IMAGE_GRADIENT"}));
  EXPECT_OK(with({fleet, "schedule.feedback=IMAGE_GRADIENT",
                  "discriminator.network.sndcgan={}"}));
}

TEST(RunConfigTest, AnUpdateUsesTheBatchesOfItsInterval) {
  ASSERT_OK_AND_ASSIGN(
      RunConfig config,
      With({"generator.sync.interval=3", "discriminator.sync.interval=3",
            "generator.batch_size=10", "discriminator.batch_size=10"}));
  EXPECT_EQ(StepBatches(config.generator()), 3);
  EXPECT_EQ(StepBatch(config.generator()), 30);
  EXPECT_EQ(RoundsToAgreement(config), 1);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_workers(2);
    role->mutable_sync()->set_mode(SyncConfig::AVERAGE_STATE);
  }
  EXPECT_EQ(StepBatches(config.generator()), 1);
  EXPECT_EQ(StepBatch(config.generator()), 10);
  EXPECT_EQ(StepsToAgreement(config.generator()), 3);
  config.mutable_discriminator()->mutable_sync()->set_interval(4);
  EXPECT_EQ(RoundsToAgreement(config), 12);
  config.mutable_schedule()->set_discriminator_steps_per_round(2);
  EXPECT_EQ(RoundsToAgreement(config), 6);
}

TEST(RunConfigTest, TheCacheMustHoldTheLag) {
  EXPECT_THAT(With({"schedule.lag=3", "exchange.cache_rounds=2"}),
              Fault("exchange.cache_rounds 2 is neither 0 nor at least "
                    "max(1, lag) = 3"));
  EXPECT_THAT(With({"schedule.lag=3", "exchange.cache_bytes=786431"}),
              Fault("max(1, lag) = 3 rounds"));
  EXPECT_OK(With({"schedule.lag=3", "exchange.cache_bytes=786431",
                  "exchange.image_encoding=BFLOAT16"}));
}

TEST(RunConfigTest, LargestSizesDoNotOverflow) {
  EXPECT_THAT(
      With({"schedule.lag=64", "data.image_size=4096",
            "schedule.discriminator_steps_per_round=1000",
            "generator.batch_size=65536", "generator.network.mlp={}",
            "discriminator.batch_size=65536", "discriminator.network.mlp={}",
            "schedule.image_source=FRESH", "generator.precision=FLOAT64",
            "discriminator.precision=FLOAT64",
            "exchange.image_encoding=FLOAT64",
            "exchange.feedback_encoding=FLOAT64"}),
      AllOf(Fault("which have 562949953421312000 bytes"),
            Fault("8796093087744 bytes with its header")));
}

// Tests that visit all fields.

void SetNan(Message& message, const FieldDescriptor& field, double value) {
  message.GetReflection()->SetDouble(&message, &field, value);
}

// Calls visit(path, message, field) for each scalar field that is set.
template <typename Visit>
void ForEachPlainField(Message& message, const std::string& prefix,
                       Visit visit) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string path = prefix + field.name();
    if (field.is_repeated()) continue;
    if (field.message_type() == nullptr) {
      visit(path, message, field);
    } else if (reflection.HasField(message, &field)) {
      ForEachPlainField(*reflection.MutableMessage(&message, &field),
                        path + ".", visit);
    }
  }
}

TEST(RunConfigTest, NanAndInfinityAreRefusedEverywhere) {
  ASSERT_OK_AND_ASSIGN(const RunConfig small, With({}));
  const RunConfig effective = EffectiveConfig(small);
  int tried = 0;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    std::vector<std::string> paths;
    RunConfig walked = effective;
    ForEachPlainField(
        walked, "",
        [&](const std::string& path, Message&, const FieldDescriptor& field) {
          if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
            paths.push_back(path);
        });
    for (const std::string& path : paths) {
      RunConfig config = effective;
      ForEachPlainField(config, "",
                        [&](const std::string& at, Message& message,
                            const FieldDescriptor& field) {
                          if (at == path) SetNan(message, field, bad);
                        });
      EXPECT_THAT(ValidateRunConfig(config), Fault(path)) << bad;
      ++tried;
    }
  }
  EXPECT_GT(tried, 3 * 15);
}

TEST(RunConfigTest, TheEffectiveConfigEnablesNothing) {
  RunConfig config;
  EXPECT_FALSE(EffectiveConfig(config).augmentation().has_ada());
  config.mutable_augmentation()->mutable_ada();
  const RunConfig effective = EffectiveConfig(config);
  EXPECT_EQ(effective.augmentation().ada().interval(), 4);
  EXPECT_TRUE(effective.augmentation().ada().has_interval());
}

TEST(RunConfigTest, TheEffectiveConfigHasEveryDefault) {
  ASSERT_OK_AND_ASSIGN(const RunConfig small, With({}));
  RunConfig effective = EffectiveConfig(small);
  int fields = 0;
  ForEachPlainField(
      effective, "",
      [&](const std::string& path, Message& message,
          const FieldDescriptor& field) {
        EXPECT_TRUE(message.GetReflection()->HasField(message, &field)) << path;
        ++fields;
      });
  EXPECT_GT(fields, 50);
  EXPECT_EQ(effective.generator().optimizer().adam().beta2(), 0.999);
  EXPECT_TRUE(effective.generator().network().has_mlp());
  EXPECT_EQ(effective.exchange().cache_rounds(), 2);
  EXPECT_TRUE(
      MessageDifferencer::Equals(EffectiveConfig(effective), effective));
  EXPECT_OK(ValidateRunConfig(effective));
}

TEST(RunConfigTest, AnEffectiveRunConfigIsReadBackUnchanged) {
  ASSERT_OK_AND_ASSIGN(const RunConfig small, With({}));
  const EffectiveRunConfig made = EffectiveRunConfig::OfValid(small);
  EXPECT_TRUE(MessageDifferencer::Equals(*made, EffectiveConfig(small)));
  ASSERT_OK_AND_ASSIGN(const EffectiveRunConfig read,
                       EffectiveRunConfig::Parse(made.Text(), "a worker's"));
  EXPECT_EQ(read.Text(), made.Text());
  EXPECT_EQ(read.Hash(), made.Hash());
  EXPECT_THAT(EffectiveRunConfig::Parse("rounds: 0", "a worker's"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a worker's:1:1: rounds 0")));
  const EffectiveRunConfig fewer = made.WithWorkers(2, 3);
  EXPECT_EQ(fewer->generator().workers(), 2);
  EXPECT_EQ(fewer->discriminator().workers(), 3);
  EXPECT_NE(fewer.Hash(), made.Hash());
}

TEST(RunConfigTest, TheEffectiveConfigNamesImagesOnce) {
  ASSERT_OK_AND_ASSIGN(const RunConfig source, With({"data.source=photos"}));
  const RunConfig effective = EffectiveConfig(source);
  EXPECT_EQ(effective.data().source(), "photos");
  EXPECT_EQ(effective.data().idx_images(), "");
  EXPECT_EQ(effective.data().idx_labels(), "");
  EXPECT_OK(ValidateRunConfig(effective));
  EXPECT_EQ(ImagesPath(effective.data()), "photos");
  // The images were not inspected yet.
  EXPECT_EQ(effective.data().channels(), 0);
  EXPECT_EQ(DataShapeOf(effective.data()).image.channels, 3);
  ASSERT_OK_AND_ASSIGN(const RunConfig idx, With({}));
  EXPECT_EQ(EffectiveConfig(idx).data().channels(), 1);
  EXPECT_EQ(ImagesPath(idx.data()), idx.data().idx_images());
  EXPECT_FALSE(HasPairs(idx.data()));
}

TEST(RunConfigTest, TheEffectiveConfigHasTheGeneratorsInputs) {
  const auto of = [](const std::string& network, const std::string& data) {
    auto config = With({"generator.network=" + network, data});
    EXPECT_OK(config.status());
    const RunConfig effective = EffectiveConfig(*config);
    EXPECT_OK(ValidateRunConfig(effective));
    return effective.generator().network();
  };
  const std::string python = "{python: {module: \"a.py\" name: \"G\"}}";
  EXPECT_EQ(of(python, "data.idx_inputs=edges").python().noise_dim(), 0);
  EXPECT_EQ(of(python, "rounds=7").python().noise_dim(), 128);
  EXPECT_EQ(
      of("{biggan: {width: 8}}", "data.image_size=32").biggan().noise_dim(),
      80);
  EXPECT_EQ(
      of("{biggan: {form: DEEP}}", "data.image_size=32").biggan().noise_dim(),
      128);
  EXPECT_THAT(
      With({"generator.network=" + python,
            "generator.network.python.noise_dim=7", "data.idx_inputs=edges"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("noise_dim 7: forward gets the images of "
                         "data.idx_inputs and no noise")));
}

TEST(RunConfigTest, TheEffectiveConfigFixesTheEndOfADecay) {
  ASSERT_OK_AND_ASSIGN(
      const RunConfig config,
      With({"rounds=400", "generator.optimizer.rate_schedule={shape: COSINE}",
            "discriminator.optimizer.rate_schedule={shape: LINEAR "
            "decay_until_round: 300}"}));
  const RunConfig effective = EffectiveConfig(config);
  const auto end = [](const RoleConfig& role) {
    return role.optimizer().rate_schedule().decay_until_round();
  };
  EXPECT_EQ(end(effective.generator()), 400);
  EXPECT_EQ(end(effective.discriminator()), 300);
  ASSERT_OK_AND_ASSIGN(const RunConfig constant, With({"rounds=400"}));
  EXPECT_EQ(end(EffectiveConfig(constant).generator()), 0);
}

TEST(RunConfigTest, EffectiveTextParsesBackToTheSameConfig) {
  ASSERT_OK_AND_ASSIGN(
      const RunConfig config,
      With({"generator.optimizer.adam.learning_rate=0.1234567890123456789",
            "ema.decay=0.99999999999999989", "name=r\u00e9seau \"1\"",
            "seed=18446744073709551615"}));
  const std::string text = EffectiveConfigText(config);
  ASSERT_OK_AND_ASSIGN(const RunConfig again,
                       ParseRunConfig(text, "effective", {}));
  EXPECT_EQ(again.SerializeAsString(),
            EffectiveConfig(config).SerializeAsString());
  EXPECT_EQ(EffectiveConfigText(again), text);
  EXPECT_EQ(ConfigHash(again), ConfigHash(config));
  EXPECT_LT(text.find("seed:"), text.find("rounds:"));
  EXPECT_LT(text.find("rounds:"), text.find("schedule {"));
}

TEST(RunConfigTest, TheHashIgnoresFormatting) {
  ASSERT_OK_AND_ASSIGN(const RunConfig small, With({}));
  ASSERT_OK_AND_ASSIGN(const RunConfig explicit_default,
                       With({"seed=1", "schedule.lag=1", "samples={}"}));
  EXPECT_EQ(ConfigHash(small), ConfigHash(explicit_default));
}

// Sets the field to another value of its type.
void Change(Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      reflection.SetInt32(&message, &field,
                          reflection.GetInt32(message, &field) + 1);
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(&message, &field,
                          reflection.GetInt64(message, &field) + 1);
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection.SetUInt64(&message, &field,
                           reflection.GetUInt64(message, &field) + 1);
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection.SetDouble(
          &message, &field,
          std::nextafter(reflection.GetDouble(message, &field), 1e9));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection.SetBool(&message, &field,
                         !reflection.GetBool(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(&message, &field,
                           reflection.GetString(message, &field) + "x");
      return;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const type = field.enum_type();
      const int index = reflection.GetEnum(message, &field)->index();
      reflection.SetEnum(&message, &field,
                         type->value((index + 1) % type->value_count()));
      return;
    }
    default:
      FAIL() << "a type that this test does not know: " << field.name();
  }
}

TEST(RunConfigTest, TheHashCoversEveryField) {
  ASSERT_OK_AND_ASSIGN(const RunConfig small, With({}));
  RunConfig effective = EffectiveConfig(small);
  std::vector<std::string> paths;
  ForEachPlainField(effective, "",
                    [&](const std::string& path, Message&,
                        const FieldDescriptor&) { paths.push_back(path); });
  std::set<uint64_t> hashes = {ConfigHash(effective)};
  for (const std::string& path : paths) {
    RunConfig config = effective;
    ForEachPlainField(config, "",
                      [&](const std::string& at, Message& message,
                          const FieldDescriptor& field) {
                        if (at == path) Change(message, field);
                      });
    EXPECT_TRUE(hashes.insert(ConfigHash(config)).second) << path;
  }
  RunConfig config = effective;
  config.mutable_generator()->mutable_network()->mutable_mlp()->add_hidden(1);
  EXPECT_TRUE(hashes.insert(ConfigHash(config)).second);
}

}  // namespace
}  // namespace gandem
