// SPDX-License-Identifier: Apache-2.0
#include "exchange/feedback_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gandem {

void FeedbackBook::AddRequest(int rank, const ImageBatch& images) {
  requests_.push_back({.rank = rank, .images = images});
}

bool FeedbackBook::HasRequest(int64_t last_round) const {
  return std::ranges::any_of(requests_, [&](const Request& request) {
    return request.images.round <= last_round;
  });
}

std::optional<ImageBatch> FeedbackBook::NextRequest(int64_t last_round) {
  const auto it = std::ranges::find_if(requests_, [&](const Request& request) {
    return request.images.round <= last_round;
  });
  if (it == requests_.end()) return std::nullopt;
  ImageBatch images = std::move(it->images);
  given_[{images.round, images.first_index}] = {.rank = it->rank,
                                                .count = images.count};
  requests_.erase(it);
  return images;
}

absl::Status FeedbackBook::Answer(FeedbackBatch answer) {
  const auto it = given_.find({answer.round, answer.first_index});
  if (it == given_.end() || it->second.count != answer.count) {
    return absl::FailedPreconditionError(
        absl::StrCat("no open request for feedback on round ", answer.round,
                     ", first ", answer.first_index, ", count ", answer.count));
  }
  answers_[it->second.rank].push_back(
      {.number = ++last_number_, .answer = std::move(answer)});
  given_.erase(it);
  return absl::OkStatus();
}

std::optional<FeedbackBook::Numbered> FeedbackBook::NextAnswer(
    int rank, int64_t after) const {
  for (const Numbered& numbered : answers_[rank]) {
    if (numbered.number > after) return numbered;
  }
  return std::nullopt;
}

void FeedbackBook::Acknowledge(int rank, int64_t round, int64_t first_index) {
  std::vector<Numbered>& answers = answers_[rank];
  std::erase_if(answers, [&](const Numbered& numbered) {
    return numbered.answer.round == round &&
           numbered.answer.first_index == first_index;
  });
}

}  // namespace gandem
