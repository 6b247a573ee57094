// SPDX-License-Identifier: Apache-2.0
//
// Resources that workers share in virtual time: the cores of a host, the
// network, and the sums of a fleet (docs/cost_model.md sections 2 to 4).
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/event_queue.h"

namespace gandem {

// Cores of a host. A worker that computes beside others takes longer:
//   seconds = alone + (beside - alone) * min(1, others / (cores - threads))
// where `others` is the number of computing threads of the other workers. With
// l > 1 computing threads per core, workers take turns and take l (1 + 0.1 (l -
// 1)) times as long. A waiting worker uses no core.
class SimulatedHost {
 public:
  // `threads`, `processes`: of all workers. `queue` must outlive the host.
  SimulatedHost(const HostShape& shape, int threads, int processes,
                EventQueue* queue);

  // Calls `done` when a worker with `threads` has computed for `cost`.
  void Compute(int threads, const ComputeCost& cost, EventQueue::Event done);

  // Returns the cores minus the threads of all workers; may be negative.
  double free_cores() const { return free_cores_; }

 private:
  struct Task {
    int threads = 1;
    double slowdown = 1;  // beside / alone
    double left = 0;      // seconds alone
    double pace = 1;      // seconds of work done per second
    EventQueue::Event done = {};
  };

  void CatchUp();
  // Computes new paces, and schedules the end of the next task.
  void Plan();
  void Finish(int64_t plan);
  double PaceOf(const Task& task, int active) const;

  EventQueue* const queue_;
  const int cores_;
  const double speed_;
  const bool has_devices_;
  const bool is_shared_;
  const double free_cores_;

  std::vector<Task> tasks_;
  double last_change_ = 0;
  int64_t plan_ = 0;  // number of the newest schedule; older ones are ignored
};

// Network with messages in transit. A host sends its messages one after the
// other, in order, at the speed of the link, and receives likewise. Between two
// processes of a host, the sending process does so.
class SimulatedNetwork {
 public:
  // `shape` and `queue` must outlive the network.
  SimulatedNetwork(const RunShape* shape, EventQueue* queue);

  void Send(size_t from_process, size_t to_process, int64_t bytes,
            EventQueue::Event arrived);
  // Sends a notification without bytes.
  void Notify(size_t from_process, size_t to_process,
              EventQueue::Event arrived);

  // Runs a sum between hosts that takes `seconds` from `start`, or from when
  // all their links are free, and `bytes` of each host. Returns the time of its
  // end.
  double Sum(const std::vector<size_t>& hosts, double start, double seconds,
             int64_t bytes);

  // Returns the processor seconds of a message at each end.
  double ComputeSeconds(size_t from_process, size_t to_process,
                        int64_t bytes) const;

  // Bytes sent so far, by pair of hosts, the lower number first.
  using Pair = std::pair<size_t, size_t>;
  const std::map<Pair, int64_t>& bytes() const { return bytes_; }
  // Returns the seconds so far in which each host's link was sending.
  const std::vector<double>& busy_seconds() const { return busy_; }

 private:
  const LinkLine& LineOf(size_t from_process, size_t to_process) const;
  void Count(size_t from_host, size_t to_host, int64_t bytes);

  const RunShape* const shape_;
  EventQueue* const queue_;
  // Times at which a sender or receiver is free again.
  std::vector<double> sending_;     // by host
  std::vector<double> receiving_;   // by host
  std::vector<double> in_process_;  // by process
  std::map<Pair, int64_t> bytes_;
  std::vector<double> busy_;
};

// Sums of a fleet: gradients part by part, or states in intervals. A part
// begins when all ranks have launched it and the previous part has ended.
class SimulatedSums {
 public:
  // `wake` is called when the last part has ended.
  SimulatedSums(int ranks, std::vector<SumPart> parts,
                std::vector<size_t> hosts, SimulatedNetwork* network,
                EventQueue* queue, std::function<void()> wake);

  int parts() const { return static_cast<int>(parts_.size()); }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  // Reports that a rank has part `part` ready. A rank launches parts of the
  // next step only after this step's sums are completed.
  void Launch(int part);
  // Returns the number of steps whose sums are completed.
  int64_t completed() const { return completed_; }

 private:
  void Begin();

  const int ranks_;
  const std::vector<SumPart> parts_;
  const std::vector<size_t> hosts_;
  SimulatedNetwork* const network_;
  EventQueue* const queue_;
  const std::function<void()> wake_;

  std::vector<int> launched_;  // by part: number of ranks that launched it
  int next_ = 0;               // index of the part that begins next
  bool is_busy_ = false;
  int64_t completed_ = 0;
};

}  // namespace gandem
