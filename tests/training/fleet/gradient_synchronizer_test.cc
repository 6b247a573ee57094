// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/gradient_synchronizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/check.h"
#include "common/control/majority.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "models/torch.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/recording_collective.h"
#include "tests/testing/status_matchers.h"
#include "training/fleet/state_average.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/gradients.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::IsOk;
using gandem::testing::RecordingCollective;
using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using GradientSynchronizerFleet = std::vector<std::unique_ptr<Collective>>;
using Mode = GradientSynchronizer::Mode;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kManyBuckets = 100;  // bytes: some tensors are sent alone

// Two layers, a running statistic, and optionally a parameter without effect on
// the loss.
class Network : public torch::nn::Module {
 public:
  explicit Network(at::ScalarType type, bool has_spare = false) {
    const auto values = [&](at::IntArrayRef shape) {
      int64_t count = 1;
      for (const int64_t side : shape) count *= side;
      return (torch::arange(count, type) * 0.37 + 0.1).sin().view(shape);
    };
    first_ = register_parameter("first", values({5, 4}));
    if (has_spare) spare_ = register_parameter("spare", values({3}));
    second_ = register_parameter("second", values({5, 2}) * 0.5);
    bias_ = register_parameter("bias", values({2}));
    seen_ = register_buffer("seen", torch::zeros({4}, type));
    count_ = register_buffer("count", torch::zeros({}, at::kLong));
  }

  at::Tensor forward(const at::Tensor& images) {
    {
      const torch::NoGradGuard no_grad;
      seen_.mul_(0.9).add_(images.mean(0), 0.1);
      count_.add_(1);
    }
    return images.matmul(first_.t()).tanh().matmul(second_) + bias_;
  }
  at::Tensor spare() const { return spare_; }

 private:
  at::Tensor first_, spare_, second_, bias_, seen_, count_;
};

std::unique_ptr<Optimizer> NewOptimizer(const torch::nn::Module& network,
                                        bool sgd = false) {
  OptimizerConfig config;
  if (sgd) {
    config.mutable_sgd()->set_learning_rate(0.05);
  } else {
    config.mutable_adam()->set_learning_rate(0.01);
  }
  return MakeOptimizer(config, ParametersOf(network), {});
}

at::Tensor GradientSynchronizerImages(int64_t step, IndexRange range,
                                      at::ScalarType type) {
  const at::Tensor all =
      (torch::arange(64 * 4, type) * 0.71 + static_cast<double>(step))
          .cos()
          .view({64, 4});
  return all.narrow(0, range.first, range.count);
}

// Returns the contribution of `count` images to the mean loss of the batch.
at::Tensor GradientSynchronizerLoss(Network& network, const at::Tensor& images,
                                    int64_t batch) {
  return network.forward(images).square().sum() / static_cast<double>(batch);
}

struct Rank {
  Rank(const FleetCollectives& with,
       const GradientSynchronizer::Options& options,
       at::ScalarType type = at::kDouble, bool has_spare = false,
       bool sgd = false)
      : collective(with.tensors),
        network(type, has_spare),
        optimizer(NewOptimizer(network, sgd)),
        synchronizer(options,
                     {.parameters = ParametersOf(network),
                      .buffers = BuffersOf(network),
                      .optimizer = optimizer->State()},
                     with) {}

  IndexRange Slice(int64_t batch) const {
    return RankSlice(batch, collective->rank(), collective->size());
  }

  void Backward(const at::Tensor& loss, bool is_last) {
    if (is_last) synchronizer.ExpectLastBackward();
    (scaler ? scaler->Scale(loss) : loss).backward();
  }

  // Runs a step of `batch` images of all ranks, in micro-batches.
  absl::Status Step(int64_t step, int64_t batch, int64_t micro_batch,
                    double clip = std::numeric_limits<double>::infinity()) {
    optimizer->ZeroGradients();
    const auto pieces = MicroBatches(Slice(batch), micro_batch);
    for (const IndexRange& piece : pieces) {
      Backward(
          GradientSynchronizerLoss(
              network, GradientSynchronizerImages(step, piece, type()), batch),
          piece == pieces.back());
    }
    return End(step, clip);
  }

  absl::Status End(int64_t step,
                   double clip = std::numeric_limits<double>::infinity()) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    GANDEM_RETURN_IF_ERROR(synchronizer.Reduce(deadline));
    GANDEM_ASSIGN_OR_RETURN(
        norm, UpdateNetwork(network, clip, *optimizer, scaler.get()));
    return synchronizer.AfterUpdate(step + 1, deadline);
  }

  at::ScalarType type() const { return network.parameters()[0].scalar_type(); }
  at::Tensor parameter(const std::string& name) const {
    return network.named_parameters()[name];
  }

  Collective* const collective;
  Network network;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<GradientScaler> scaler;
  GradientSynchronizer synchronizer;
  double norm = 0;
};

// Runs every rank on its own thread.
std::vector<absl::Status> OnAll(std::deque<Rank>& ranks,
                                const std::function<absl::Status(Rank&)>& act) {
  std::vector<absl::Status> results(ranks.size());
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (size_t i = 0; i < ranks.size(); ++i) {
      threads.push_back(std::make_unique<Thread>("rank", [&, i] {
        results[i] = act(ranks[i]);
        if (!results[i].ok()) ranks[i].collective->Close(results[i]);
      }));
    }
  }
  return results;
}

void ExpectAllOk(const std::vector<absl::Status>& results) {
  for (const absl::Status& result : results) EXPECT_THAT(result, IsOk());
}

void ExpectSame(const torch::nn::Module& a, const torch::nn::Module& b) {
  const TensorsByName of_a = StateOf(a);
  const TensorsByName of_b = StateOf(b);
  for (size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_TRUE(at::equal(of_a[i].second, of_b[i].second)) << of_a[i].first;
  }
}

// Returns the relative L2 distance of the worst parameter.
double Distance(const torch::nn::Module& a, const torch::nn::Module& b) {
  double worst = 0;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    const at::Tensor of_a = a.parameters()[i].detach();
    const at::Tensor of_b = b.parameters()[i].detach();
    worst =
        std::max(worst, ((of_a - of_b).norm() / of_b.norm()).item<double>());
  }
  return worst;
}

struct TestFleet {
  TestFleet(int size, const GradientSynchronizer::Options& options,
            at::ScalarType type = at::kDouble, bool has_spare = false,
            bool sgd = false, int64_t batch = 0)
      : collectives(gandem::testing::MakeInProcessFleet(
            size, {.max_delay = absl::Microseconds(200)})) {
    for (const auto& collective : collectives) {
      GradientSynchronizer::Options own = options;
      if (batch > 0) {
        own.share = static_cast<double>(
                        RankSlice(batch, collective->rank(), size).count) /
                    static_cast<double>(batch);
      }
      ranks.emplace_back(collective.get(), own, type, has_spare, sgd);
    }
  }

  GradientSynchronizerFleet collectives;
  std::deque<Rank> ranks;
};

class Sizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Fleets, Sizes, ::testing::Values(1, 2, 3, 4));

// A small sum adds in ascending rank order, like one rank that computes the
// slices one after the other.
TEST_P(Sizes, SlicesEqualTheWholeBatchToTheBit) {
  constexpr int64_t kBatch = 11;
  TestFleet fleet(GetParam(), {.bucket_bytes = kManyBuckets,
                               .divergence_check_interval = 2});
  TestFleet alone(1, {});
  for (int64_t step = 0; step < 6; ++step) {
    ExpectAllOk(OnAll(fleet.ranks, [&](Rank& rank) {
      return rank.Step(step, kBatch, /*micro_batch=*/0, /*clip=*/0.3);
    }));
    Rank& one = alone.ranks.front();
    one.optimizer->ZeroGradients();
    for (Rank& rank : fleet.ranks) {
      one.Backward(
          GradientSynchronizerLoss(
              one.network,
              GradientSynchronizerImages(step, rank.Slice(kBatch), at::kDouble),
              kBatch),
          &rank == &fleet.ranks.back());
    }
    ASSERT_OK(one.End(step, /*clip=*/0.3));
    ASSERT_GT(one.norm, 0.3);  // clipped
    for (Rank& rank : fleet.ranks) {
      EXPECT_EQ(rank.norm, one.norm);
      EXPECT_EQ(Distance(rank.network, one.network), 0);
      ExpectSame(rank.network, fleet.ranks.front().network);
    }
  }
}

TEST_P(Sizes, MicroBatchesEqualTheWholeBatch) {
  constexpr int64_t kBatch = 13;
  TestFleet fleet(GetParam(), {.bucket_bytes = kManyBuckets});
  TestFleet alone(1, {});
  for (int64_t step = 0; step < 10; ++step) {
    ExpectAllOk(OnAll(fleet.ranks, [&](Rank& rank) {
      return rank.Step(step, kBatch, /*micro_batch=*/2, /*clip=*/0.3);
    }));
    ASSERT_OK(alone.ranks.front().Step(step, kBatch, 0, 0.3));
  }
  for (Rank& rank : fleet.ranks) {
    EXPECT_LT(Distance(rank.network, alone.ranks.front().network), 1e-12);
    ExpectSame(rank.network, fleet.ranks.front().network);
  }
}

TEST(GradientSynchronizerTest, BuffersAreCopiedFromRankZero) {
  TestFleet fleet(3, {});
  ExpectAllOk(
      OnAll(fleet.ranks, [](Rank& rank) { return rank.Step(0, 7, 0); }));
  Network first(at::kDouble);
  (void)first.forward(
      GradientSynchronizerImages(0, RankSlice(7, 0, 3), at::kDouble));
  for (Rank& rank : fleet.ranks) {
    for (const auto& buffer : rank.network.named_buffers()) {
      EXPECT_TRUE(
          at::equal(buffer.value(), first.named_buffers()[buffer.key()]))
          << buffer.key();
    }
  }
}

// The ranks have slices of 3, 2 and 2 images.
TEST(GradientSynchronizerTest, MeansCoverTheImagesOfAllRanks) {
  constexpr int64_t kBatch = 7;
  constexpr int kRanks = 3;
  const GradientSynchronizerFleet fleet =
      gandem::testing::MakeInProcessFleet(kRanks, {});
  std::deque<torch::nn::Module> networks(kRanks);
  std::vector<std::unique_ptr<Thread>> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.push_back(std::make_unique<Thread>("rank", [&, rank] {
      const IndexRange slice = RankSlice(kBatch, rank, kRanks);
      torch::nn::Module& network = networks[rank];
      const at::Tensor weight =
          network.register_parameter("weight", torch::ones({2}, at::kDouble));
      network.register_buffer(
          "w_avg", GradientSynchronizerImages(0, slice, at::kDouble).mean(0));
      GradientSynchronizer synchronizer(
          {.share = static_cast<double>(slice.count) / kBatch},
          {.parameters = ParametersOf(network), .buffers = BuffersOf(network)},
          fleet[rank].get());
      synchronizer.ExpectLastBackward();
      weight.sum().backward();
      EXPECT_OK(synchronizer.Reduce(absl::Now() + absl::Seconds(60)));
    }));
  }
  threads.clear();
  const at::Tensor expected =
      GradientSynchronizerImages(0, {0, kBatch}, at::kDouble).mean(0);
  for (torch::nn::Module& network : networks) {
    EXPECT_TRUE(at::allclose(network.buffers()[0], expected, 1e-12, 1e-12));
    ExpectSame(network, networks.front());
  }
}

TEST(GradientSynchronizerTest, BucketsAreSentInTheLastBackwardPassOnly) {
  const GradientSynchronizerFleet fleet =
      gandem::testing::MakeInProcessFleet(2, {});
  RecordingCollective recording(fleet[0].get());
  std::deque<Rank> ranks;
  const GradientSynchronizer::Options options = {.bucket_bytes = kManyBuckets};
  ranks.emplace_back(&recording, options);
  ranks.emplace_back(fleet[1].get(), options);
  ExpectAllOk(OnAll(ranks, [&](Rank& rank) {
    for (const bool is_last : {false, true}) {
      const at::Tensor loss = GradientSynchronizerLoss(
          rank.network, GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3);
      if (rank.collective == &recording) {
        EXPECT_EQ(recording.sums().size(), 0u);
      }
      rank.Backward(loss, is_last);
    }
    // First bias and second together, 12 values of 8 bytes; then first, with 3
    // parameter flags and 2 flags of each rank.
    if (rank.collective == &recording) {
      EXPECT_EQ(recording.sums(), (std::vector<size_t>{96, (20 + 3 + 4) * 8}));
    }
    return rank.End(0);
  }));
  EXPECT_EQ(recording.sums().size(), 2u);
}

// A rank whose last micro-batch does not use a parameter submits the same
// operations as the others.
TEST(GradientSynchronizerTest, AParameterMayBeUsedByOneRankOnly) {
  TestFleet fleet(3, {.bucket_bytes = kManyBuckets}, at::kDouble,
                  /*has_spare=*/true);
  ExpectAllOk(OnAll(fleet.ranks, [](Rank& rank) {
    at::Tensor loss = GradientSynchronizerLoss(
        rank.network, GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3);
    if (rank.collective->rank() == 1) {
      rank.Backward(rank.network.spare().sum() * 2, /*is_last=*/false);
    }
    rank.Backward(loss, /*is_last=*/true);
    return rank.synchronizer.Reduce(absl::Now() + absl::Seconds(60));
  }));
  for (Rank& rank : fleet.ranks) {
    EXPECT_TRUE(at::equal(rank.network.spare().grad(),
                          torch::full({3}, 2, at::kDouble)));
  }
}

TEST(GradientSynchronizerTest, AParameterThatNoRankUsesIsNamed) {
  TestFleet fleet(2, {}, at::kDouble, /*has_spare=*/true);
  for (const absl::Status& result :
       OnAll(fleet.ranks, [](Rank& rank) { return rank.Step(0, 6, 0); })) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("on any rank: spare;")));
  }
}

absl::Status StepWithNan(Rank& rank) {
  at::Tensor loss = GradientSynchronizerLoss(
      rank.network, GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3);
  if (rank.collective->rank() == 1) {
    loss = loss + rank.parameter("second").sum() * kNan;
  }
  rank.Backward(loss, /*is_last=*/true);
  return rank.End(0);
}

TEST(GradientSynchronizerTest, NanOnOneRankFailsAllAndIsNamed) {
  TestFleet fleet(3, {.bucket_bytes = kManyBuckets});
  for (const absl::Status& result : OnAll(fleet.ranks, StepWithNan)) {
    EXPECT_THAT(result,
                StatusIs(absl::StatusCode::kOutOfRange,
                         AllOf(HasSubstr("second"), HasSubstr("on rank 1"))));
  }
}

// The largest FLOAT16 number is 65504.
TEST(GradientSynchronizerTest, AGradientTooLargeForTheWireTypeIsNotNan) {
  TestFleet fleet(2, {.wire = at::kHalf}, at::kFloat);
  const auto step = [](Rank& rank) {
    const double factor = rank.collective->rank() == 1 ? 1e6 : 1;
    const at::Tensor images =
        GradientSynchronizerImages(0, rank.Slice(6), at::kFloat);
    rank.Backward(GradientSynchronizerLoss(rank.network, images, 6) * factor,
                  /*is_last=*/true);
    return rank.synchronizer.Reduce(absl::Now() + absl::Seconds(60));
  };
  for (const absl::Status& result : OnAll(fleet.ranks, step)) {
    EXPECT_THAT(result,
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("one of them, is too large for sync.wire")));
  }
}

TEST(GradientSynchronizerTest, NanOnOneRankMakesTheScalerSkipTheUpdateOnAll) {
  TestFleet fleet(3, {.bucket_bytes = kManyBuckets,
                      .divergence_check_interval = 1,
                      .may_be_infinite = true});
  for (Rank& rank : fleet.ranks) {
    rank.scaler = std::make_unique<GradientScaler>(
        GradientScaler::Options{.initial_scale = 16});
  }
  ExpectAllOk(OnAll(fleet.ranks, StepWithNan));
  const Network untouched(at::kDouble);
  for (Rank& rank : fleet.ranks) {
    EXPECT_EQ(rank.scaler->scale(), 8);
    EXPECT_EQ(rank.scaler->skipped(), 1);
    EXPECT_EQ(Distance(rank.network, untouched), 0);
  }
  ExpectAllOk(
      OnAll(fleet.ranks, [](Rank& rank) { return rank.Step(1, 6, 0); }));
  for (Rank& rank : fleet.ranks) {
    EXPECT_EQ(rank.scaler->skipped(), 1);
    EXPECT_GT(Distance(rank.network, untouched), 0);
  }
}

TEST(GradientSynchronizerTest, APassedDeadlineIsNotAFailure) {
  TestFleet fleet(2, {});
  Rank& early = fleet.ranks[0];
  Rank& late = fleet.ranks[1];
  const auto backward = [](Rank& rank) {
    rank.Backward(GradientSynchronizerLoss(
                      rank.network,
                      GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3),
                  true);
  };
  backward(early);
  EXPECT_THAT(early.synchronizer.Reduce(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  const at::Tensor own = early.parameter("bias").grad().clone();
  backward(late);
  ExpectAllOk(OnAll(fleet.ranks, [](Rank& rank) {
    return rank.synchronizer.Reduce(absl::Now() + absl::Seconds(60));
  }));
  EXPECT_TRUE(at::equal(early.parameter("bias").grad(), own + own));
}

TEST(GradientSynchronizerTest, ADestroyedRankLeavesNoBufferInUse) {
  const GradientSynchronizerFleet collectives =
      gandem::testing::MakeInProcessFleet(2, {});
  Rank stays(collectives[0].get(), {});
  {
    Rank leaves(collectives[1].get(), {});
    leaves.Backward(GradientSynchronizerLoss(
                        leaves.network,
                        GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3),
                    true);
  }
  stays.Backward(
      GradientSynchronizerLoss(
          stays.network, GradientSynchronizerImages(0, {0, 3}, at::kDouble), 3),
      true);
  EXPECT_THAT(stays.synchronizer.Reduce(absl::Now() + absl::Seconds(60)),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("rank 1: the step was given up")));
}

TEST(GradientSynchronizerTest, ShortWireTypesRoundEquallyOnAllRanks) {
  for (const auto& [wire, bits] :
       {std::pair(at::kBFloat16, 8), std::pair(at::kHalf, 11)}) {
    TestFleet fleet(2, {.wire = wire}, at::kFloat);
    const auto backward = [](Rank& rank) {
      rank.optimizer->ZeroGradients();
      const IndexRange slice = rank.Slice(6);
      rank.Backward(GradientSynchronizerLoss(
                        rank.network,
                        GradientSynchronizerImages(0, slice, at::kFloat), 6),
                    true);
      return absl::OkStatus();
    };
    Network whole(at::kFloat);
    GradientSynchronizerLoss(
        whole, GradientSynchronizerImages(0, {0, 6}, at::kFloat), 6)
        .backward();
    ExpectAllOk(OnAll(fleet.ranks, [&](Rank& rank) {
      GANDEM_RETURN_IF_ERROR(backward(rank));
      return rank.synchronizer.Reduce(absl::Now() + absl::Seconds(60));
    }));
    for (const auto& parameter : whole.named_parameters()) {
      const at::Tensor exact = parameter.value().grad();
      const at::Tensor own = fleet.ranks[0].parameter(parameter.key()).grad();
      EXPECT_TRUE(
          at::equal(own, fleet.ranks[1].parameter(parameter.key()).grad()));
      const double error = ((own - exact).norm() / exact.norm()).item<double>();
      EXPECT_LT(error, std::ldexp(1.0, 1 - bits));
      EXPECT_GT(error, std::ldexp(1.0, -bits - 6));
    }
  }
}

// NCCL, for example, cannot access host memory.
TEST(GradientSynchronizerTest, TensorsAndChecksumsMayUseDifferentCollectives) {
  for (const Mode mode : {Mode::kAccumulate, Mode::kAverageState}) {
    const GradientSynchronizer::Options options = {
        .mode = mode, .divergence_check_interval = 1, .share = 0.5};
    TestFleet together(2, options);
    const GradientSynchronizerFleet tensors =
        gandem::testing::MakeInProcessFleet(2, {});
    const GradientSynchronizerFleet host =
        gandem::testing::MakeInProcessFleet(2, {});
    std::deque<RecordingCollective> recording;
    std::deque<Rank> apart;
    for (int rank = 0; rank < 2; ++rank) {
      FleetCollectives fleet(&recording.emplace_back(host[rank].get()));
      fleet.tensors = &recording.emplace_back(tensors[rank].get());
      apart.emplace_back(fleet, options);
    }
    for (std::deque<Rank>* ranks : {&together.ranks, &apart}) {
      ExpectAllOk(OnAll(*ranks, [](Rank& rank) { return rank.Step(0, 6, 0); }));
    }
    ExpectSame(apart[1].network, together.ranks[1].network);
    using Kinds = std::set<OperationKind>;
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(recording[2 * rank].kinds(), Kinds{OperationKind::kAllGather});
      EXPECT_EQ(recording[2 * rank + 1].kinds(),
                (Kinds{OperationKind::kAllReduce, OperationKind::kBroadcast}));
    }
  }
}

TEST(GradientSynchronizerTest, RanksWithDifferentStatesAreToldTheDifference) {
  TestFleet fleet(3, {.divergence_check_interval = 2});
  const auto step = [&](int64_t number) {
    return OnAll(fleet.ranks,
                 [&](Rank& rank) { return rank.Step(number, 6, 0); });
  };
  ExpectAllOk(step(0));
  {
    const torch::NoGradGuard no_grad;
    at::Tensor bias = fleet.ranks[2].parameter("bias");
    bias[1].fill_(std::nextafter(bias[1].item<double>(), 1.0));
  }
  std::vector<bool> marked;
  for (const absl::Status& result : step(1)) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss,
                                 HasSubstr("bias of rank 2 is not that of most "
                                           "ranks")));
    marked.push_back(StatesDiffer(result));
  }
  // A rank that learns of the failure from another rank has no marker.
  EXPECT_THAT(marked, ::testing::Contains(true));
}

// Tests of AVERAGE_STATE.

TEST_P(Sizes, AverageAfterEveryStepOfSgdEqualsTheSumOfGradients) {
  constexpr int64_t kBatch = 11;
  TestFleet average(GetParam(), {.mode = Mode::kAverageState}, at::kDouble,
                    false, /*sgd=*/true, kBatch);
  TestFleet accumulate(GetParam(), {}, at::kDouble, false, /*sgd=*/true);
  for (TestFleet* fleet : {&average, &accumulate}) {
    for (int64_t step = 0; step < 10; ++step) {
      ExpectAllOk(OnAll(fleet->ranks, [&](Rank& rank) {
        return rank.Step(step, kBatch, 0);
      }));
    }
  }
  for (Rank& rank : average.ranks) {
    EXPECT_LT(Distance(rank.network, accumulate.ranks.front().network), 1e-12);
    ExpectSame(rank.network, average.ranks.front().network);
  }
}

// A collective whose first `done` operations succeed, then the other rank is
// lost.
class EndingCollective : public Collective {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  absl::Status Wait(Ticket ticket, absl::Time) override {
    return ticket <= done ? absl::OkStatus()
                          : absl::UnavailableError("a rank is lost");
  }
  void Close(absl::Status) override {}
  Ticket done = 0;

 private:
  Ticket Submit(const Operation&) override { return ++last_; }
  Ticket last_ = 0;
};

// After a failed average, BOUNDED continues from the worker's own state.
TEST(GradientSynchronizerTest, AnInterruptedAverageChangesNothing) {
  const at::Tensor first = torch::ones({4}, at::kDouble);
  const at::Tensor second = torch::ones({5}, at::kDouble);
  EndingCollective collective;
  StateAverage average(/*share=*/0.5, {first, second}, {}, /*bucket_bytes=*/1,
                       FleetCollectives(&collective));
  average.Launch();
  collective.done = 1;
  EXPECT_THAT(average.Finish(absl::Now()),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(at::equal(first, torch::ones({4}, at::kDouble)));
  EXPECT_TRUE(at::equal(second, torch::ones({5}, at::kDouble)));
  // If all operations succeed, the average uses their results: here the rank's
  // own values, weighted.
  collective.done = 2;
  EXPECT_OK(average.Finish(absl::Now()));
  EXPECT_TRUE(at::equal(first, torch::full({4}, 0.5, at::kDouble)));
  EXPECT_TRUE(at::equal(second, torch::full({5}, 0.5, at::kDouble)));
}

class AveragedValue : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Values, AveragedValue, ::testing::Values(1e30, kNan));

// 1e30 is in the range of float32, but its square is not.
TEST_P(AveragedValue, NonFiniteValuesFailAllRanksAndAreNamed) {
  TestFleet fleet(2,
                  {.mode = Mode::kAverageState, .bucket_bytes = kManyBuckets},
                  at::kFloat);
  const auto average = [](Rank& rank) {
    if (rank.collective->rank() == 1) {
      const torch::NoGradGuard no_grad;
      rank.parameter("second").fill_(GetParam());
    }
    return rank.synchronizer.AfterUpdate(1, absl::Now() + absl::Seconds(60));
  };
  for (const absl::Status& result : OnAll(fleet.ranks, average)) {
    if (std::isfinite(GetParam())) {
      EXPECT_THAT(result, IsOk());
    } else {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kOutOfRange,
                                   AllOf(HasSubstr("second: the mean"),
                                         HasSubstr("is not finite"))));
    }
  }
}

TEST(GradientSynchronizerTest, AverageAtEverySecondStepIsLocalAdam) {
  constexpr int64_t kBatch = 5;
  TestFleet fleet(2,
                  {.mode = Mode::kAverageState,
                   .interval = 2,
                   .bucket_bytes = kManyBuckets,
                   .divergence_check_interval = 1},
                  at::kDouble, false, false, kBatch);
  TestFleet by_hand(1, {});  // both ranks, one after the other
  by_hand.ranks.emplace_back(by_hand.collectives[0].get(),
                             GradientSynchronizer::Options{});
  for (int64_t step = 0; step < 6; ++step) {
    ExpectAllOk(OnAll(fleet.ranks,
                      [&](Rank& rank) { return rank.Step(step, kBatch, 0); }));
    for (int rank = 0; rank < 2; ++rank) {
      Rank& local = by_hand.ranks[rank];
      const IndexRange slice = RankSlice(kBatch, rank, 2);
      local.optimizer->ZeroGradients();
      GradientSynchronizerLoss(
          local.network, GradientSynchronizerImages(step, slice, at::kDouble),
          slice.count)
          .backward();
      ASSERT_OK(local.optimizer->Step());
    }
    const bool meet = step % 2 == 1;
    if (meet) {
      const torch::NoGradGuard no_grad;
      for (const bool moments : {false, true}) {
        const auto of = [&](int rank) {
          return moments ? by_hand.ranks[rank].optimizer->State()
                         : ParametersOf(by_hand.ranks[rank].network);
        };
        const TensorsByName a = of(0);
        const TensorsByName b = of(1);
        for (size_t i = 0; i < a.size(); ++i) {
          if (!a[i].second.is_floating_point()) continue;
          at::Tensor(a[i].second).copy_(0.6 * a[i].second + 0.4 * b[i].second);
          at::Tensor(b[i].second).copy_(a[i].second);
        }
      }
    }
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_LT(
          Distance(fleet.ranks[rank].network, by_hand.ranks[rank].network),
          1e-12);
    }
    if (meet) {
      ExpectSame(fleet.ranks[0].network, fleet.ranks[1].network);
      EXPECT_GT(fleet.ranks[0].synchronizer.drift(), 1e-6);
      EXPECT_LT(fleet.ranks[0].synchronizer.drift(), 1e-1);
    } else {
      EXPECT_GT(Distance(fleet.ranks[0].network, fleet.ranks[1].network), 0);
    }
  }
}

}  // namespace
}  // namespace gandem
