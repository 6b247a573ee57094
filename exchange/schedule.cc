// SPDX-License-Identifier: Apache-2.0
#include "exchange/schedule.h"

namespace gandem {

IndexRange RankSlice(int64_t total, int rank, int size) {
  const int64_t share = total / size;
  const int64_t larger = total % size;
  return {.first = rank * share + std::min<int64_t>(rank, larger),
          .count = share + (rank < larger ? 1 : 0)};
}

std::vector<IndexRange> RankSlices(int64_t total, int64_t batches, int rank,
                                   int size) {
  const int64_t batch = total / batches;
  std::vector<IndexRange> slices(batches, RankSlice(batch, rank, size));
  for (int64_t i = 0; i < batches; ++i) slices[i].first += i * batch;
  return slices;
}

int64_t PlaceInSlices(const std::vector<IndexRange>& slices, int64_t index) {
  int64_t before = 0;
  for (const IndexRange& slice : slices) {
    if (index >= slice.first && index < slice.end()) {
      return before + index - slice.first;
    }
    before += slice.count;
  }
  return before;
}

int64_t RankImages(int64_t total, int64_t batches, int rank, int size) {
  return batches * RankSlice(total / batches, rank, size).count;
}

std::vector<IndexRange> MicroBatches(IndexRange range, int64_t micro_batch) {
  if (micro_batch <= 0) micro_batch = std::max<int64_t>(1, range.count);
  std::vector<IndexRange> pieces;
  for (int64_t first = range.first; first < range.end(); first += micro_batch) {
    pieces.push_back(
        {.first = first, .count = std::min(micro_batch, range.end() - first)});
  }
  return pieces;
}

namespace {

// Splits `range` where another of `size` ranks begins. Each rank owns its slice
// of every `period` indices.
std::vector<RankedRange> SplitByOwner(IndexRange range, int64_t period,
                                      int size) {
  std::vector<RankedRange> parts;
  int64_t first = range.first;
  while (first < range.end()) {
    const int64_t begin = first / period * period;
    int rank = 0;
    IndexRange slice = RankSlice(period, rank, size);
    while (begin + slice.end() <= first)
      slice = RankSlice(period, ++rank, size);
    const int64_t end = std::min(range.end(), begin + slice.end());
    parts.push_back(
        {.rank = rank, .range = {.first = first, .count = end - first}});
    first = end;
  }
  return parts;
}

// Returns the number of indices after which the assignment to ranks repeats.
int64_t GeneratorPeriod(const Schedule& schedule) {
  return schedule.generator_batch / schedule.generator_batches;
}

int64_t DiscriminatorPeriod(const Schedule& schedule) {
  return schedule.discriminator_batch / schedule.discriminator_batches;
}

int64_t JudgedPeriod(const Schedule& schedule) {
  return schedule.image_source == ImageSource::kReused
             ? DiscriminatorPeriod(schedule)
             : GeneratorPeriod(schedule);
}

std::vector<IndexRange> Pieces(const std::vector<IndexRange>& slices,
                               int64_t micro_batch) {
  std::vector<IndexRange> pieces;
  for (const IndexRange& slice : slices) {
    for (const IndexRange& piece : MicroBatches(slice, micro_batch)) {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

// Returns the pieces of discriminator step `step` in a round's TRAIN space.
std::vector<IndexRange> TrainPieces(const Schedule& schedule, int64_t step,
                                    int64_t micro_batch, int rank, int size) {
  std::vector<IndexRange> slices = RankSlices(
      schedule.discriminator_batch, schedule.discriminator_batches, rank, size);
  for (IndexRange& slice : slices) {
    slice.first += step * schedule.discriminator_batch;
  }
  return Pieces(slices, micro_batch);
}

}  // namespace

std::vector<RankedRange> SplitByTrainer(const Schedule& schedule,
                                        IndexRange range, int size) {
  return SplitByOwner(range, DiscriminatorPeriod(schedule), size);
}

std::vector<RankedRange> SplitByJudge(const Schedule& schedule,
                                      IndexRange range, int size) {
  return SplitByOwner(range, JudgedPeriod(schedule), size);
}

int MakerOf(const Schedule& schedule, int64_t index, int size) {
  const int64_t period = schedule.image_source == ImageSource::kFresh
                             ? DiscriminatorPeriod(schedule)
                             : GeneratorPeriod(schedule);
  return SplitByOwner({.first = index, .count = 1}, period, size).front().rank;
}

int64_t ImagesJudgedBy(const Schedule& schedule, int rank, int size) {
  const int64_t period = JudgedPeriod(schedule);
  return schedule.generator_batch / period *
         RankSlice(period, rank, size).count;
}

std::vector<IndexRange> GeneratorPieces(const Schedule& schedule, int rank,
                                        int size) {
  return Pieces(RankSlices(schedule.generator_batch, schedule.generator_batches,
                           rank, size),
                schedule.generator_micro_batch);
}

std::vector<GeneratorOp> GeneratorRound(const Schedule& schedule, int64_t round,
                                        int rank, int size) {
  using Kind = GeneratorOp::Kind;
  std::vector<GeneratorOp> ops;
  if (schedule.image_source == ImageSource::kFresh) {
    // The later forward pass of the step advances theta's buffers.
    for (int64_t step = 0; step < schedule.discriminator_steps_per_round;
         ++step) {
      for (const IndexRange& range : TrainPieces(
               schedule, step, schedule.generator_micro_batch, rank, size)) {
        ops.push_back(
            {.kind = Kind::kMakeImages, .step = step, .range = range});
        ops.push_back(
            {.kind = Kind::kSendImages, .step = step, .range = range});
      }
    }
  }
  const std::vector<IndexRange> pieces = GeneratorPieces(schedule, rank, size);
  // The other order, feedback before the last image, deadlocks at lag 0.
  for (const IndexRange& range : pieces) {
    ops.push_back({.kind = Kind::kForward, .range = range});
    if (schedule.SendsStepImages()) {
      ops.push_back({.kind = Kind::kSendForward, .range = range});
    }
  }
  if (!schedule.AnswersImages()) {
    ops.push_back({.kind = Kind::kTakeCritic,
                   .critic_version = schedule.CriticVersion(round)});
  }
  for (const IndexRange& range : pieces) {
    if (schedule.AnswersImages()) {
      ops.push_back(
          {.kind = Kind::kTakeFeedback,
           .range = range,
           .critic_version = schedule.CriticVersion(round, range.first)});
    }
    ops.push_back({.kind = Kind::kBackward, .range = range});
  }
  ops.push_back({.kind = Kind::kUpdate});
  return ops;
}

std::vector<DiscriminatorOp> DiscriminatorRound(const Schedule& schedule,
                                                int rank, int size) {
  using Kind = DiscriminatorOp::Kind;
  const bool take_first = !schedule.IsExact();
  std::vector<DiscriminatorOp> ops;
  for (int64_t step = 0; step < schedule.discriminator_steps_per_round;
       ++step) {
    const std::vector<IndexRange> generated = TrainPieces(
        schedule, step, schedule.discriminator_micro_batch, rank, size);
    const auto take = [&](const IndexRange& range) {
      ops.push_back({.kind = Kind::kTake, .step = step, .range = range});
    };
    const auto train_on_real = [&] {
      for (IndexRange range : generated) {
        range.first -= step * schedule.discriminator_batch;
        ops.push_back({.kind = Kind::kReal, .step = step, .range = range});
      }
    };
    if (take_first) std::ranges::for_each(generated, take);
    // Real images first give a waiting discriminator work; real images last let
    // a waiting generator continue early.
    if (schedule.real_first) train_on_real();
    for (const IndexRange& range : generated) {
      if (!take_first) take(range);
      ops.push_back({.kind = Kind::kGenerated, .step = step, .range = range});
    }
    if (!schedule.real_first) train_on_real();
    ops.push_back({.kind = Kind::kUpdate, .step = step});
  }
  return ops;
}

}  // namespace gandem
