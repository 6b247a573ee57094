// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/sample_board.h"

#include <algorithm>

#include "common/check.h"

namespace gandem {
namespace {

// Bytes of in-memory samples finished per call: taking samples one by one would
// cost as much as finishing them.
constexpr int64_t kRunBytes = 256 << 10;
// Decay of the maximum sample size: half in 177 samples.
constexpr int64_t kForget = 256;

}  // namespace

SampleBoard::OpenBatch& SampleBoard::Open(int64_t position) {
  const auto index = static_cast<size_t>(BatchOf(position) - BatchOf(taken_));
  while (open_.size() <= index) {
    OpenBatch& open = open_.emplace_back();
    open.batch.labels.resize(static_cast<size_t>(sizes_.batch_samples));
    open.finished.resize(static_cast<size_t>(sizes_.batch_samples));
  }
  return open_[index];
}

void SampleBoard::Set(const PipelineSetting& setting) {
  setting_ = setting;
  setting_.fetches = std::max(setting_.fetches, 1);
  setting_.ahead = std::max(setting_.ahead, sizes_.batch_samples);
  setting_.finished_ahead =
      std::clamp(setting_.finished_ahead, sizes_.batch_samples, setting_.ahead);
}

int64_t SampleBoard::used_bytes() const {
  return std::max<int64_t>(0, room_until_ - taken_) * sample_bytes() +
         stored_bytes_ + fetching_ * usual_bytes_.value_or(0);
}

bool SampleBoard::HasRoom(int64_t position, int64_t stored_bytes) const {
  if (IsOfNextBatch(position)) return true;
  const int64_t finished = std::max<int64_t>(
      0, std::min(position + 1, taken_ + setting_.finished_ahead) -
             std::max(room_until_, taken_));
  return used_bytes() + stored_bytes + finished * sample_bytes() <=
         sizes_.memory_bytes;
}

bool SampleBoard::CanFetch() const {
  if (in_memory_ || fetching() >= setting_.fetches) return false;
  // The sample size is unknown until the first one is fetched.
  if (!usual_bytes_.has_value() && fetching() > 0) return false;
  if (failed_.has_value() || next_ >= taken_ + setting_.ahead) return false;
  return HasRoom(next_, usual_bytes_.value_or(0));
}

int64_t SampleBoard::BeginFetch() {
  GANDEM_CHECK(CanFetch());
  ++fetching_;
  if (next_ < taken_ + setting_.finished_ahead) TakeRoom(next_);
  return next_++;
}

void SampleBoard::EndFetch(int64_t position, absl::StatusOr<KeptSample> stored,
                           absl::Time now) {
  --fetching_;
  if (!stored.ok()) return Fail(position, std::move(stored).status());
  const int64_t bytes = stored->bytes();
  if (!usual_bytes_.has_value()) {
    in_memory_ = bytes == 0;
    usual_bytes_ = bytes;
  }
  usual_bytes_ = std::max(bytes, *usual_bytes_ - *usual_bytes_ / kForget);
  if (failed_.has_value() && position > failed_->first) return;
  OpenBatch& open = Open(position);
  if (++open.num_fetched == sizes_.batch_samples) open.fetched_at = now;
  stored_bytes_ += bytes;
  fetched_.emplace(position, *std::move(stored));
}

void SampleBoard::TakeRoom(int64_t position) {
  room_until_ = std::max(room_until_, position + 1);
}

bool SampleBoard::CanFinish() const {
  const int64_t end = taken_ + setting_.finished_ahead;
  if (!fetched_.empty()) {
    const int64_t lowest = fetched_.begin()->first;
    // The sample may have reserved its memory under an earlier setting.
    return lowest < room_until_ || (lowest < end && HasRoom(lowest, 0));
  }
  return in_memory_ && !failed_.has_value() && next_ < end && HasRoom(next_, 0);
}

int64_t SampleBoard::RunLength() const {
  const int64_t to_end = sizes_.batch_samples - next_ % sizes_.batch_samples;
  const int64_t ahead = taken_ + setting_.finished_ahead - next_;
  const int64_t run = std::clamp<int64_t>(kRunBytes / sample_bytes(), 1, 256);
  if (IsOfNextBatch(next_)) {
    return std::min({run, to_end, ahead});
  }
  const int64_t room = (sizes_.memory_bytes - used_bytes()) / sample_bytes();
  return std::min({run, to_end, ahead, room});
}

float* SampleBoard::PixelsOf(int64_t position, OpenBatch& open) {
  if (open.batch.pixels == nullptr) {
    open.batch.pixels = buffers_.Take();
  }
  return open.batch.pixels.get() +
         position % sizes_.batch_samples * sizes_.sample_values;
}

SampleBoard::Work SampleBoard::BeginFinish() {
  GANDEM_CHECK(CanFinish());
  Work work;
  if (fetched_.empty()) {
    work.first = next_;
    work.count = RunLength();
    next_ += work.count;
  } else {
    const auto lowest = fetched_.begin();
    work.first = lowest->first;
    work.stored = std::move(lowest->second);
    fetched_.erase(lowest);
  }
  TakeRoom(work.first + work.count - 1);
  OpenBatch& open = Open(work.first);
  float* const pixels = PixelsOf(work.first, open);
  work.pixels = std::shared_ptr<float>(open.batch.pixels, pixels);
  return work;
}

void SampleBoard::EndFinish(const Work& work,
                            const std::vector<int64_t>& labels) {
  if (work.stored.has_value()) stored_bytes_ -= work.stored->bytes();
  OpenBatch& open = Open(work.first);
  int64_t at = work.first % sizes_.batch_samples;
  for (const int64_t label : labels) {
    open.batch.labels[static_cast<size_t>(at)] = label;
    open.finished[static_cast<size_t>(at)] = true;
    ++open.num_finished;
    ++at;
  }
}

void SampleBoard::Fail(int64_t position, absl::Status why) {
  if (failed_.has_value() && failed_->first <= position) return;
  failed_ = {position, std::move(why)};
  const auto useless = fetched_.upper_bound(position);
  for (auto sample = useless; sample != fetched_.end(); ++sample) {
    stored_bytes_ -= sample->second.bytes();
  }
  fetched_.erase(useless, fetched_.end());
}

bool SampleBoard::CanTake() const {
  if (open_.empty()) {
    return failed_.has_value() && failed_->first == taken_;
  }
  const OpenBatch& open = open_.front();
  if (open.num_finished == sizes_.batch_samples) return true;
  if (!failed_.has_value() || BatchOf(failed_->first) != BatchOf(taken_)) {
    return false;
  }
  // A sample at a lower position may still fail.
  return std::all_of(open.finished.begin(),
                     open.finished.begin() + (failed_->first - taken_),
                     [](bool finished) { return finished; });
}

absl::StatusOr<SampleBoard::Batch> SampleBoard::Take() {
  GANDEM_CHECK(CanTake());
  if (failed_.has_value() && BatchOf(failed_->first) == BatchOf(taken_)) {
    return failed_->second;
  }
  Batch batch = std::move(open_.front().batch);
  open_.pop_front();
  taken_ += sizes_.batch_samples;
  return batch;
}

absl::Time SampleBoard::FetchedAt(absl::Time begin, absl::Time end) const {
  if (in_memory_) return begin;
  const absl::Time fetched =
      open_.empty() ? absl::InfiniteFuture() : open_.front().fetched_at;
  return std::clamp(fetched, begin, end);
}

}  // namespace gandem
