// SPDX-License-Identifier: Apache-2.0
//
// Hand-written profiles, machines, configs and placements for tests of the
// planner. Times are multiples of 2^-20 s, so that sums of them are exact.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"

namespace gandem::testing {

// A unit of time that a double represents exactly, about a microsecond.
inline constexpr double kTick = 1.0 / (1 << 20);

class ProfileBuilder {
 public:
  using Operation = OperationTime::Operation;

  ProfileBuilder() {
    for (const auto& [operation, ticks] :
         std::map<Operation, double>{{OperationTime::MAKE_IMAGES, 1000},
                                     {OperationTime::FORWARD, 1000},
                                     {OperationTime::JUDGE, 2000},
                                     {OperationTime::BACKWARD, 2000},
                                     {OperationTime::REAL, 3000},
                                     {OperationTime::GENERATED, 3000},
                                     {OperationTime::ANSWER, 2000}}) {
      per_image_[operation] = ticks * kTick;
    }
    fused_seconds_ = 4000 * kTick;
    Transfer(TransferProfile::EXCHANGE_SOCKET, 0, 1e15);
    Transfer(TransferProfile::COLLECTIVE_MEMORY, 0, 1e15);
    profile_.mutable_generator_state()->set_parameter_bytes(4 << 20);
    profile_.mutable_discriminator_state()->set_parameter_bytes(4 << 20);
  }

  ProfileBuilder& PerImage(Operation operation, double seconds) {
    per_image_[operation] = seconds;
    return *this;
  }
  // Sets the time of an operation that does not depend on the number of images.
  ProfileBuilder& Fixed(Operation operation, double seconds) {
    fixed_[operation] = seconds;
    return *this;
  }
  // Multiplies the times of a role's operations by `factor`.
  ProfileBuilder& Scale(Role role, double factor) {
    for (auto& [operation, seconds] : per_image_) {
      if (IsOf(operation, role)) seconds *= factor;
    }
    if (role == DISCRIMINATOR) fused_seconds_ *= factor;
    return *this;
  }
  // Sets the time of the operation GENERATED in FUSED mode.
  ProfileBuilder& Fused(double seconds) {
    fused_seconds_ = seconds;
    return *this;
  }
  // Makes all operations take `factor` times as long beside the other role.
  ProfileBuilder& Beside(double factor) {
    beside_ = factor;
    return *this;
  }
  // Sets the thread counts, by which all times are divided.
  ProfileBuilder& Threads(std::vector<int> threads) {
    threads_ = std::move(threads);
    return *this;
  }
  ProfileBuilder& Transfer(TransferProfile::Kind kind, double latency,
                           double bytes_per_second,
                           double compute_per_byte = 0) {
    TransferProfile* found = nullptr;
    for (TransferProfile& transfer : *profile_.mutable_transfers()) {
      if (transfer.kind() == kind) found = &transfer;
    }
    if (found == nullptr) found = profile_.add_transfers();
    found->set_kind(kind);
    found->set_latency_seconds(latency);
    found->set_bytes_per_second(bytes_per_second);
    found->set_compute_seconds_per_byte(compute_per_byte);
    return *this;
  }
  // Sets the peak memory of a role's worker.
  ProfileBuilder& Memory(Role role, int64_t resting, int64_t per_image) {
    memory_[role] = {resting, per_image};
    return *this;
  }
  Profile& profile() { return profile_; }

  Profile Build() const {
    Profile profile = profile_;
    for (const int threads : threads_) {
      for (const bool beside : {false, true}) {
        if (beside && beside_ == 1) continue;
        for (const int64_t images : {16, 64}) {
          for (const Role role : {GENERATOR, DISCRIMINATOR}) {
            for (const auto feedback :
                 {ScheduleConfig::IMAGE_GRADIENT, ScheduleConfig::FUSED}) {
              AddProbe(role, threads, images, beside, feedback, profile);
            }
          }
        }
      }
    }
    return profile;
  }

 private:
  static bool IsOf(Operation operation, Role role) {
    switch (operation) {
      case OperationTime::MAKE_IMAGES:
      case OperationTime::FORWARD:
      case OperationTime::JUDGE:
      case OperationTime::BACKWARD:
      case OperationTime::LOAD_CRITIC:
        return role == GENERATOR;
      case OperationTime::REAL:
      case OperationTime::GENERATED:
      case OperationTime::ANSWER:
      case OperationTime::CAPTURE_CRITIC:
        return role == DISCRIMINATOR;
      default:
        return true;
    }
  }

  void AddProbe(Role role, int threads, int64_t images, bool beside,
                ScheduleConfig::FeedbackMode feedback, Profile& profile) const {
    Probe& probe = *profile.add_probes();
    ProbeSettings& settings = *probe.mutable_settings();
    settings.set_role(role);
    settings.set_batch_size(images);
    settings.set_threads(threads);
    settings.set_feedback(feedback);
    settings.set_beside_other_role(beside);
    probe.set_outcome(Probe::MEASURED);
    const double factor = (beside ? beside_ : 1) / threads;
    const auto add = [&](Operation operation, double seconds) {
      OperationTime& time = *probe.add_operations();
      time.set_operation(operation);
      time.set_median_seconds(seconds * factor);
    };
    for (const auto& [operation, seconds] : per_image_) {
      if (!IsOf(operation, role)) continue;
      const bool is_fused = operation == OperationTime::GENERATED &&
                            feedback == ScheduleConfig::FUSED;
      add(operation,
          (is_fused ? fused_seconds_ : seconds) * static_cast<double>(images));
    }
    for (const auto& [operation, seconds] : fixed_) {
      if (IsOf(operation, role)) add(operation, seconds);
    }
    if (!fixed_.contains(OperationTime::UPDATE)) add(OperationTime::UPDATE, 0);
    const auto memory = memory_.find(role);
    const auto [resting, per_image] =
        memory == memory_.end() ? std::pair<int64_t, int64_t>(1 << 28, 1 << 20)
                                : memory->second;
    probe.set_resting_bytes(resting);
    probe.set_peak_bytes(resting + per_image * images);
  }

  Profile profile_;
  std::map<Operation, double> per_image_;
  std::map<Operation, double> fixed_;
  std::map<Role, std::pair<int64_t, int64_t>> memory_;
  double fused_seconds_ = 0;
  double beside_ = 1;
  std::vector<int> threads_ = {1};
};

template <typename Predicate>
void EraseProbes(Profile& profile, Predicate predicate) {
  auto& probes = *profile.mutable_probes();
  probes.erase(std::remove_if(probes.begin(), probes.end(), predicate),
               probes.end());
}

// Keeps only the recipe's batch for FUSED and for two threads.
inline void LeaveOneSize(Profile& profile) {
  EraseProbes(profile, [](const Probe& probe) {
    const ProbeSettings& settings = probe.settings();
    return settings.batch_size() == 16 &&
           (settings.threads() == 2 ||
            settings.feedback() == ScheduleConfig::FUSED);
  });
}

// Returns the config of a run with batch 64 and `sets` ("path.to.field=value").
inline RunConfig PlannedConfig(const std::vector<std::string>& sets = {}) {
  constexpr char kText[] = R"(
    rounds: 800
    data { image_size: 32 channels: 1 }
    generator { network { mlp { hidden: 8 } } batch_size: 64 }
    discriminator { network { mlp { hidden: 8 } } batch_size: 64 }
  )";
  const auto config = ParseRunConfig(kText, "test", sets);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : RunConfig();
}

// Returns hosts "a", "b", ... with `cores` cores each.
inline Machines HostsOf(int hosts, int cores) {
  Machines machines;
  for (int i = 0; i < hosts; ++i) {
    Host& host = *machines.add_hosts();
    host.set_name(std::string(1, static_cast<char>('a' + i)));
    host.set_cores(cores);
  }
  return machines;
}

// Places workers: "G a" is a generator on host a, "D b" a discriminator on host
// b, "C a" a colocated worker, and "G a 2" a generator with two threads. Ranks
// are counted up within a role.
inline Placement PlacementOf(const std::vector<std::string>& workers) {
  Placement placement;
  std::map<char, int> ranks;
  for (const std::string& text : workers) {
    PlacedWorker& worker = *placement.add_workers();
    worker.set_role(text[0] == 'G'   ? GENERATOR
                    : text[0] == 'D' ? DISCRIMINATOR
                                     : COLOCATED);
    worker.set_rank(ranks[text[0]]++);
    worker.set_host(text.substr(2, 1));
    worker.set_threads(text.size() > 4 ? text[4] - '0' : 1);
  }
  return placement;
}

}  // namespace gandem::testing
