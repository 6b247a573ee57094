// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_command.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/machine.h"
#include "common/process/signals.h"
#include "common/programs/own_networks.h"
#include "common/rpc/socket_folder.h"
#include "common/security/credentials.h"
#include "common/security/token.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/read_stop.h"
#include "pipeline/sources/open_dataset.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/known_probes.h"
#include "scaling_manager/profiler/probe_asker.h"
#include "scaling_manager/profiler/probe_list.h"
#include "scaling_manager/profiler/profile_file.h"
#include "scaling_manager/profiler/random_images.h"

namespace gandem {
namespace {

// Share of the free memory for probes if --memory is not given (chosen).
constexpr double kMemoryShare = 0.8;
// Estimated seconds until a process reaches its first round.
constexpr double kStartSeconds = 3;
// Fewest rounds, with warm-up, for which starting a probe is worth its time.
constexpr double kFewestRounds = 4;
// Shares of the budget for one probe (chosen: there are about 60 questions).
constexpr double kNeededShare = 1.0 / 30;
constexpr double kOtherShare = 1.0 / 60;
// Limit for preparing the first probe of a role, when no time is known.
constexpr absl::Duration kShortestPrepare = absl::Minutes(1);
// Limits for preparing a later probe: the start on a busy machine, and the
// number of rounds in addition. bfloat16 on a processor without instructions
// for it is many times slower than FLOAT32, and no plan would use it.
constexpr absl::Duration kLongestStart = absl::Seconds(20);
constexpr double kMostPrepareRounds = 8;
// Number of images that are decoded for timing, and the time limit.
constexpr int64_t kTimedImages = 256;
constexpr absl::Duration kPipelineLimit = absl::Seconds(3);

// Returns the real images per second that one thread decodes, crops and resizes
// after reading them. Takes about `limit`.
absl::StatusOr<double> ImagesPerDecodeThreadSecond(const DataConfig& data,
                                                   absl::Duration limit) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          HasPairs(data) ? OpenPairs(data) : OpenDataset(data));
  const absl::Time begin = MonotonicNow();
  // Sample the whole dataset: neighbors may be alike. Reads for half the time.
  const int64_t count = std::min(kTimedImages, dataset->size());
  std::vector<std::pair<int64_t, StoredSample>> stored;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && MonotonicNow() - begin > limit / 2) break;
    const int64_t index = i * dataset->size() / count;
    GANDEM_ASSIGN_OR_RETURN(StoredSample sample, dataset->Fetch(index));
    stored.emplace_back(index, std::move(sample));
  }
  std::vector<float> pixels(dataset->shape().NumValues());
  const auto make_all = [&]() -> absl::Status {
    for (const auto& [index, sample] : stored) {
      GANDEM_RETURN_IF_ERROR(dataset->Finish(
          index, sample, SampleKey{.seed = 1, .number = index}, pixels));
    }
    return absl::OkStatus();
  };
  GANDEM_RETURN_IF_ERROR(make_all());
  const absl::Time warm = MonotonicNow();
  int64_t made = 0;
  do {
    GANDEM_RETURN_IF_ERROR(make_all());
    made += std::ssize(stored);
  } while (MonotonicNow() - begin < limit);
  return static_cast<double>(made) /
         absl::ToDoubleSeconds(MonotonicNow() - warm);
}

class Profiler {
 public:
  Profiler(const ProfileRequest& request, Profile profile, ProbeAsker* asker,
           std::ostream& out)
      : request_(request),
        profile_(std::move(profile)),
        asker_(asker),
        before_(absl::Seconds(profile_.spent_seconds())),
        out_(out) {}

  absl::Status Run() {
    const std::vector<ProbeQuestion> questions =
        ProbeList(profile_.recipe(), UsableCores());
    for (const ProbeQuestion& question : questions) {
      if (!question.is_needed) continue;
      GANDEM_RETURN_IF_ERROR(Answer(question));
    }
    GANDEM_RETURN_IF_ERROR(CheckNeeded(questions));
    GANDEM_RETURN_IF_ERROR(MeasureTransfers());
    GANDEM_RETURN_IF_ERROR(MeasurePipeline());
    for (const ProbeQuestion& question : questions) {
      GANDEM_RETURN_IF_ERROR(Answer(question));
    }
    GANDEM_RETURN_IF_ERROR(Save(/*is_end=*/true));
    PrintSummary(questions);
    return absl::OkStatus();
  }

 private:
  absl::Duration Spent() const { return before_ + (MonotonicNow() - begin_); }
  absl::Duration Left() const { return request_.budget - Spent(); }

  absl::Status Answer(const ProbeQuestion& question) {
    if (OpenQuestions(profile_, {question}).empty() ||
        (!question.is_needed &&
         ExpectedTime(question.together.front()) > Left())) {
      return absl::OkStatus();
    }
    GANDEM_ASSIGN_OR_RETURN(const std::vector<MeasureReply> replies,
                            asker_->Ask(question, LimitsOf(question)));
    for (const MeasureReply& reply : replies) {
      *profile_.add_probes() = reply.probe();
      KeepStates(reply);
      PrintLine(ProbeLine(reply.probe()));
    }
    return Save();
  }

  void PrintLine(const std::string& line) {
    out_ << line << "\n" << std::flush;
  }

  // All probes have the same states, except for the bytes per element.
  void KeepStates(const MeasureReply& reply) {
    if (reply.has_generator_state() && !profile_.has_generator_state()) {
      *profile_.mutable_generator_state() = reply.generator_state();
    }
    if (reply.has_discriminator_state() &&
        !profile_.has_discriminator_state()) {
      *profile_.mutable_discriminator_state() = reply.discriminator_state();
    }
  }

  absl::Duration ExpectedTime(const ProbeSettings& settings) const {
    const double round = LikelyRoundSeconds(profile_, settings);
    if (round == 0) return absl::ZeroDuration();
    return absl::Seconds(kStartSeconds + kFewestRounds * round);
  }

  // A probe of an unmeasured role may take half of the budget.
  ProbeAsker::Limits LimitsOf(const ProbeQuestion& question) const {
    if (question.is_needed) {
      return {.prepare = std::max(kShortestPrepare, request_.budget / 2),
              .measure = kNeededShare * request_.budget};
    }
    const double rounds =
        kMostPrepareRounds *
        LikelyRoundSeconds(profile_, question.together.front());
    return {.prepare = kLongestStart + absl::Seconds(rounds),
            .measure = kOtherShare * request_.budget,
            .until = MonotonicNow() + Left()};
  }

  // Fails if a network cannot run at all, because there is nothing to plan.
  absl::Status CheckNeeded(const std::vector<ProbeQuestion>& questions) const {
    for (const ProbeQuestion& question : questions) {
      if (!question.is_needed) continue;
      const ProbeSettings& settings = question.together.front();
      const Probe* const probe = FindProbe(profile_, settings);
      if (probe == nullptr || probe->outcome() == Probe::MEASURED) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          ToString(settings), ": ", Probe::Outcome_Name(probe->outcome()), ": ",
          probe->message(), Advice(*probe)));
    }
    return absl::OkStatus();
  }

  static std::string Advice(const Probe& probe) {
    const std::string role = RoleName(probe.settings().role());
    switch (probe.outcome()) {
      case Probe::OUT_OF_MEMORY:
        return absl::StrCat("; raise --memory, or make ", role,
                            ".batch_size smaller (--set)");
      case Probe::TIMED_OUT:
        return absl::StrCat("; raise --budget, or make ", role,
                            ".batch_size smaller (--set)");
      case Probe::DIED:
        return "; --fresh tries again";
      default:
        return "";
    }
  }

  absl::Status MeasureTransfers() {
    if (profile_.transfers_size() > 0) return absl::OkStatus();
    const auto transfers = asker_->Transfers();
    if (absl::IsCancelled(transfers.status())) return transfers.status();
    if (!transfers.ok()) {
      // A plan for one worker per role on one host needs no transfers.
      PrintLine(absl::StrCat("no transfers were measured: ",
                             transfers.status().message()));
      return absl::OkStatus();
    }
    for (const TransferProfile& transfer : *transfers) {
      *profile_.add_transfers() = transfer;
      PrintLine(TransferLine(transfer));
    }
    return Save();
  }

  absl::Status MeasurePipeline() {
    if (!request_.measures_data ||
        profile_.images_per_decode_thread_second() > 0) {
      return absl::OkStatus();
    }
    GANDEM_ASSIGN_OR_RETURN(
        const double rate,
        ImagesPerDecodeThreadSecond(request_.recipe.data(), kPipelineLimit));
    profile_.set_images_per_decode_thread_second(rate);
    PrintLine(absl::StrCat("images: ", static_cast<int64_t>(rate),
                           " a second with one decode thread"));
    return Save();
  }

  absl::Status Save(bool is_end = false) {
    profile_.set_is_under_way(!is_end);
    profile_.set_spent_seconds(absl::ToDoubleSeconds(Spent()));
    profile_.set_unix_seconds(
        absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    KeepProfile(profile_, /*even_with_less=*/is_end && request_.fresh);
    return WriteProfile(request_.output, profile_);
  }

  void PrintSummary(const std::vector<ProbeQuestion>& questions) {
    const size_t open = OpenQuestions(profile_, questions).size();
    PrintLine(absl::StrCat(
        request_.output, ": ", profile_.probes_size(), " probes in ",
        absl::FormatDuration(
            absl::Seconds(static_cast<int64_t>(profile_.spent_seconds()))),
        open == 0 ? ""
                  : absl::StrCat("; ", open,
                                 " questions are open, a larger --budget "
                                 "answers them")));
  }

  const ProfileRequest& request_;
  Profile profile_;
  ProbeAsker* const asker_;
  const absl::Duration before_;
  const absl::Time begin_ = MonotonicNow();
  std::ostream& out_;
};

// Returns existing measurements, from the output file or the cache.
absl::StatusOr<Profile> KnownProfile(const ProfileRequest& request,
                                     std::ostream& out) {
  const ProfileFingerprint here = FingerprintHere(request.recipe);
  Profile profile;
  if (!request.fresh && PathExists(request.output)) {
    GANDEM_ASSIGN_OR_RETURN(profile, ReadProfile(request.output));
    const absl::Status holds = CheckProfileHolds(profile, here);
    if (!holds.ok()) return Annotate(holds, request.output);
  } else if (!request.fresh) {
    std::optional<Profile> cached = FindCachedProfile(here);
    if (cached.has_value()) {
      profile = *std::move(cached);
      out << "resuming from " << CachedProfilePath(here)
          << " (--fresh measures again)\n";
    }
  }
  *profile.mutable_fingerprint() = here;
  *profile.mutable_recipe() = request.recipe;
  return profile;
}

int64_t MemoryOf(const ProfileRequest& request) {
  return request.memory_bytes > 0
             ? request.memory_bytes
             : static_cast<int64_t>(kMemoryShare *
                                    static_cast<double>(FreeMemory()));
}

}  // namespace

absl::Status RunProfile(const ProfileRequest& request, std::ostream& out) {
  std::atomic<bool> stop = false;
  // If two threads listen for signals, either may receive one. A caller that
  // listens already reports a signal through its read-stop flag.
  const std::atomic<bool>* heard = ScopedReadStop::Current();
  std::optional<SignalThread> signals;
  if (heard == nullptr) {
    heard = &stop;
    signals.emplace(SignalsToHear({SIGINT, SIGTERM}),
                    [&stop](int) { stop = true; });
  }
  GANDEM_ASSIGN_OR_RETURN(Profile profile, KnownProfile(request, out));
  GANDEM_ASSIGN_OR_RETURN(const auto folder, SocketFolder::Create());
  const std::string token_file = folder->path() + "/token";
  GANDEM_ASSIGN_OR_RETURN(std::string token, ReadOrCreateToken(token_file));
  SetProcessCredentials({.token = std::move(token), .token_file = token_file});
  GANDEM_ASSIGN_OR_RETURN(
      const DataConfig data,
      WriteRandomImages(request.recipe.data(), folder->path()));
  ProbeAsker asker({.recipe = request.recipe,
                    .data = data,
                    .program = request.program,
                    .folder = folder->path(),
                    .token_file = token_file,
                    .memory_bytes = MemoryOf(request),
                    .interrupted = [heard] { return heard->load(); }});
  return Profiler(request, std::move(profile), &asker, out).Run();
}

absl::StatusOr<ProfileRequest> ProfileRequestFor(const RunConfig& recipe,
                                                 const std::string& python) {
  ProfileRequest request = {.recipe = EffectiveConfig(recipe)};
  GANDEM_RETURN_IF_ERROR(KnowOwnNetworks(request.recipe));
  GANDEM_ASSIGN_OR_RETURN(std::string binaries, BinaryFolder());
  GANDEM_ASSIGN_OR_RETURN(
      request.program,
      FindWorkerProgram(request.recipe, std::move(binaries), python));
  return request;
}

absl::StatusOr<Profile> MeasureProfile(const RunConfig& recipe,
                                       const std::string& python,
                                       const std::string& folder) {
  GANDEM_ASSIGN_OR_RETURN(ProfileRequest request,
                          ProfileRequestFor(recipe, python));
  request.output = folder + "/profile.textproto";
  request.measures_data = true;
  std::cout
      << "there is no complete profile of this recipe on this machine yet: "
         "measuring one takes minutes"
      << std::endl;
  GANDEM_RETURN_IF_ERROR(RunProfile(request, std::cout));
  return ReadProfile(request.output);
}

}  // namespace gandem
