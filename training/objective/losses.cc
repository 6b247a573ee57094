// SPDX-License-Identifier: Apache-2.0
#include "training/objective/losses.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Computes softplus(x) without at::softplus's cut-off at 20.
at::Tensor Softplus(const at::Tensor& x) { return -at::log_sigmoid(-x); }
at::Tensor SoftplusOfMinus(const at::Tensor& x) { return Softplus(-x); }
at::Tensor MinusSoftplus(const at::Tensor& x) { return at::log_sigmoid(-x); }
at::Tensor Itself(const at::Tensor& x) { return x; }
at::Tensor Minus(const at::Tensor& x) { return -x; }
at::Tensor HalfSquare(const at::Tensor& x) { return 0.5 * x.square(); }
at::Tensor HalfSquareFromOne(const at::Tensor& x) {
  return 0.5 * (x - 1).square();
}
at::Tensor BelowOne(const at::Tensor& x) { return at::relu(1 - x); }
at::Tensor AboveMinusOne(const at::Tensor& x) { return at::relu(1 + x); }

// Relativistic losses push the logits `above` over the logits `below`.
at::Tensor Paired(const at::Tensor& above, const at::Tensor& below) {
  return Softplus(below - above);
}
at::Tensor Average(const at::Tensor& above, const at::Tensor& below) {
  return Softplus(below.mean() - above) + Softplus(below - above.mean());
}

struct Entry {
  using Part = at::Tensor (*)(const at::Tensor& logits);
  using Pair = at::Tensor (*)(const at::Tensor& above, const at::Tensor& below);
  Loss loss;
  // Separable losses.
  Part real = nullptr;
  Part generated = nullptr;
  Part generator = nullptr;
  // Relativistic. Real logits are `above` for the discriminator, else `below`.
  Pair pair = nullptr;
};

// The formulas are in proto/config.proto.
constexpr Entry kLossEntries[] = {
    // Goodfellow et al. 2014, section 3 and equation 1.
    {.loss = NON_SATURATING,
     .real = SoftplusOfMinus,
     .generated = Softplus,
     .generator = SoftplusOfMinus},
    {.loss = SATURATING,
     .real = SoftplusOfMinus,
     .generated = Softplus,
     .generator = MinusSoftplus},
    // Mao et al. 2017, equation 9.
    {.loss = LEAST_SQUARES,
     .real = HalfSquareFromOne,
     .generated = HalfSquare,
     .generator = HalfSquareFromOne},
    // Lim and Ye 2017.
    {.loss = HINGE,
     .real = BelowOne,
     .generated = AboveMinusOne,
     .generator = Minus},
    // Arjovsky et al. 2017.
    {.loss = WASSERSTEIN,
     .real = Minus,
     .generated = Itself,
     .generator = Minus},
    // Jolicoeur-Martineau 2018: RSGAN (RpGAN in R3GAN) and RaSGAN.
    {.loss = RELATIVISTIC_PAIRED, .pair = Paired},
    {.loss = RELATIVISTIC_AVERAGE, .pair = Average},
};

const Entry& EntryOf(Loss loss) {
  const Entry* const entry =
      std::ranges::find(kLossEntries, loss, &Entry::loss);
  GANDEM_CHECK(entry != std::end(kLossEntries));
  return *entry;
}

at::Tensor PartLoss(Entry::Part part, const Logits& logits,
                    int64_t batch_size) {
  GANDEM_CHECK(part != nullptr);
  return logits.MeanOf([&](const at::Tensor& output) {
    return BatchMean(part(output), batch_size);
  });
}

// Returns the derivative of PartLoss at each logit.
at::Tensor Slopes(Entry::Part part, const at::Tensor& logits_N,
                  int64_t batch_size) {
  const torch::AutoGradMode with_graph(true);
  const at::Tensor leaf_N = logits_N.detach().set_requires_grad(true);
  return torch::autograd::grad({PartLoss(part, leaf_N, batch_size)}, {leaf_N})
      .front();
}

at::Tensor PairLoss(Loss loss, const Logits& above, const Logits& below) {
  const Entry::Pair pair = EntryOf(loss).pair;
  GANDEM_CHECK(pair != nullptr);
  return above.MeanOf(below, [&](const at::Tensor& a, const at::Tensor& b) {
    return BatchMean(pair(a, b), a.size(0));
  });
}

}  // namespace

bool IsRelativistic(Loss loss) { return EntryOf(loss).pair != nullptr; }

at::Tensor PerImage(const at::Tensor& values) {
  return values.dim() == 1 ? values : values.flatten(1).mean(1);
}

at::Tensor BatchMean(const at::Tensor& losses, int64_t batch_size) {
  GANDEM_CHECK(batch_size >= losses.size(0));
  return PerImage(losses).sum() / static_cast<double>(batch_size);
}

at::Tensor LogitSum(const Logits& logits) {
  return logits.MeanOf(
      [](const at::Tensor& output) { return PerImage(output).sum(); });
}

at::Tensor RealLoss(Loss loss, const Logits& logits, int64_t batch_size) {
  return PartLoss(EntryOf(loss).real, logits, batch_size);
}

at::Tensor GeneratedLoss(Loss loss, const Logits& logits, int64_t batch_size) {
  return PartLoss(EntryOf(loss).generated, logits, batch_size);
}

at::Tensor GeneratorLoss(Loss loss, const Logits& logits, int64_t batch_size) {
  return PartLoss(EntryOf(loss).generator, logits, batch_size);
}

at::Tensor GeneratorLosses(Loss loss, const Logits& logits,
                           int64_t batch_size) {
  const Entry::Part part = EntryOf(loss).generator;
  GANDEM_CHECK(part != nullptr);
  return logits.MeanOf([&](const at::Tensor& output) {
    return PerImage(part(output)) / static_cast<double>(batch_size);
  });
}

at::Tensor GeneratedSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size) {
  return Slopes(EntryOf(loss).generated, logits_N, batch_size);
}

at::Tensor GeneratorSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size) {
  return Slopes(EntryOf(loss).generator, logits_N, batch_size);
}

// Adds the closed form of the gradient to the critic's, without a graph.
at::Tensor AddPairedL1(const at::Tensor& images_NCHW,
                       const at::Tensor& targets_NCHW, double weight,
                       int64_t batch_size, const at::Tensor& gradient_NCHW) {
  const torch::NoGradGuard no_grad;
  const at::Tensor difference_NCHW = images_NCHW - targets_NCHW;
  const double values =
      static_cast<double>(difference_NCHW.numel() / difference_NCHW.size(0));
  gradient_NCHW.add_(difference_NCHW.sign(),
                     weight / (values * static_cast<double>(batch_size)));
  return BatchMean(difference_NCHW.abs(), batch_size).to(at::kDouble) * weight;
}

at::Tensor DiscriminatorPairLoss(Loss loss, const Logits& real_logits,
                                 const Logits& generated_logits) {
  return PairLoss(loss, real_logits, generated_logits);
}

at::Tensor GeneratorPairLoss(Loss loss, const Logits& real_logits,
                             const Logits& generated_logits) {
  return PairLoss(loss, generated_logits, real_logits);
}

}  // namespace gandem
