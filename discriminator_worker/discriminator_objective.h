// SPDX-License-Identifier: Apache-2.0
//
// Loss of a discriminator step by micro-batches: first all real ones, then all
// generated ones, or the reverse if RealImagesFirst
// (common/config/fused_feedback.h) permits. The caller runs backward on each
// share; the gradients add up to those of the step's loss.
//
//   objective.BeginStep(step, real_NCHW, ranges);
//   for each real micro-batch:       objective.Real(...).root -> backward
//   for each generated micro-batch:  objective.Generated(...).root -> backward
//   objective.EndStep();
//
// With lazy_update SEPARATE, a second update uses the shares of SecondShare.
//
// Images are augmented before losses and penalties. The discriminator's state
// advances by one training pass per micro-batch; passes of penalties are
// frozen.
//
// Owner: the discriminator role. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exchange/schedule.h"
#include "models/fleet_gather.h"
#include "models/network.h"
#include "training/objective/augment.h"
#include "training/objective/fused.h"
#include "training/objective/objective.h"
#include "training/objective/penalties.h"
#include "training/state/device_sum.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class DiscriminatorObjective {
 public:
  struct Share {
    // This share's part of the step's loss. Undefined if the share of the
    // generated images has both parts (relativistic losses, lecam_moves_first).
    at::Tensor loss;
    // Start of the share's backward pass: the loss, or a sum that also gives
    // the gradients of the generated images (training/objective/fused.h).
    at::Tensor root;
    at::Tensor logit_sum;  // over the share's images
    // Training pass for feedback on generated images that need a gradient;
    // otherwise empty. The images are augmented once.
    TrainingPass pass = {};
  };

  // A step has `batch_size` images of either kind, spread over `fleet` (null:
  // one rank), which DRAGAN and LeCam use in BeginStep and EndStep.
  DiscriminatorObjective(ObjectiveOptions options,
                         std::shared_ptr<Discriminator> network,
                         int64_t batch_size,
                         std::shared_ptr<FleetGather> fleet = nullptr);

  // `real_NCHW`: this rank's real images, at `ranges` of the step's batch.
  void BeginStep(int64_t step, const at::Tensor& real_NCHW,
                 const std::vector<IndexRange>& ranges);
  // Images [first_index, first_index + N) of the step. Real and generated
  // micro-batches of one first index must have equal sizes. The place in
  // `given` is replaced by that of the pass.
  Share Real(const at::Tensor& images_NCHW, const Condition& given,
             int64_t first_index);
  Share Generated(const at::Tensor& images_NCHW, const Condition& given,
                  int64_t first_index);
  void EndStep();

  // Number of shares of the step's second update; 0: no second update.
  size_t num_second_shares() const { return penalized_.size(); }
  at::Tensor SecondShare(size_t share) const;

  // Returns the tensors for a checkpoint; empty for most objectives.
  TensorsByName State() const;
  // Null without ADA.
  const AdaController* ada() const { return ada_.get(); }

 private:
  // A real micro-batch that waits for its generated one.
  struct Waiting {
    at::Tensor images_NCHW;  // augmented
    Condition condition;
    // Set while the share waits: its logits with their graph, and its penalty.
    Logits logits;
    at::Tensor loss;
  };

  // A real micro-batch of the second update.
  struct Penalized {
    at::Tensor images_NCHW;  // augmented
    Condition condition;
  };

  DrawKey Key(Purpose purpose, int64_t first_index) const;
  at::Tensor Augmented(const at::Tensor& images_NCHW, const DrawKey& key,
                       double gradient_weight) const;
  // `gradient_weight`: weight of a penalty on the image gradients.
  Verdict Judge(const at::Tensor& images_NCHW, const Condition& condition,
                double gradient_weight) const;
  at::Tensor Mean(const at::Tensor& penalties) const {
    return BatchMean(penalties, batch_size_);
  }
  double lecam_weight() const {
    return lecam_.Active(step_) ? options_.penalties.lecam : 0;
  }
  bool MovesLecamFirst() const {
    return options_.penalties.lecam_moves_first && lecam_.Active(step_);
  }
  // Returns whether shares of real images wait for generated ones.
  bool RealWaits() const {
    return IsRelativistic(options_.loss) || MovesLecamFirst();
  }
  // Moves the anchors of LeCam toward the mean logits of all ranks.
  void UpdateLecam();
  at::Tensor RealPenalties(const at::Tensor& images_NCHW,
                           const Condition& condition, const Verdict& verdict,
                           int64_t first_index);
  at::Tensor GeneratedPenalties(const at::Tensor& images_NCHW,
                                const Condition& condition,
                                const Verdict& verdict, int64_t first_index);
  at::Tensor UnitNormPenaltyAt(const at::Tensor& images_NCHW,
                               const Condition& condition) const;
  at::Tensor Consistency(const at::Tensor& images_NCHW,
                         const Condition& condition, const Verdict& verdict,
                         const DrawKey& key) const;

  const ObjectiveOptions options_;
  const std::shared_ptr<Discriminator> network_;
  const bool weighs_images_;  // in parameter gradients; only built-in layers do
  const int64_t batch_size_;
  const std::shared_ptr<FleetGather> fleet_;
  LecamAnchors lecam_;
  const std::unique_ptr<AdaController> ada_;

  int64_t step_ = 0;
  // Factors of the lazy penalties in both updates of this step.
  double gradient_factor_ = 0;
  double second_factor_ = 0;
  double real_deviation_ = 0;
  DeviceSum real_logit_sum_;
  DeviceSum generated_logit_sum_;
  std::map<int64_t, Waiting> waiting_;  // by first index
  std::vector<Penalized> penalized_;
};

}  // namespace gandem
