// SPDX-License-Identifier: Apache-2.0
//
// Asks workers the questions of a profile. Each probe has a fresh process, so
// that peak memory is the probe's own, and a probe cannot affect another.
// Owner: `gandem profile`. Thread safety: one thread, which lives as long as
// its workers may. Errors: CANCELLED, and errors of starting a process, which
// would fail again. A failure of the probe itself is its outcome, not an error.
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
    DataConfig data = {};  // random images for the probes (random_images.h)
    WorkerProgram program = {};
    std::string folder = {};  // for sockets and logs
    std::string token_file = {};
    int64_t memory_bytes = 0;  // limit for all workers of a question together
    std::function<bool()> interrupted = {};
  };
  struct Limits {
    absl::Duration prepare = {};  // to start, build and warm up; then TIMED_OUT
    absl::Duration measure = {};  // the last round begins before its end
    // Time before which the last round begins.
    absl::Time until = absl::InfiniteFuture();
  };

  explicit ProbeAsker(Options options) : options_(std::move(options)) {}

  // Returns the probes of `question`, in order. Replies of measured probes also
  // describe the state of the worker's networks.
  absl::StatusOr<std::vector<MeasureReply>> Ask(const ProbeQuestion& question,
                                                const Limits& limits);

  // Measures transfers between two workers on this host.
  //   other errors  a transfer failed.
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
  int num_started_ = 0;  // number of processes, for unique names
};

}  // namespace gandem
