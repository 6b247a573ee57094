// SPDX-License-Identifier: Apache-2.0
//
// Class losses on unit-length embeddings (models.md 4.2) of images (e_i) and of
// classes (proxies), computed on real images for the discriminator and on
// generated images for the generator.
//
// The losses compare all images of a batch. With several workers, a gather of
// embeddings must sum gradients over the ranks (traps.md 9).
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include "proto/config.pb.h"

namespace gandem {

struct Verdict;

struct ClassLossOptions {
  ClassLossConfig::Family family = ClassLossConfig::NONE;
  double weight = 1;
  double temperature = 1;
  double margin = 0.98;         // D2D-CE
  bool shift_negatives = true;  // D2D-CE
};

ClassLossOptions ClassLossFrom(const ClassLossConfig& config);

// Computes 2C (Kang and Park 2020, ContraGAN, equation 8): losses_N. With s_ij
// = e_i . e_j, p_i = e_i . (proxy of y_i), t = temperature:
//   -log((exp(p_i / t) + sum over j != i with y_j = y_i of exp(s_ij / t)) /
//        (exp(p_i / t) + sum over j != i of exp(s_ij / t))).
at::Tensor ContrastiveLosses(const at::Tensor& embeddings_NE,
                             const at::Tensor& proxies_KE,
                             const at::Tensor& labels_N, double temperature);

// Computes D2D-CE (Kang et al. 2021, ReACGAN, equation 6): losses_N. With m =
// margin, a_i = relu((m - p_i) / t), b_ij = relu((s_ij + m - 1) / t):
//   a_i + log(exp(-a_i) + sum over j with y_j != y_i of exp(b_ij)).
// `shift_negatives` subtracts the constant max over k != i of (s_ik + m - 1) /
// t from every b_ij, but not from a_i, as the published program does.
at::Tensor D2dCrossEntropyLosses(const at::Tensor& embeddings_NE,
                                 const at::Tensor& proxies_KE,
                                 const at::Tensor& labels_N, double temperature,
                                 double margin, bool shift_negatives);

// Returns weight * mean of the chosen loss over the batch. Throws c10::Error if
// the network has no embeddings or the images have no labels.
at::Tensor ClassLoss(const ClassLossOptions& options, const Verdict& verdict,
                     const at::Tensor& labels_N);

}  // namespace gandem
