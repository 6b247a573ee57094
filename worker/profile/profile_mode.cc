// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/profile_mode.h"

#include <signal.h>

#include <memory>
#include <utility>

#include "common/config/run_config.h"
#include "common/control/measure_service.h"
#include "common/monotonic_time.h"
#include "common/process/signals.h"
#include "common/status.h"
#include "training/state/catch_torch.h"
#include "worker/profile/probe_run.h"
#include "worker/profile/transfer_probe.h"

namespace gandem {
namespace {

// For transfers of all sizes; the other worker starts at the same time.
constexpr absl::Duration kTransferLimit = absl::Seconds(60);

class ProbeHandler : public MeasureHandler {
 public:
  ProbeHandler(Role role, const RoleFactories& factories)
      : role_(role), factories_(factories) {}

  absl::StatusOr<PrepareReply> Prepare(const PrepareRequest& request) override {
    if (run_ != nullptr) {
      return absl::FailedPreconditionError("a process has one probe");
    }
    GANDEM_ASSIGN_OR_RETURN(
        const RunConfig config,
        ParseRunConfig(request.config_text(), "the probe's config", {}));
    GANDEM_ASSIGN_OR_RETURN(run_, ProbeRun::Create(role_, factories_, config));
    PrepareReply reply;
    GANDEM_ASSIGN_OR_RETURN(const double seconds, run_->WarmUp());
    reply.set_round_seconds(seconds);
    return reply;
  }

  absl::StatusOr<MeasureReply> Measure(const MeasureRequest& request) override {
    if (run_ == nullptr) {
      return absl::FailedPreconditionError("nothing was prepared");
    }
    MeasureReply reply;
    GANDEM_ASSIGN_OR_RETURN(*reply.mutable_probe(), CatchTorchOr([&] {
      return run_->Measure(absl::Seconds(request.seconds()),
                           request.until_settled());
    }));
    if (run_->Plays(GENERATOR)) {
      *reply.mutable_generator_state() = run_->StateOf(GENERATOR);
    }
    if (run_->Plays(DISCRIMINATOR)) {
      *reply.mutable_discriminator_state() = run_->StateOf(DISCRIMINATOR);
    }
    return reply;
  }

  absl::StatusOr<TransferReply> Transfer(
      const TransferRequest& request) override {
    return MeasureTransfer(request, MonotonicNow() + kTransferLimit);
  }

 private:
  const Role role_;
  const RoleFactories factories_;
  std::unique_ptr<ProbeRun> run_;
};

}  // namespace

absl::Status RunProfileMode(Role role, const RoleFactories& factories,
                            const std::string& address) {
  ProbeHandler handler(role, factories);
  MeasureService service(&handler);
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server,
                          StartMeasureServer(address, &service));
  SignalThread signals(SignalsToHear({SIGTERM, SIGINT}),
                       [&](int) { service.Stop(); });
  service.Serve();
  server->Shutdown(MonotonicNow());
  return absl::OkStatus();
}

}  // namespace gandem
