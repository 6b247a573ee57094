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
#include "discriminator_worker/make_discriminator_role.h"
#include "exchange/discriminator_end.h"
#include "exchange/fleet_exchange.h"
#include "exchange/in_process_exchange.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "generator_worker/make_generator_role.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/delayed_exchange.h"
#include "tests/testing/in_process_fleet.h"
#include "tests/testing/temp_dir.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/run_roles.h"

namespace gandem::testing {
namespace {

class MemorySink : public CheckpointSink {
 public:
  absl::Status Save(int64_t completed_rounds, std::string file,
                    std::vector<NamedTensor> tensors) override {
    absl::MutexLock lock(&mu_);
    states_[completed_rounds][file] = std::move(tensors);
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
  const ExchangeOptions options = ExchangeAt(plan, setup.place);
  GANDEM_ASSIGN_OR_RETURN(const auto end, DiscriminatorEnd::Create(options));
  GANDEM_ASSIGN_OR_RETURN(const auto generator_end,
                          CreateInProcessGenerator(options, end.get()));
  GANDEM_ASSIGN_OR_RETURN(const auto generator,
                          MakeGeneratorRole(plan, setup, generator_end.get()));
  GANDEM_ASSIGN_OR_RETURN(const auto discriminator,
                          MakeDiscriminatorRole(plan, setup, end.get()));
  TrainingRole* const roles[] = {generator.get(), discriminator.get()};
  return RunRoles(roles, {});
}

// As the workers would: a compute thread each, gRPC between the roles.
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
    std::vector<absl::Status> results(generators_.size() +
                                      discriminators_.size());
    {
      std::vector<Thread> threads;
      for (size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back("role", [this, i, &results] {
          results[i] = RunWorker(i);
          if (!results[i].ok()) CloseAll(results[i]);
        });
      }
    }
    for (const absl::Status& result : results) {
      // The first cause, not what others ran into.
      if (!result.ok()) return first_failure();
    }
    return absl::OkStatus();
  }

 private:
  struct GeneratorWorker {
    std::unique_ptr<GeneratorExchange> exchange;
    std::unique_ptr<GeneratorExchange> slow;
    std::unique_ptr<Collective> fleet;
  };
  struct DiscriminatorWorker {
    std::unique_ptr<DiscriminatorEnd> end;
    std::unique_ptr<ExchangeServer> server;
    std::unique_ptr<DiscriminatorExchange> slow;
    std::unique_ptr<Collective> fleet;
  };

  ExchangeOptions OptionsOf(int rank) const {
    EpochPlace place = setup_.place;
    place.rank = rank;
    return ExchangeAt(plan_, place);
  }
  DelayOptions Delays(uint64_t seed) const {
    return options_.delay_seed == 0
               ? DelayOptions{.max_refusals = 0}
               : DelayOptions{.seed = options_.delay_seed + seed,
                              .max_wait = absl::Milliseconds(3)};
  }
  // Null for the only worker of a role, as in WorkerEpoch.
  template <typename Workers>
  void MakeFleet(Workers& workers) const {
    if (workers.size() == 1) return;
    FleetOptions options = {.seed = options_.delay_seed + 1};
    if (options_.delay_seed != 0) options.max_delay = absl::Microseconds(300);
    auto fleet = MakeInProcessFleet(static_cast<int>(workers.size()), options);
    for (size_t rank = 0; rank < workers.size(); ++rank) {
      workers[rank].fleet = std::move(fleet[rank]);
    }
  }

  absl::Status Connect() {
    MakeFleet(generators_);
    MakeFleet(discriminators_);
    for (size_t d = 0; d < discriminators_.size(); ++d) {
      DiscriminatorWorker& worker = discriminators_[d];
      const ExchangeOptions options = OptionsOf(static_cast<int>(d));
      GANDEM_ASSIGN_OR_RETURN(worker.end, DiscriminatorEnd::Create(options));
      GANDEM_ASSIGN_OR_RETURN(
          worker.server,
          ExchangeServer::Start(
              {.address = absl::StrCat("unix:", folder_ / "socket", d),
               .exchange = options},
              worker.end.get()));
      worker.slow = DelayDiscriminator(worker.end.get(), Delays(2 * d));
    }
    for (size_t g = 0; g < generators_.size(); ++g) {
      const ExchangeOptions options = OptionsOf(static_cast<int>(g));
      std::vector<std::unique_ptr<GeneratorExchange>> clients;
      for (const DiscriminatorWorker& worker : discriminators_) {
        GANDEM_ASSIGN_OR_RETURN(
            clients.emplace_back(),
            CreateExchangeClient(
                {.address = worker.server->address(), .exchange = options}));
      }
      generators_[g].exchange =
          clients.size() == 1
              ? std::move(clients.front())
              : CreateFleetExchange(options, std::move(clients));
      generators_[g].slow =
          DelayGenerator(generators_[g].exchange.get(), Delays(2 * g + 1));
    }
    return absl::OkStatus();
  }

  absl::Status RunWorker(size_t index) {
    RoleSetup setup = setup_;
    std::unique_ptr<TrainingRole> role;
    if (index < generators_.size()) {
      setup.place.rank = static_cast<int>(index);
      setup.fleet = generators_[index].fleet.get();
      GANDEM_ASSIGN_OR_RETURN(
          role, MakeGeneratorRole(plan_, setup, generators_[index].slow.get()));
    } else {
      DiscriminatorWorker& worker = discriminators_[index - generators_.size()];
      setup.place.rank = static_cast<int>(index - generators_.size());
      setup.fleet = worker.fleet.get();
      GANDEM_ASSIGN_OR_RETURN(
          role, MakeDiscriminatorRole(plan_, setup, worker.slow.get()));
    }
    TrainingRole* const roles[] = {role.get()};
    return RunRoles(roles, {.poll = options_.poll});
  }

  void CloseAll(const absl::Status& reason) {
    {
      absl::MutexLock lock(&mu_);
      if (!first_failure_.ok()) return;
      first_failure_ = reason;
    }
    for (const GeneratorWorker& worker : generators_) {
      worker.exchange->Close(reason);
      if (worker.fleet) worker.fleet->Close(reason);
    }
    for (const DiscriminatorWorker& worker : discriminators_) {
      worker.end->Close(reason);
      if (worker.fleet) worker.fleet->Close(reason);
    }
  }
  absl::Status first_failure() {
    absl::MutexLock lock(&mu_);
    return first_failure_;
  }

  const RunPlan& plan_;
  const RoleSetup& setup_;
  const PairOptions& options_;
  const TempDir folder_;
  std::vector<DiscriminatorWorker> discriminators_;
  std::vector<GeneratorWorker> generators_;  // these end first
  absl::Mutex mu_;
  absl::Status first_failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<SavedStates> RunPair(const RunConfig& config,
                                    const PairOptions& options) {
  const RunPlan plan = MakeRunPlan(config);
  MemorySink sink;
  RoundGate gate(options.first_round, config.rounds());
  if (options.cut >= 0) gate.SetCut(options.cut);
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
  const int size = mlp ? 8 : pairs ? 64 : 32;
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
  ASSERT_EQ(a.size(), 2u) << what;
  ASSERT_EQ(b.size(), 2u) << what;
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
