// SPDX-License-Identifier: Apache-2.0
#include "tests/training/runs/pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/delayed_exchange.h"
#include "tests/testing/in_process_fleet.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/run_roles.h"
#include "worker/exchange_ends.h"

namespace gandem::testing {
namespace {

class MemorySink : public CheckpointSink {
 public:
  absl::Status AwaitRoom(const std::string&) override {
    return absl::OkStatus();
  }
  absl::Status Save(int64_t completed_rounds, std::string file,
                    std::shared_ptr<TensorSnapshot> share,
                    TensorChecksums) override {
    absl::MutexLock lock(&mu_);
    auto& tensors = states_[completed_rounds][file];
    for (NamedTensor tensor : share->tensors()) {
      tensor.bytes = SharedBytes::Copy(tensor.bytes.span());
      tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }
  SavedStates Release() {
    absl::MutexLock lock(&mu_);
    return std::move(states_);
  }

 private:
  absl::Mutex mu_;
  SavedStates states_ ABSL_GUARDED_BY(mu_);
};

absl::Status RunColocated(const RunPlan& plan, const RoleSetup& setup) {
  GANDEM_ASSIGN_OR_RETURN(
      const auto ends,
      ExchangeEnds::Create(COLOCATED, ExchangeAt(plan, setup.place), {}));
  GANDEM_ASSIGN_OR_RETURN(const auto generator,
                          MakeGeneratorRole(plan, setup, ends->generator()));
  GANDEM_ASSIGN_OR_RETURN(
      const auto discriminator,
      DiscriminatorRoles()(plan, setup, ends->discriminator()));
  TrainingRole* const roles[] = {generator.get(), discriminator.get()};
  return RunRoles(roles, {});
}

// A run with a compute thread per worker and gRPC between the roles.
class DecoupledRun {
 public:
  DecoupledRun(const RunPlan& plan, const RoleSetup& setup,
               const PairOptions& options)
      : plan_(plan),
        setup_(setup),
        options_(options),
        discriminators_(plan.discriminator.workers),
        generators_(plan.generator.workers) {}

  absl::Status Run() {
    GANDEM_RETURN_IF_ERROR(Connect());
    {
      std::vector<Thread> threads;
      for (auto* const workers : {&generators_, &discriminators_}) {
        for (const Worker& worker : *workers) {
          threads.emplace_back("role", [this, &worker] {
            const absl::Status result = RunWorker(worker);
            if (!result.ok()) CloseAll(result);
          });
        }
      }
    }
    // Reports the first failure, not those caused by it.
    absl::MutexLock lock(&mu_);
    return first_failure_;
  }

 private:
  struct Worker {
    int rank = 0;
    std::unique_ptr<ExchangeEnds> ends;
    // The worker's end of the exchange with delays; only its role's member is
    // set.
    std::unique_ptr<GeneratorExchange> generator;
    std::unique_ptr<DiscriminatorExchange> discriminator;
    std::unique_ptr<Collective> fleet;
  };

  DelayOptions Delays(uint64_t seed) const {
    return options_.delay_seed == 0
               ? DelayOptions{.max_refusals = 0}
               : DelayOptions{.seed = options_.delay_seed + seed,
                              .max_wait = absl::Milliseconds(3)};
  }

  // Starts the workers of one role, without their exchange with the other role.
  absl::Status Start(Role role, std::vector<Worker>& workers) const {
    std::vector<std::unique_ptr<Collective>> fleet(1);
    // The only worker of a role has no fleet, as in WorkerEpoch.
    if (workers.size() > 1) {
      FleetOptions options = {.seed = options_.delay_seed + 1};
      if (options_.delay_seed != 0) options.max_delay = absl::Microseconds(300);
      fleet = MakeInProcessFleet(static_cast<int>(workers.size()), options);
    }
    for (size_t rank = 0; rank < workers.size(); ++rank) {
      EpochPlace place = setup_.place;
      place.rank = workers[rank].rank = static_cast<int>(rank);
      workers[rank].fleet = std::move(fleet[rank]);
      GANDEM_ASSIGN_OR_RETURN(
          workers[rank].ends,
          ExchangeEnds::Create(role, ExchangeAt(plan_, place), {}));
    }
    return absl::OkStatus();
  }

  absl::Status Connect() {
    GANDEM_RETURN_IF_ERROR(Start(DISCRIMINATOR, discriminators_));
    GANDEM_RETURN_IF_ERROR(Start(GENERATOR, generators_));
    std::vector<std::string> addresses;
    for (Worker& worker : discriminators_) {
      addresses.push_back(worker.ends->address());
      worker.discriminator = DelayDiscriminator(worker.ends->discriminator(),
                                                Delays(2 * worker.rank));
    }
    for (Worker& worker : generators_) {
      GANDEM_RETURN_IF_ERROR(
          worker.ends->Connect(addresses, absl::InfinitePast()));
      worker.generator =
          DelayGenerator(worker.ends->generator(), Delays(2 * worker.rank + 1));
    }
    return absl::OkStatus();
  }

  absl::Status RunWorker(const Worker& worker) const {
    RoleSetup setup = setup_;
    setup.place.rank = worker.rank;
    setup.fleet = worker.fleet.get();
    GANDEM_ASSIGN_OR_RETURN(
        const std::unique_ptr<TrainingRole> role,
        worker.generator != nullptr
            ? MakeGeneratorRole(plan_, setup, worker.generator.get())
            : DiscriminatorRoles()(plan_, setup, worker.discriminator.get()));
    TrainingRole* const roles[] = {role.get()};
    return RunRoles(roles, {.poll = options_.poll});
  }

  void CloseAll(const absl::Status& reason) {
    {
      absl::MutexLock lock(&mu_);
      if (!first_failure_.ok()) return;
      first_failure_ = reason;
    }
    for (auto* const workers : {&generators_, &discriminators_}) {
      for (const Worker& worker : *workers) {
        worker.ends->Close(reason);
        if (worker.fleet) worker.fleet->Close(reason);
      }
    }
  }

  const RunPlan& plan_;
  const RoleSetup& setup_;
  const PairOptions& options_;
  std::vector<Worker> discriminators_;
  std::vector<Worker> generators_;  // destroyed first
  absl::Mutex mu_;
  absl::Status first_failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<SavedStates> RunPair(const RunConfig& config,
                                    const PairOptions& options) {
  MemorySink sink;
  RoundGate gate(options.first_round, config.rounds());
  if (options.cut >= 0) gate.SetCut(options.cut);
  const RunPlan plan = MakeRunPlan(EffectiveRunConfig::OfValid(config));
  const RoleSetup setup{.place = {.first_round = options.first_round,
                                  .saved_rounds = options.first_round},
                        .resume_from = options.resume_from,
                        .generator_choice = options.generator_choice,
                        .discriminator_choice = options.discriminator_choice,
                        .services = {.gate = &gate,
                                     .checkpoints = &sink,
                                     .saves_whole_state = !options.saves_shares,
                                     .report = options.report}};
  GANDEM_RETURN_IF_ERROR(options.decoupled
                             ? DecoupledRun(plan, setup, options).Run()
                             : RunColocated(plan, setup));
  return sink.Release();
}

void WriteStates(const std::map<std::string, std::vector<NamedTensor>>& states,
                 const std::string& folder) {
  CheckpointManifest manifest;
  for (const auto& [file, tensors] : states) {
    GANDEM_CHECK_OK(
        WriteSafetensors(folder + "/" + file, tensors, {}).status());
    manifest.add_files()->set_name(file);
  }
  GANDEM_CHECK_OK(
      WriteFile(folder + "/" + kManifestName, manifest.DebugString()));
}

RunConfig SmallConfig(const std::string& family, const std::string& folder) {
  const bool classes = family == "mlp_classes";
  const bool mlp = classes || family == "mlp";
  const bool pairs = family == "pix2pix";
  const bool styles = family == "stylegan2";
  const int size = mlp ? 8 : styles ? 16 : pairs ? 64 : 32;
  constexpr int kImages = 40;
  constexpr int kClasses = 3;
  std::vector<uint8_t> pixels(kImages * size * size);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = (i * i / 7 + i) % 251;
  const uint32_t side = size;
  RunConfig config;
  config.set_rounds(6);
  config.mutable_data()->set_idx_images(
      WritePlain(folder + "/images", IdxBytes({kImages, side, side}, pixels)));
  config.mutable_data()->set_idx_labels("");
  if (classes) {
    std::vector<uint8_t> labels(kImages);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = i % kClasses;
    config.mutable_data()->set_idx_labels(
        WritePlain(folder + "/labels", IdxBytes({kImages}, labels)));
    config.mutable_data()->set_num_classes(kClasses);
  }
  if (pairs) {
    std::vector<uint8_t> inputs(pixels.size());
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = pixels[i] / 2;
    config.mutable_data()->set_idx_inputs(WritePlain(
        folder + "/inputs", IdxBytes({kImages, side, side}, inputs)));
  }
  config.mutable_data()->set_image_size(size);
  config.mutable_checkpoint()->set_every_rounds(1);
  config.mutable_samples()->set_every_rounds(0);
  config.mutable_ema()->set_decay(0.9);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_batch_size(6);
    role->mutable_optimizer()->mutable_adam()->set_learning_rate(1e-3);
    NetworkConfig& network = *role->mutable_network();
    if (mlp) {
      network.mutable_mlp()->add_hidden(12);
      network.mutable_mlp()->set_noise_dim(5);
    } else if (pairs) {
      network.mutable_pix2pix()->set_width(2);
    } else if (styles) {
      Stylegan2Config& stylegan2 = *network.mutable_stylegan2();
      stylegan2.set_channel_base(64);
      stylegan2.set_max_channels(8);
      stylegan2.set_noise_dim(5);
      stylegan2.set_style_dim(6);
      stylegan2.set_mapping_layers(2);
      config.mutable_penalties()->set_path_length(2);
      config.mutable_penalties()->set_path_length_every_steps(2);
    } else if (family == "dcgan") {
      network.mutable_dcgan()->set_width(8);
      network.mutable_dcgan()->set_noise_dim(5);
    } else {
      network.mutable_sndcgan()->set_width(4);
      network.mutable_sndcgan()->set_noise_dim(5);
    }
  }
  return config;
}

void ExpectSame(const std::map<std::string, std::vector<NamedTensor>>& a,
                const std::map<std::string, std::vector<NamedTensor>>& b,
                const std::string& what) {
  ASSERT_GE(a.size(), 2u) << what;  // one file per worker
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto& [file, tensors] : a) {
    ASSERT_TRUE(b.contains(file)) << file << ", " << what;
    EXPECT_THAT(Differences(tensors, b.at(file)), ::testing::IsEmpty())
        << file << ", " << what;
  }
}

void ExpectSame(const SavedStates& a, const SavedStates& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [rounds, files] : a) {
    ASSERT_TRUE(b.contains(rounds)) << rounds;
    ExpectSame(files, b.at(rounds), absl::StrCat("after ", rounds, " rounds"));
  }
}

std::vector<std::string> Differences(const std::vector<NamedTensor>& a,
                                     const std::vector<NamedTensor>& b) {
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : a) by_name[tensor.name] = &tensor;
  std::vector<std::string> differences;
  for (const NamedTensor& tensor : b) {
    const auto found = by_name.find(tensor.name);
    const bool same =
        found != by_name.end() &&
        found->second->bytes.size() == tensor.bytes.size() &&
        std::memcmp(found->second->bytes.data(), tensor.bytes.data(),
                    tensor.bytes.size()) == 0;
    if (!same) differences.push_back(tensor.name);
    if (found != by_name.end()) by_name.erase(found);
  }
  for (const auto& [name, tensor] : by_name) differences.push_back(name);
  return differences;
}

}  // namespace gandem::testing
