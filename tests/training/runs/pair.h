// SPDX-License-Identifier: Apache-2.0
//
// Runs both roles of a small config in this process and returns the state that
// they save: colocated, or decoupled on a thread for each worker, with gRPC
// between the roles and adversarial delays.
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
  // Decoupled: how long one wait lasts before a role looks around.
  absl::Duration poll = absl::Milliseconds(100);
  // Start after `first_round` rounds, from the files in the folder
  // `resume_from`.
  int64_t first_round = 0;
  std::string resume_from = {};
  // The choices that replace AUTO, if the config has it.
  ComputeChoice generator_choice = {};
  ComputeChoice discriminator_choice = {};
  // The round after which the run stops, as at a cut; -1: no stop.
  int64_t cut = -1;
  // True: every rank saves its share of the state, as workers do. False: each
  // rank saves the whole state, so that the ranks can be compared.
  bool saves_shares = false;
  // Called at the end of each round of a role; decoupled: on its thread.
  std::function<void(const RoundMetrics&)> report = {};
};

absl::StatusOr<SavedStates> RunPair(const RunConfig& config,
                                    const PairOptions& options);

// Writes states as the files of a checkpoint, with its manifest.
void WriteStates(const std::map<std::string, std::vector<NamedTensor>>& states,
                 const std::string& folder);

// A config of `family` ("mlp", "dcgan", "sndcgan", "stylegan2", "mlp_classes":
// told the labels, or "pix2pix") that trains in milliseconds per round, on
// images written into `folder`.
RunConfig SmallConfig(const std::string& family, const std::string& folder);

// Two states of a pair of roles are the same files with the same bits; `what`
// is for messages.
void ExpectSame(const std::map<std::string, std::vector<NamedTensor>>& a,
                const std::map<std::string, std::vector<NamedTensor>>& b,
                const std::string& what);
// The states must be of the same rounds, too.
void ExpectSame(const SavedStates& a, const SavedStates& b);

// Names of the tensors that differ in any bit, or exist in one only.
std::vector<std::string> Differences(const std::vector<NamedTensor>& a,
                                     const std::vector<NamedTensor>& b);

}  // namespace gandem::testing
