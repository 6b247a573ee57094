// SPDX-License-Identifier: Apache-2.0
//
// Asks workers: a fresh process for each probe, so that one's peak of memory is
// not another's, and what a probe does to its process harms nobody.
//
// Owner: `gandem profile`. Thread safety: one thread, which lives as long as
// its workers may. Errors: of starting processes, which would fail again, and
// CANCELLED; what a probe runs into is its outcome.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/programs/worker_program.h"
#include "proto/config.pb.h"
#include "proto/measure.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/profiler/measure_client.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {

class ProbeAsker {
 public:
  struct Options {
    RunConfig recipe = {};
    DataConfig data = {};  // real images of probes (random_images.h)
    WorkerProgram program = {};
    std::string folder = {};  // for sockets and logs
    std::string token_file = {};
    int64_t memory_bytes = 0;  // of all workers of a question together
    std::function<bool()> interrupted = {};
  };
  // How long a question may take.
  struct Limits {
    absl::Duration prepare = {};  // start, build, warm up: TIMED_OUT after it
    absl::Duration measure = {};  // the last round begins before
    // So does it before this, however long the start took.
    absl::Time until = absl::InfiniteFuture();
  };

  explicit ProbeAsker(Options options) : options_(std::move(options)) {}

  // The probes of `question`, in its order; those that were measured with what
  // their workers' networks take.
  absl::StatusOr<std::vector<MeasureReply>> Ask(const ProbeQuestion& question,
                                                const Limits& limits);

  // Between two workers of this host.
  //   other errors  of a transfer.
  absl::StatusOr<std::vector<TransferProfile>> Transfers();

 private:
  using Workers = std::vector<std::unique_ptr<MeasureClient>>;

  absl::StatusOr<Workers> Start(const std::vector<ProbeSettings>& together);
  absl::StatusOr<std::vector<MeasureClient::End>> Wait(
      const Workers& workers, absl::Time deadline) const {
    return MeasureClient::Wait(workers, deadline, options_.interrupted);
  }
  absl::StatusOr<TransferProfile> Transfer(TransferProfile::Kind kind,
                                           const Workers& workers);

  const Options options_;
  int num_started_ = 0;  // processes: each has a name of its own
};

}  // namespace gandem
