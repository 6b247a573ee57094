// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_asker.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/monotonic_time.h"
#include "common/process/cores.h"
#include "common/programs/core_plan.h"
#include "common/status.h"
#include "scaling_manager/profiler/transfer_fit.h"

namespace gandem {
namespace {

// Time after the end of a measurement at which it counts as timed out.
constexpr absl::Duration kAnswerGrace = absl::Seconds(15);
constexpr double kLastRounds = 4;
constexpr absl::Duration kTransferDeadline = absl::Seconds(60);
constexpr int64_t kTransferSizes[] = {4 << 10, 32 << 10, 256 << 10, 2 << 20,
                                      16 << 20};
constexpr int kTransferRepetitions = 15;

// Returns the cores of each worker, in the order of `together`; empty if the
// workers have more threads than the machine has cores.
std::vector<std::vector<int>> CoresOf(
    const std::vector<ProbeSettings>& together) {
  std::map<WorkerKey, int> threads;
  for (const ProbeSettings& settings : together) {
    threads[{settings.role(), 0}] = settings.threads();
  }
  const auto plan = PlanCores(ReadMachine(AllowedCores()), threads);
  std::vector<std::vector<int>> cores;
  for (const ProbeSettings& settings : together) {
    cores.emplace_back();
    if (!plan.ok()) continue;
    const auto found = plan->find({settings.role(), 0});
    if (found != plan->end()) cores.back() = found->second;
  }
  return cores;
}

MeasureReply FailedProbe(const ProbeSettings& settings,
                         const MeasureClient::End& end) {
  MeasureReply reply;
  Probe& probe = *reply.mutable_probe();
  *probe.mutable_settings() = settings;
  probe.set_outcome(end.outcome);
  probe.set_message(end.message);
  return reply;
}

std::vector<MeasureReply> FailedProbes(
    const std::vector<ProbeSettings>& together,
    const std::vector<MeasureClient::End>& ends) {
  std::vector<MeasureReply> probes;
  for (size_t i = 0; i < together.size(); ++i) {
    // A worker whose partner failed did not measure contention either.
    probes.push_back(FailedProbe(
        together[i], ends[i].outcome == Probe::MEASURED
                         ? MeasureClient::End{.outcome = Probe::REFUSED,
                                              .message = "the worker beside it "
                                                         "failed"}
                         : ends[i]));
  }
  return probes;
}

bool AllMeasured(const std::vector<MeasureClient::End>& ends) {
  return std::ranges::all_of(ends, [](const MeasureClient::End& end) {
    return end.outcome == Probe::MEASURED;
  });
}

}  // namespace

absl::StatusOr<ProbeAsker::Workers> ProbeAsker::Start(
    const std::vector<ProbeSettings>& together) {
  const auto cores = CoresOf(together);
  Workers workers;
  for (size_t i = 0; i < together.size(); ++i) {
    const Role role = together[i].role();
    GANDEM_ASSIGN_OR_RETURN(
        workers.emplace_back(),
        MeasureClient::Start(
            {.role = role,
             .program = options_.program,
             .folder = options_.folder,
             .name = absl::StrCat(RoleName(role), "-", ++num_started_),
             .token_file = options_.token_file,
             .cores = cores[i],
             .memory_bytes = options_.memory_bytes /
                             static_cast<int64_t>(together.size())}));
  }
  return workers;
}

absl::StatusOr<std::vector<MeasureReply>> ProbeAsker::Ask(
    const ProbeQuestion& question, const Limits& limits) {
  const std::vector<ProbeSettings>& together = question.together;
  std::vector<PrepareReply> prepared(together.size());
  std::vector<MeasureReply> measured(together.size());
  GANDEM_ASSIGN_OR_RETURN(const Workers workers, Start(together));

  absl::Time deadline = MonotonicNow() + limits.prepare;
  for (size_t i = 0; i < together.size(); ++i) {
    PrepareRequest request;
    request.set_config_text(EffectiveConfigText(
        ProbeConfig(options_.recipe, together[i], options_.data)));
    workers[i]->Prepare(request, deadline, &prepared[i]);
  }
  GANDEM_ASSIGN_OR_RETURN(auto ends, Wait(workers, deadline));
  if (!AllMeasured(ends)) return FailedProbes(together, ends);

  absl::Duration last = absl::ZeroDuration();
  for (const PrepareReply& reply : prepared) {
    last = std::max(last, kLastRounds * absl::Seconds(reply.round_seconds()));
  }
  const absl::Time begin = MonotonicNow();
  const absl::Duration measure =
      std::clamp(limits.until - begin, absl::ZeroDuration(), limits.measure);
  deadline = begin + measure + last + kAnswerGrace;
  for (size_t i = 0; i < together.size(); ++i) {
    MeasureRequest request;
    request.set_seconds(absl::ToDoubleSeconds(measure));
    // Two workers that measure contention end together.
    request.set_until_settled(together.size() == 1);
    workers[i]->Measure(request, deadline, &measured[i]);
  }
  GANDEM_ASSIGN_OR_RETURN(ends, Wait(workers, deadline));
  if (!AllMeasured(ends)) return FailedProbes(together, ends);
  for (size_t i = 0; i < together.size(); ++i) {
    *measured[i].mutable_probe()->mutable_settings() = together[i];
  }
  return measured;
}

absl::StatusOr<std::vector<TransferProfile>> ProbeAsker::Transfers() {
  ProbeSettings settings;
  settings.set_threads(1);
  std::vector<ProbeSettings> pair(2, settings);
  pair[0].set_role(DISCRIMINATOR);
  pair[1].set_role(GENERATOR);
  GANDEM_ASSIGN_OR_RETURN(const Workers workers, Start(pair));
  std::vector<TransferProfile> transfers;
  for (const auto kind :
       {TransferProfile::EXCHANGE_SOCKET, TransferProfile::COLLECTIVE_MEMORY,
        TransferProfile::COLLECTIVE_TCP}) {
    GANDEM_ASSIGN_OR_RETURN(transfers.emplace_back(), Transfer(kind, workers));
  }
  return transfers;
}

absl::StatusOr<TransferProfile> ProbeAsker::Transfer(TransferProfile::Kind kind,
                                                     const Workers& workers) {
  const absl::Time deadline = MonotonicNow() + kTransferDeadline;
  TransferRequest request;
  request.set_kind(kind);
  request.set_repetitions(kTransferRepetitions);
  request.mutable_bytes()->Add(std::begin(kTransferSizes),
                               std::end(kTransferSizes));
  for (const char* const rank : {"a", "b"}) {
    request.add_addresses(absl::StrCat("unix:", options_.folder, "/t",
                                       static_cast<int>(kind), rank));
  }
  std::vector<TransferReply> replies(workers.size());
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    request.set_rank(static_cast<int>(rank));
    workers[rank]->Transfer(request, deadline, &replies[rank]);
  }
  GANDEM_ASSIGN_OR_RETURN(const auto ends, Wait(workers, deadline));
  for (const MeasureClient::End& end : ends) {
    if (end.outcome != Probe::MEASURED) {
      return absl::UnavailableError(
          absl::StrCat(TransferProfile::Kind_Name(kind), ": ", end.message));
    }
  }
  std::vector<TransferSample> samples;
  // The times are those of the sender, which waits for the whole transfer.
  for (int i = 0; i < replies.back().samples_size(); ++i) {
    const TransferReply::Sample& sent = replies.back().samples(i);
    samples.push_back(
        {.bytes = static_cast<double>(sent.bytes()),
         .seconds = sent.seconds(),
         .compute_seconds = sent.compute_seconds() +
                            replies.front().samples(i).compute_seconds()});
  }
  const bool has_answer = kind == TransferProfile::EXCHANGE_SOCKET;
  return FitTransfers(kind, samples, has_answer ? 2 : 1);
}

}  // namespace gandem
