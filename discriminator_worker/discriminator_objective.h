// SPDX-License-Identifier: Apache-2.0
//
// The loss of a discriminator step, one micro-batch after the other: first all
// real ones, then all generated ones, or, where RealImagesFirst
// (common/config/fused_feedback.h) leaves the choice, the other way round. The
// caller runs backward on each share; the gradients add up to those of the
// step's loss.
//
//   objective.BeginStep(step, real_NCHW, ranges);
//   for each real micro-batch:       objective.Real(...).root -> backward
//   for each generated micro-batch:  objective.Generated(...).root -> backward
//   objective.EndStep();
//
// A step with penalties.lazy_update SEPARATE has a second update, of the shares
// that SecondShare gives after the first.
//
// Images are augmented first; losses and penalties are those of what the
// discriminator sees. Its state advances by one training pass per micro-batch;
// passes of penalties are frozen ones and change nothing.
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
  // Results of one micro-batch.
  struct Share {
    // This share's part of the step's loss. It is undefined while the share
    // waits for the generated images (relativistic losses,
    // lecam_moves_first); their share then has both parts.
    at::Tensor loss;
    // Tensor at which the share's backward pass begins: the loss, or another
    // sum that gives both the gradients of the parameters and those that the
    // generated images need (training/objective/fused.h).
    at::Tensor root;
    at::Tensor logit_sum;  // over its images
    // The same pass, for feedback on generated images that need a gradient; the
    // images are augmented once. Empty if they need no gradient.
    TrainingPass pass = {};
  };

  // `batch_size` images of either kind are in a step, spread over the ranks of
  // `fleet`; null: all of them are here. What looks at the whole batch (DRAGAN,
  // LeCam) asks them in BeginStep and EndStep.
  DiscriminatorObjective(ObjectiveOptions options,
                         std::shared_ptr<Discriminator> network,
                         int64_t batch_size,
                         std::shared_ptr<FleetGather> fleet = nullptr);

  // `real_NCHW`: all real images of the step that this rank has, which are
  // those in `ranges` of it, one range after the other.
  void BeginStep(int64_t step, const at::Tensor& real_NCHW,
                 const std::vector<IndexRange>& ranges);
  // Images [first_index, first_index + N) of the step. The real and the
  // generated micro-batch of one first index have the same size.
  // What `given` says of their place is replaced by that of the pass.
  Share Real(const at::Tensor& images_NCHW, const Condition& given,
             int64_t first_index);
  Share Generated(const at::Tensor& images_NCHW, const Condition& given,
                  int64_t first_index);
  void EndStep();

  // Number of shares of the loss of the step's second update; 0: there is no
  // second update.
  size_t num_second_shares() const { return penalized_.size(); }
  at::Tensor SecondShare(size_t share) const;

  // Returns the tensors that a checkpoint has to keep; empty for most
  // objectives.
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
  // A training pass, with the weight of a penalty on its images' gradients.
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
  // Does the share of real images wait for the generated ones?
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
  const bool weighs_images_;  // in gradients of parameters: our own layers do
  const int64_t batch_size_;
  const std::shared_ptr<FleetGather> fleet_;
  LecamAnchors lecam_;
  const std::unique_ptr<AdaController> ada_;

  int64_t step_ = 0;
  // Factors of the lazy penalties in this step's first and second update.
  double gradient_factor_ = 0;
  double second_factor_ = 0;
  double real_deviation_ = 0;
  DeviceSum real_logit_sum_;
  DeviceSum generated_logit_sum_;
  std::map<int64_t, Waiting> waiting_;  // by first index
  std::vector<Penalized> penalized_;
};

}  // namespace gandem
