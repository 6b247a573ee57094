// SPDX-License-Identifier: Apache-2.0
//
// Runs both roles of a small config in this process and returns their saved
// states: colocated, or decoupled on a thread per worker, with gRPC between the
// roles and adversarial delays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/checkpoint/safetensors.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem::testing {

// Saved tensors by completed rounds, then by file name.
using SavedStates =
    std::map<int64_t, std::map<std::string, std::vector<NamedTensor>>>;

struct PairOptions {
  bool decoupled = false;
  // Decoupled: seed of the delays in the exchange; 0: no delays.
  uint64_t delay_seed = 1;
  // Decoupled: longest wait before a role checks for other events.
  absl::Duration poll = absl::Milliseconds(100);
  // Number of completed rounds to start after, from the files in `resume_from`.
  int64_t first_round = 0;
  std::string resume_from = {};
  // Choices that replace AUTO in the config.
  ComputeChoice generator_choice = {};
  ComputeChoice discriminator_choice = {};
  // Round after which the run stops, as at a cut; -1: no stop.
  int64_t cut = -1;
  // True: every rank saves its share of the state, like workers. False: each
  // rank saves the whole state, so that ranks can be compared.
  bool saves_shares = false;
  // Called at the end of each round of a role; if decoupled, on its thread.
  std::function<void(const RoundMetrics&)> report = {};
};

absl::StatusOr<SavedStates> RunPair(const RunConfig& config,
                                    const PairOptions& options);

// Writes states as the files of a checkpoint, with its manifest.
void WriteStates(const std::map<std::string, std::vector<NamedTensor>>& states,
                 const std::string& folder);

// Returns a config of `family` ("mlp", "dcgan", "sndcgan", "stylegan2",
// "mlp_classes" with labels, or "pix2pix") that trains a round in milliseconds,
// on images written to `folder`.
RunConfig SmallConfig(const std::string& family, const std::string& folder);

// Expects the same files with the same bits; `what` is for messages.
void ExpectSame(const std::map<std::string, std::vector<NamedTensor>>& a,
                const std::map<std::string, std::vector<NamedTensor>>& b,
                const std::string& what);
// Expects the same states in the same rounds.
void ExpectSame(const SavedStates& a, const SavedStates& b);

// Returns the names of tensors that differ in a bit or are in one list.
std::vector<std::string> Differences(const std::vector<NamedTensor>& a,
                                     const std::vector<NamedTensor>& b);

}  // namespace gandem::testing
