// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run: who works in it, whether this process sees it, and what
// the run knows of itself between two starts.
//
//   config.textproto           the effective recipe
//   checkpoints/               common/checkpoint/checkpoint_files.h
//   state/lock                 locked by the `gandem train` that works here
//   state/watch-eval.lock      locked by the `gandem watch-eval` that does
//   state/folder-*             the proof, see FolderProof
//   state/control.addr         where the running `gandem train` listens
//   state/counters.textproto   run epoch and incarnations
//   state/workers.textproto    the workers of the newest run epoch
//   state/failure.textproto    why the newest `gandem train` failed
//
// Owner: a RunFolder is a name and may be copied; a lock belongs to the command
// that works. `gandem train` writes, other commands and workers read.
// Thread safety: any thread reads; one thread of one process writes.
// Errors: those of common/files/file.h, and those that are named below.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_files.h"
#include "proto/checkpoint.pb.h"
#include "proto/config.pb.h"
#include "proto/control.pb.h"

namespace gandem {

// Proof that a process sees the run folder of its coordinator, and no folder of
// the same name on another disk: the coordinator writes a random text under a
// random name, which no copy of the folder and no cache of a network file
// system can have, and the process tells it.
struct FolderProof {
  std::string file;  // in the run folder: "state/folder-..."
  std::string text;
};

// The right to work in a run folder. It goes with the process, however that
// ends.
class RunLock {
 public:
  RunLock(RunLock&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        folder_(std::exchange(other.folder_, -1)) {}
  RunLock& operator=(RunLock&& other) = delete;
  ~RunLock();

 private:
  friend class RunFolder;
  explicit RunLock(int file) : file_(file) {}

  int file_;
  int folder_ = -1;  // not locked
};

class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // The path of a file in state/.
  std::string StatePath(const std::string& name) const {
    return path_ + "/state/" + name;
  }

  // FAILED_PRECONDITION where a name that the run needs for a folder is
  // something else, or a link to what is no folder; INVALID_ARGUMENT where a
  // log is a named pipe. What is not there yet is made later.
  absl::Status CheckNames() const;

  // Takes the lock of `gandem train`, of which there is one at a time: the
  // file, whose state others can read without taking it, and the folder, so
  // that `rm -r state` lets nobody in.
  //   ALREADY_EXISTS  another process holds it; the message names it.
  absl::StatusOr<RunLock> LockForTraining() const;
  // The same for `gandem watch-eval`, which does not disturb a training.
  absl::StatusOr<RunLock> LockForWatch() const;
  // Does another process, or object, train here? Only looks: a training that
  // starts at this moment gets the lock.
  bool IsInTraining() const;
  // "process 12 on host", which took that lock last; may be empty.
  std::string Trainer() const;

  // Writes a proof under a name that begins with `prefix`. The caller removes
  // the file.
  absl::StatusOr<FolderProof> WriteProof(const std::string& prefix) const;
  // Writes the coordinator's, in place of those of earlier coordinators.
  absl::StatusOr<FolderProof> RenewProof() const;
  // The text of FolderProof::file, as this process sees it.
  //   INVALID_ARGUMENT  it is not there; says what to do.
  absl::StatusOr<std::string> ReadProof(const std::string& file) const;

  // Creates the folder `name` and its parents in this folder, and never this
  // folder: while its mount is away, what is written in its place lies hidden
  // under the mount later. OK when `name` is there.
  //   UNAVAILABLE  the run folder is away; asks for its mount.
  absl::Status Create(const std::string& name) const;

  //   NOT_FOUND         there is none: not the folder of a run.
  //   INVALID_ARGUMENT  it is no recipe.
  absl::StatusOr<RunConfig> ReadConfig() const;

  // The newest complete checkpoint (FindNewestCheckpoint), of step 0 and
  // without a path where there is none.
  absl::StatusOr<FoundCheckpoint> NewestCheckpoint() const;

  // The address that a `gandem train` has left, which may be gone.
  absl::StatusOr<std::string> ReadControlAddress() const;

  // A number is on disk before anybody hears of it, so that no later process
  // can give an epoch out again, or take an old incarnation for the newest of
  // its place. Zeros when there is no file.
  //   DATA_LOSS  the file is no counters.
  absl::StatusOr<RunCounters> ReadCounters() const;
  absl::Status WriteCounters(const RunCounters& counters) const;

  // Role, rank, host and process of each worker, and the run epoch. No workers
  // where there is no file.
  //   INVALID_ARGUMENT  the file is no such thing.
  absl::StatusOr<StatusReply> ReadWorkers() const;
  absl::Status WriteWorkers(const StatusReply& status) const;

  // State and detail; state UNKNOWN: the newest `gandem train` has not failed,
  // or was killed.
  //   INVALID_ARGUMENT  the file is no such thing.
  absl::StatusOr<StatusReply> ReadFailure() const;
  absl::Status WriteFailure(const std::string& detail) const;
  absl::Status RemoveFailure() const;

 private:
  absl::StatusOr<RunLock> LockFile(const std::string& name,
                                   const std::string& command,
                                   const std::string& advice) const;

  std::string path_;
};

}  // namespace gandem
