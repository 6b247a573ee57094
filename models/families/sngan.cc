// SPDX-License-Identifier: Apache-2.0
//
// The ResNet of the SNGAN paper (Miyato et al. 2018, tables 4 and 5), with
// options for differences between later code and the authors' (models.md 2.1,
// 3.0, 3.4 to 3.6). Channels in multiples of the width:
//
//   pixels  G, from 4x4 (48: from 6x6)   D, halving except in the last block(s)
//   32      4, 4, 4, 4                   2, 2, 2, 2 (two do not halve)
//   48      8, 4, 2, 1                   1, 2, 4, 8, 16
//   64      16, 8, 4, 2, 1               1, 2, 4, 8, 16
//   128     16, 16, 8, 4, 2, 1           1, 2, 4, 8, 16, 16
//
//   G: linear, blocks, batch norm, ReLU, conv3x3, tanh
//   D: blocks, ReLU, sum or mean over pixels, linear
//
// Also covers WGAN-GP's ResNets for CIFAR-10 (Gulrajani et al. 2017): a
// generator of width 32, and a discriminator with norm: NONE and pool: MEAN.
#include "models/families/family.h"
#include "models/families/resnet.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using SnganNorm = DiscriminatorBlock::Norm;

SnganNorm NormFrom(SnganConfig::Norm norm) {
  switch (norm) {
    case SnganConfig::SPECTRAL:
      return SnganNorm::kSpectral;
    case SnganConfig::BATCH:
      return SnganNorm::kBatch;
    case SnganConfig::NONE:
      break;
  }
  return SnganNorm::kNone;
}

ResnetOptions SnganOptionsFrom(const NetworkConfig& network,
                               const DataShape& data) {
  const SnganConfig& config = network.sngan();
  return {.plan = PlanOf(config, data.image.height),
          .image = data.image,
          .num_classes = ConditionalClasses(data),
          .upsample = config.upsampling() == SnganConfig::BILINEAR
                          ? &UpsampleBilinear
                          : &Upsample,
          .style = {.norm_eps = config.batch_norm_eps()},
          .thin = config.thin(),
          .mean_pool = config.pool() == SnganConfig::MEAN,
          .block = {.norm = NormFrom(config.norm()),
                    .batch_norm_eps = config.batch_norm_eps(),
                    .spectral_norm_eps = config.spectral_norm_eps(),
                    .rectified_shortcut =
                        config.shortcut() == SnganConfig::RECTIFIED},
          .head = {.kind = DiscriminatorHead::Kind::kProjection,
                   .logit_bias = config.logit_bias()}};
}

}  // namespace

NetworkFamily SnganFamily() {
  return MakeFamily<ResnetGenerator, ResnetDiscriminator>(
      {.name = "sngan", .init = WeightInit::kOrthogonal}, &SnganOptionsFrom);
}

}  // namespace gandem
