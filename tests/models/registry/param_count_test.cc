// SPDX-License-Identifier: Apache-2.0
//
// Compares parameters and buffers of every network in model_param_counts.csv,
// counted in the reference implementations, with gandem's networks. kRules maps
// each row to a recipe; a row without a rule fails the test.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

enum class Buffers {
  kEqual,        // by kind: running statistics, counters, u and v
  kRunningOnly,  // running statistics; other kinds are stored differently
  kRunningAndU,  // running statistics and u
  kOwn,          // all are stored differently
};

// Mapping of rows. The first rule whose pattern matches
// "reference/model/config/backbone/ resolution/net/arch" applies.
struct Rule {
  const char* pattern;
  const char* network;      // NetworkConfig as text; empty: not in gandem
  const char* reason = "";  // why not in gandem
  int64_t channels = 3;
  Buffers buffers = Buffers::kEqual;
  int64_t classes = 0;  // if the row lacks them
};

const Rule kRules[] = {
    // Networks that gandem does not have.
    {"info=", "", "InfoGAN"},
    {"head=(MH|MD)|aux=|head=AC", "", "class heads of other models"},
    {"ACGAN head", "", "class heads of other models"},
    {"^BG-PT/SNGAN/.*/D/", "", "a hidden layer of 3 channels (traps.md 4)"},
    {"/D/.*head=PD classes=1 ", "",
     "a single class is no condition (traps.md 20)"},

    // Fully connected, DCGAN.
    {"^PT-GAN/.*/G/",
     "mlp { hidden: [128, 256, 512, 1024] noise_dim: 100 batch_norm: true }",
     "", 1},
    {"^PT-GAN/.*/D/", "mlp { hidden: [512, 256] }", "", 1},
    {"^examples/.*nz=128.*nc=3", "dcgan { noise_dim: 128 }"},
    {"^examples/.*nc=3", "dcgan {}"},
    {"^examples/.*nc=1", "dcgan {}", "", 1},
    // Radford's batch norm keeps no statistics.
    {"^Newmu/", "dcgan5 { form: RADFORD }", "", 3, Buffers::kOwn},
    {"/dcgan 5x5/28/", "dcgan5 {}", "", 1},
    {"/dcgan 5x5/", "dcgan5 {}"},
    {"/deep_conv/.*/G/", "sndcgan {}"},
    {"/deep_conv/.*/D/head=none sn=0 bn=1", "sndcgan { spectral_norm: false }"},
    {"^OSU/DCGAN", "keras_dcgan {}", "", 3, Buffers::kRunningOnly},
    {"^OSU/SNGAN", "keras_dcgan { variant: SNGAN }", "", 3,
     Buffers::kRunningOnly},
    {"^OSU/WGAN-GP", "keras_dcgan { variant: WGAN_GP }"},

    {"^R3/.*/preset ImageNet-64/", "r3gan { width: 1536 widest_until: 64 }"},
    {"^R3/.*/preset ImageNet-32/", "r3gan { width: 1536 }"},
    {"^R3/", "r3gan {}"},

    // BigGAN, ContraGAN, ReACGAN. BigGAN-PyTorch stores no v and no counters.
    {"/BG-PT BigGANdeep/", "biggan { form: DEEP }", "", 3,
     Buffers::kRunningAndU},
    {"^BG-PT/BigGAN CIFAR script/.*/G/",
     "sagan { class_norm: EMBEDDING attention: false }", "", 3,
     Buffers::kRunningAndU},
    {"^BG-PT/BigGAN.*/32/[GD]/ch=96",
     "biggan { form: PYTORCH noise_dim: 120 attention: false }", "", 3,
     Buffers::kRunningAndU},
    {"^BG-PT/BigGAN.*/32/[GD]/ch=64",
     "biggan { form: PYTORCH width: 64 noise_dim: 120 attention: false }", "",
     3, Buffers::kRunningAndU},
    {"^BG-PT/BigGAN/.*/64/[GD]/ch=96",
     "biggan { form: PYTORCH noise_dim: 120 }", "", 3, Buffers::kRunningAndU},
    {"^BG-PT/BigGAN/.*/64/[GD]/ch=64",
     "biggan { form: PYTORCH width: 64 noise_dim: 120 }", "", 3,
     Buffers::kRunningAndU},
    // 120 is rounded down to seven chunks of 17.
    {"^BG-PT/BigGAN/.*/256/G/ch=96 z=120", "biggan { noise_dim: 119 }", "", 3,
     Buffers::kRunningAndU},
    {"^BG-PT/BigGAN/.*/256/G/ch=64 z=120",
     "biggan { width: 64 noise_dim: 119 }", "", 3, Buffers::kRunningAndU},
    {"^BG-PT/BigGAN/.*/[GD]/ch=96", "biggan {}", "", 3, Buffers::kRunningAndU},
    {"^BG-PT/BigGAN/.*/[GD]/ch=64", "biggan { width: 64 }", "", 3,
     Buffers::kRunningAndU},
    {"/big_resnet_deep_studiogan/", "biggan { form: DEEP_MIXING }"},
    {"/big_resnet_deep_legacy/.*embed=512",
     "biggan { form: DEEP head: CONTRASTIVE embedding_dim: 512 }"},
    {"/big_resnet_deep_legacy/.*embed=2048",
     "biggan { form: DEEP head: CONTRASTIVE }"},
    {"/big_resnet_deep_legacy/", "biggan { form: DEEP }"},
    {"/big_resnet/.*ch=80.*embed=768",
     "biggan { width: 80 head: CONTRASTIVE embedding_dim: 768 }"},
    {"/big_resnet/.*ch=80.*embed=1024",
     "biggan { width: 80 head: CONTRASTIVE embedding_dim: 1024 }"},
    {"/big_resnet/.*embed=512",
     "biggan { head: CONTRASTIVE embedding_dim: 512 }"},
    {"/big_resnet/.*embed=1536", "biggan { head: CONTRASTIVE }"},
    {"/big_resnet/.*embed=2048",
     "biggan { head: CONTRASTIVE embedding_dim: 2048 }"},
    {"/big_resnet/.*ch=80", "biggan { width: 80 }"},
    {"/big_resnet/.*ch=64", "biggan { width: 64 }"},
    {"/big_resnet/.*attn=none", "biggan { attention: false }"},
    {"/big_resnet/", "biggan {}"},

    // SAGAN. If norms get the class by embeddings, the embeddings have no
    // spectral norm.
    {"^StudioGAN/.*/resnet/.*attn=[1-9]", "sagan {}"},
    {"^SAGAN-TF/", "sagan { attention_size: 32 }"},
    {"^BG-PT/SAGAN/.*/G/", "sagan { class_norm: EMBEDDING }", "", 3,
     Buffers::kRunningAndU},
    {"^BG-PT/SAGAN/.*/D/", "sagan {}", "", 3, Buffers::kRunningAndU},
    {"^BG-PT/SNGAN/.*/G/", "sagan { class_norm: EMBEDDING attention: false }",
     "", 3, Buffers::kRunningAndU},
    {"^mimicry/sagan_32/", "sagan { class_norm: EMBEDDING }"},
    {"^mimicry/sagan_128/.*/G/",
     "sagan { class_norm: EMBEDDING attention_size: 32 }"},
    {"^mimicry/sagan_128/.*ndf=1024",
     "sagan { thin: true attention_size: 32 }"},
    // mimicry's default is an eighth of the intended width (traps.md 5).
    {"^mimicry/sagan_128/.*ndf=128",
     "sagan { width: 8 thin: true attention_size: 32 }"},

    // SNGAN with classes. mimicry's projection heads store no v.
    {"^StudioGAN/.*/resnet/.*/G/.*sn=0", "sngan {}"},
    {"^StudioGAN/.*/resnet/.*/D/.*head=PD.*sn=1", "sngan {}"},
    {"^StudioGAN/.*/resnet/.*/D/.*head=PD.*bn=1", "sngan { norm: BATCH }"},
    {"^mimicry/cgan_pd.*/G/", "sngan {}"},
    {"^mimicry/cgan_pd_128/.*/D/ndf=128", "sngan { width: 8 thin: true }", "",
     3, Buffers::kRunningAndU},
    {"^mimicry/cgan_pd.*/D/", "sngan { thin: true }", "", 3,
     Buffers::kRunningAndU},
    {"^Chainer/SNGAN projection/.*/G/", "sngan {}"},
    {"^Chainer/SNGAN projection/.*/D/", "sngan { thin: true }"},

    // Unconditional ResNets.
    {"^(StudioGAN|Chainer)/.*/resnet/.*/G/ch=64 z=128 cond=none", "sngan {}"},
    {"^StudioGAN/.*/resnet/.*/D/ch=64 head=none sn=1 bn=0", "sngan {}"},
    {"^StudioGAN/.*/resnet/.*/D/ch=64 head=none sn=0 bn=1",
     "sngan { norm: BATCH }"},
    {"^Chainer/SNGAN/.*/D/", "sngan { thin: true logit_bias: false }"},
    {"^mimicry/(sngan|dcgan|wgan_gp)_.*/G/", "sngan { upsampling: BILINEAR }"},
    {"^mimicry/sngan_.*/D/", "sngan { thin: true shortcut: RECTIFIED }"},
    {"^mimicry/(dcgan|wgan_gp)_.*/D/",
     "sngan { thin: true norm: NONE pool: MEAN shortcut: RECTIFIED }"},
    {"CONDITIONAL \\(class BN\\)", "sngan { width: 32 }", "", 3,
     Buffers::kEqual, 10},
    {"^IWGAN/.*gan_cifar_resnet.*/G/", "sngan { width: 32 }"},
    {"^IWGAN/.*gan_cifar_resnet.*/D/", "sngan { norm: NONE pool: MEAN }"},
    {"^IWGAN/.*gan_64x64.*/resnet/", "wgan_gp {}"},

    // StyleGAN2. Resampling kernels are buffers in the reference and not in
    // gandem. c_dim is the number of classes, 10 or 1000.
    {"^SG3/.*c_dim=10 ", "stylegan2 { mapping_layers: 2 block: PLAIN }", "", 3,
     Buffers::kOwn, 10},
    {"^SG3/.*cbase=16384.*c_dim=1000 ", "stylegan2 { channel_base: 16384 }", "",
     3, Buffers::kOwn, 1000},
    {"^SG3/.*cbase=16384.*mapping=2",
     "stylegan2 { channel_base: 16384 mapping_layers: 2 block: PLAIN }", "", 3,
     Buffers::kOwn},
    {"^SG3/.*cbase=16384", "stylegan2 { channel_base: 16384 }", "", 3,
     Buffers::kOwn},
    {"^SG3/", "stylegan2 {}", "", 3, Buffers::kOwn},

    // Image-to-image networks.
    {"^p2p/.*/unet/", "pix2pix {}"},
    {"^p2p/.*in=6", "pix2pix {}"},
    {"^p2p/.*in=3", "pix2pix { paired: false }"},
};

using Row = std::map<std::string, std::string>;  // by column

std::vector<Row> ReadRows() {
  const char* source_dir = std::getenv("GANDEM_SOURCE_DIR");
  const auto text =
      ReadFile(absl::StrCat(source_dir == nullptr ? "." : source_dir,
                            "/tests/models/model_param_counts.csv"));
  EXPECT_OK(text);
  std::vector<Row> rows;
  std::vector<std::string> columns;
  for (const absl::string_view line :
       absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    Row row;
    for (size_t i = 0; i < columns.size(); ++i) row[columns[i]] = fields.at(i);
    rows.push_back(row);
  }
  return rows;
}

std::string KeyOf(const Row& row) {
  return absl::StrCat(row.at("reference"), "/", row.at("model"), "/",
                      row.at("config"), "/", row.at("backbone"), "/",
                      row.at("resolution"), "/", row.at("net"), "/",
                      row.at("arch"));
}

const Rule* FindRule(const std::string& key) {
  for (const Rule& rule : kRules) {
    if (std::regex_search(key, std::regex(rule.pattern))) return &rule;
  }
  return nullptr;
}

// The number in a column; nullopt if the reference did not count it.
std::optional<int64_t> Number(const Row& row, const char* column) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(row.at(column), &value)) return std::nullopt;
  return value;
}

struct ParamCountCounts {
  int64_t parameters = 0;
  std::map<std::string, int64_t> buffers;  // by column
};

ParamCountCounts CountsOf(const torch::nn::Module& network) {
  ParamCountCounts counts{
      .buffers = {{"bn_running", 0}, {"bn_nbt", 0}, {"sn_u", 0}, {"sn_v", 0}}};
  for (const at::Tensor& parameter : network.parameters()) {
    counts.parameters += parameter.numel();
  }
  const std::pair<const char*, const char*> kinds[] = {
      {"running_mean", "bn_running"},
      {"running_var", "bn_running"},
      {"num_batches_tracked", "bn_nbt"},
      {"weight_u", "sn_u"},
      {"weight_v", "sn_v"},
      {"noise_const", "constant noise"},
      {"w_avg", "mean style"},
      {"_key", "keys of draws"}};
  for (const auto& item : network.named_buffers()) {
    bool known = false;
    for (const auto& [suffix, column] : kinds) {
      if (!item.key().ends_with(suffix)) continue;
      counts.buffers[column] += item.value().numel();
      known = true;
    }
    EXPECT_TRUE(known) << item.key();
  }
  return counts;
}

class ParamCountTest : public ::testing::Test {
 protected:
  // Networks that several rows describe are made once.
  const ParamCountCounts& CountsFor(const Rule& rule, const Row& row) {
    const std::string key =
        absl::StrCat(rule.network, row.at("net"), row.at("resolution"), "/",
                     rule.channels, "/", ClassesOf(rule, row));
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    NetworkConfig config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(rule.network, &config));
    const int64_t size = *Number(row, "resolution");
    const DataShape data = {
        .image = {.channels = rule.channels, .height = size, .width = size},
        .num_classes = ClassesOf(rule, row)};
    ParamCountCounts& counts = made_[key];
    if (row.at("net") == "G") {
      const auto network = MakeGenerator(config, data);
      EXPECT_OK(network) << rule.network;
      if (network.ok()) counts = CountsOf(**network);
    } else {
      const auto network = MakeDiscriminator(config, data);
      EXPECT_OK(network) << rule.network;
      if (network.ok()) counts = CountsOf(**network);
    }
    return counts;
  }

  static int64_t ClassesOf(const Rule& rule, const Row& row) {
    std::smatch match;
    const std::string& arch = row.at("arch");
    if (!std::regex_search(arch, match, std::regex("classes=(\\d+)"))) {
      return rule.classes;
    }
    return std::stoll(match[1]);
  }

  std::map<std::string, ParamCountCounts> made_;
};

TEST_F(ParamCountTest, EveryRowOfTheTableMatches) {
  const std::vector<Row> rows = ReadRows();
  ASSERT_EQ(rows.size(), 339);
  int compared = 0;
  for (const Row& row : rows) {
    const std::string key = KeyOf(row);
    const Rule* const rule = FindRule(key);
    ASSERT_NE(rule, nullptr) << "no rule for " << key;
    if (std::string(rule->network).empty()) {
      EXPECT_STRNE(rule->reason, "");
      continue;
    }
    ++compared;
    const ParamCountCounts& counts = CountsFor(*rule, row);
    EXPECT_EQ(counts.parameters, Number(row, "params_trainable")) << key;
    for (const auto& [column, count] : counts.buffers) {
      if (rule->buffers == Buffers::kOwn || !row.contains(column)) continue;
      if (rule->buffers != Buffers::kEqual && column != "bn_running" &&
          (rule->buffers == Buffers::kRunningOnly || column != "sn_u")) {
        continue;
      }
      const std::optional<int64_t> want = Number(row, column.c_str());
      if (want.has_value()) {
        EXPECT_EQ(count, want) << key << " " << column;
      }
    }
  }
  RecordProperty("rows", compared);
  EXPECT_GE(compared, 234);
}

// Returns the total in the reference report. Keras does not count batches, and
// its spectral norm keeps one vector as long as the kernel's last dimension:
// the input channels of transposed convolutions.
int64_t KerasTotal(const torch::nn::Module& network) {
  const ParamCountCounts counts = CountsOf(network);
  int64_t total = counts.parameters + counts.buffers.at("bn_running");
  const auto parameters = network.named_parameters();
  for (const auto& item : network.named_buffers()) {
    if (!item.key().ends_with("weight_u")) continue;
    const std::string weight =
        item.key().substr(0, item.key().size() - std::string("_u").size());
    total += item.value().numel();
    if (item.value().numel() == parameters[weight].size(0)) continue;
    total += parameters[weight].size(0) - item.value().numel();
  }
  return total;
}

TEST(KerasCountTest, TotalsMatchTheReport) {
  const DataShape data = {.image = {.channels = 3, .height = 64, .width = 64}};
  const struct {
    const char* config;
    int64_t generator;
    int64_t discriminator;
  } kCases[] = {
      {"keras_dcgan {}", 3825475, 2768321},
      {"keras_dcgan { variant: SNGAN }", 3823235, 4855617},
      {"keras_dcgan { variant: WGAN_GP }", 3825475, 2766529},
  };
  for (const auto& c : kCases) {
    NetworkConfig config;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(c.config, &config));
    ASSERT_OK_AND_ASSIGN(const auto generator, MakeGenerator(config, data));
    EXPECT_EQ(KerasTotal(*generator), c.generator) << c.config;
    ASSERT_OK_AND_ASSIGN(const auto discriminator,
                         MakeDiscriminator(config, data));
    EXPECT_EQ(KerasTotal(*discriminator), c.discriminator) << c.config;
  }
}

// The reference report's table for ImageNet at 128 x 128, both networks.
TEST(ReportCountTest, TotalsAt128MatchTheReport) {
  const DataShape data = {.image = {.channels = 3, .height = 128, .width = 128},
                          .num_classes = 1000};
  const struct {
    const char* config;
    int64_t total;
  } kCases[] = {{"sngan {}", 81'440'068},
                {"sagan {}", 81'465'670},
                {"biggan {}", 158'416'358},
                {"biggan { head: CONTRASTIVE }", 160'777'190}};
  for (const auto& c : kCases) {
    NetworkConfig config;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(c.config, &config));
    ASSERT_OK_AND_ASSIGN(const auto generator, MakeGenerator(config, data));
    ASSERT_OK_AND_ASSIGN(const auto discriminator,
                         MakeDiscriminator(config, data));
    EXPECT_EQ(
        CountsOf(*generator).parameters + CountsOf(*discriminator).parameters,
        c.total)
        << c.config;
  }
}

}  // namespace
}  // namespace gandem
