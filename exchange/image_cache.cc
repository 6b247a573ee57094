// SPDX-License-Identifier: Apache-2.0
#include "exchange/image_cache.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace gandem {
namespace {

int64_t SizeOf(const ImageBatch& batch) {
  return static_cast<int64_t>(batch.pixels.size());
}

}  // namespace

bool ImageCache::HasRoom(const ImageBatch& batch) const {
  if (batch.round < usable_from_) return true;  // dropped by Add
  if (unused_images_ + batch.count <= options_.max_images &&
      unused_bytes_ + SizeOf(batch) <= options_.max_bytes) {
    return true;
  }
  if (wants_any_) return true;
  return wanted_.has_value() && wanted_->first == batch.round &&
         batch.first_index < wanted_->second.end() &&
         batch.range().end() > wanted_->second.first;
}

void ImageCache::Add(const ImageBatch& batch) {
  if (batch.round < usable_from_) {
    stats_.dropped += batch.count;
    return;
  }
  MakeRoom(batch);
  const bool is_new =
      pieces_.emplace(Key{batch.round, batch.first_index}, Piece{batch, 0})
          .second;
  GANDEM_CHECK(is_new);
  unused_images_ += batch.count;
  unused_bytes_ += SizeOf(batch);
  stats_.images += batch.count;
  stats_.bytes += SizeOf(batch);
}

void ImageCache::MakeRoom(const ImageBatch& batch) {
  const auto fits = [&] {
    return stats_.images + batch.count <= options_.max_images &&
           stats_.bytes + SizeOf(batch) <= options_.max_bytes;
  };
  for (auto it = pieces_.begin(); it != pieces_.end() && !fits();) {
    it = it->second.uses > 0 ? Remove(it) : std::next(it);
  }
}

ImageCache::Pieces::iterator ImageCache::Remove(Pieces::iterator piece) {
  const ImageBatch& batch = piece->second.batch;
  stats_.images -= batch.count;
  stats_.bytes -= SizeOf(batch);
  if (piece->second.uses == 0) {
    unused_images_ -= batch.count;
    unused_bytes_ -= SizeOf(batch);
  }
  return pieces_.erase(piece);
}

ImageCache::Pieces::iterator ImageCache::Split(Pieces::iterator piece,
                                               int64_t count) {
  const ImageBatch whole = piece->second.batch;
  const int64_t middle = whole.first_index + count;
  piece->second.batch = whole.Cut({.first = whole.first_index, .count = count});
  pieces_.emplace(
      Key{whole.round, middle},
      Piece{whole.Cut({.first = middle, .count = whole.count - count}),
            piece->second.uses});
  return piece;
}

absl::StatusOr<std::vector<ImageBatch>> ImageCache::Take(int64_t round,
                                                         int64_t first,
                                                         int64_t count) {
  if (Key{round, first} < next_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "images of round ", round, " from ", first, " on come before round ",
        next_.first, ", image ", next_.second, ", which is next"));
  }
  const int64_t end = first + count;
  auto begin = pieces_.lower_bound({round, first});
  if (begin != pieces_.begin()) {
    const ImageBatch& before = std::prev(begin)->second.batch;
    if (before.round == round && before.range().end() > first) --begin;
  }
  int64_t reached = first;
  for (auto it = begin; it != pieces_.end() && reached < end; ++it) {
    const ImageBatch& batch = it->second.batch;
    if (batch.round != round || batch.first_index > reached) break;
    reached = batch.range().end();
  }
  if (reached < end) {
    wanted_ = {round, {.first = first, .count = count}};
    first_missing_ = reached;
    return std::vector<ImageBatch>();
  }
  if (begin->second.batch.first_index < first) {
    begin = std::next(Split(begin, first - begin->second.batch.first_index));
  }
  std::vector<ImageBatch> taken;
  for (auto it = begin; it != pieces_.end() && it->first < Key{round, end};) {
    const ImageBatch& batch = it->second.batch;
    if (batch.range().end() > end) Split(it, end - batch.first_index);
    taken.push_back(it->second.batch);
    it = Remove(it);
  }
  wanted_.reset();
  next_ = {round, end};
  return taken;
}

void ImageCache::Use(int64_t uses, int64_t count,
                     std::vector<ImageBatch>& out) {
  int64_t used = 0;
  for (auto it = pieces_.begin(); it != pieces_.end() && used < count;) {
    if (it->second.uses != uses) {
      ++it;
      continue;
    }
    if (it->second.batch.count > count - used) Split(it, count - used);
    Piece& piece = it->second;
    out.push_back(piece.batch);
    used += piece.batch.count;
    if (uses == 0) {
      unused_images_ -= piece.batch.count;
      unused_bytes_ -= SizeOf(piece.batch);
    } else {
      stats_.replayed += piece.batch.count;
    }
    ++piece.uses;
    it = piece.uses < options_.max_samples_per_image ? std::next(it)
                                                     : Remove(it);
  }
}

std::vector<ImageBatch> ImageCache::TakeNext(int64_t round, int64_t count) {
  DropBefore(round - options_.max_age + 1);
  // Images without uses left were removed, so all remaining images are usable.
  wants_any_ = stats_.images < count;
  std::vector<ImageBatch> taken;
  if (wants_any_) return taken;
  std::map<int64_t, int64_t> images_by_uses;
  for (const auto& [key, piece] : pieces_) {
    images_by_uses[piece.uses] += piece.batch.count;
  }
  for (auto& [uses, images] : images_by_uses) {
    images = std::min(images, count);
    count -= images;
  }
  // Starts with the most used images: a use moves an image into the next class,
  // and no image may appear twice in a batch.
  for (auto it = images_by_uses.rbegin(); it != images_by_uses.rend(); ++it) {
    std::vector<ImageBatch> part;
    Use(it->first, it->second, part);
    taken.insert(taken.begin(), part.begin(), part.end());
  }
  return taken;
}

void ImageCache::DropBefore(int64_t round) {
  usable_from_ = std::max(usable_from_, round);
  while (!pieces_.empty() && pieces_.begin()->first.first < round) {
    if (pieces_.begin()->second.uses == 0) {
      stats_.dropped += pieces_.begin()->second.batch.count;
    }
    Remove(pieces_.begin());
  }
}

}  // namespace gandem
