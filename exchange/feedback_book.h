// SPDX-License-Identifier: Apache-2.0
//
// Feedback requests and unacknowledged answers, without a lock. Used in
// feedback modes in which the discriminator answers images.
//
// Owner: DiscriminatorEnd, under its mutex.
// Thread safety: one thread. Values; copies share the bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "exchange/exchange.h"

namespace gandem {

class FeedbackBook {
 public:
  // An answer and its position among all answers, from 1.
  struct Numbered {
    int64_t number = 0;
    FeedbackBatch answer;
  };

  explicit FeedbackBook(int num_generators) : answers_(num_generators) {}

  // Adds a request for feedback on `images`. The caller removes repeats.
  void AddRequest(int rank, const ImageBatch& images) {
    requests_.push_back({.rank = rank, .images = images});
  }

  bool HasRequest(int64_t last_round) const {
    return std::ranges::any_of(requests_, [&](const Request& request) {
      return request.images.round <= last_round;
    });
  }
  // Removes and returns the first request to arrive of a round <= last_round.
  std::optional<ImageBatch> NextRequest(int64_t last_round) {
    const auto it =
        std::ranges::find_if(requests_, [&](const Request& request) {
          return request.images.round <= last_round;
        });
    if (it == requests_.end()) return std::nullopt;
    ImageBatch images = std::move(it->images);
    given_[{images.round, images.first_index}] = {.rank = it->rank,
                                                  .count = images.count};
    requests_.erase(it);
    return images;
  }

  //   FAILED_PRECONDITION  NextRequest did not return this range, or it was
  //                        already answered
  absl::Status Answer(FeedbackBatch answer) {
    const auto it = given_.find({answer.round, answer.first_index});
    if (it == given_.end() || it->second.count != answer.count) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no open request for feedback on round ", answer.round, ", first ",
          answer.first_index, ", count ", answer.count));
    }
    answers_[it->second.rank].push_back(
        {.number = ++last_number_, .answer = std::move(answer)});
    given_.erase(it);
    return absl::OkStatus();
  }

  // Returns the oldest unacknowledged answer numbered above `after`.
  std::optional<Numbered> NextAnswer(int rank, int64_t after) const {
    for (const Numbered& numbered : answers_[rank]) {
      if (numbered.number > after) return numbered;
    }
    return std::nullopt;
  }
  // Removes an answer. Ignores repeats.
  void Acknowledge(int rank, int64_t round, int64_t first_index) {
    std::vector<Numbered>& answers = answers_[rank];
    std::erase_if(answers, [&](const Numbered& numbered) {
      return numbered.answer.round == round &&
             numbered.answer.first_index == first_index;
    });
  }

 private:
  using Key = std::pair<int64_t, int64_t>;  // round, first_index
  struct Given {
    int rank = 0;
    int64_t count = 0;
  };
  struct Request {
    int rank = 0;
    ImageBatch images;
  };

  std::vector<Request> requests_;
  std::map<Key, Given> given_;
  int64_t last_number_ = 0;
  std::vector<std::vector<Numbered>> answers_;  // by rank, unacknowledged
};

}  // namespace gandem
