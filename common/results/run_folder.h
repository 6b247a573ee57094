// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run, its locks, and its state between two starts.
//
//   config.textproto           the effective recipe
//   checkpoints/               common/checkpoint/checkpoint_files.h
//   state/lock                 locked by `gandem train`
//   state/watch-eval.lock      locked by `gandem watch-eval`
//   state/folder-*             see FolderProof
//   state/control.addr         listening address of `gandem train`
//   state/counters.textproto   run epoch and incarnations
//   state/workers.textproto    the workers of the newest run epoch
//   state/failure.textproto    why the newest `gandem train` failed
//
// Owner: a RunFolder is a path and may be copied; a lock belongs to a command.
// `gandem train` writes; other commands and workers read.
// Thread safety: any thread reads; one thread of one process writes.
// Errors: those of common/files/file.h and below.
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

// Proof that a process and its coordinator see the same run folder, not a copy.
// The coordinator writes a random text under a random name, which no copy and
// no file system cache can contain, and the process returns it.
struct FolderProof {
  std::string file;  // path in the run folder: "state/folder-..."
  std::string text;
};

// Exclusive right to work in a run folder, released by any process end.
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
  std::string StatePath(const std::string& name) const {
    return path_ + "/state/" + name;
  }

  // Checks names that the run uses. Ignores missing files.
  //   FAILED_PRECONDITION  a folder's name is another file, or a link to one
  //   INVALID_ARGUMENT     a log is a named pipe
  absl::Status CheckNames() const;

  // Takes the only lock of `gandem train`: the file, whose lock others can
  // query, and the folder, so that `rm -r state` does not release it.
  //   ALREADY_EXISTS  held by another process, named in the message
  absl::StatusOr<RunLock> LockForTraining() const;
  // Takes the lock of `gandem watch-eval`, which may run during training.
  absl::StatusOr<RunLock> LockForWatch() const;
  // Returns whether another process or object holds the training lock now.
  bool IsInTraining() const;
  // Returns the last holder of the training lock, "process 12 on host", or "".
  std::string Trainer() const;

  // Writes a proof file named `prefix`..., which the caller must remove.
  absl::StatusOr<FolderProof> WriteProof(const std::string& prefix) const;
  // Writes the coordinator's proof and removes those of earlier coordinators.
  absl::StatusOr<FolderProof> RenewProof() const;
  // Reads the text of FolderProof::file.
  //   INVALID_ARGUMENT  this process cannot see the file; says what to do
  absl::StatusOr<std::string> ReadProof(const std::string& file) const;

  // Creates the folder `name` and its parents (OK if it exists), but never the
  // run folder: without its mount, new files would be hidden by the mount.
  //   UNAVAILABLE  the run folder is missing; asks for its mount
  absl::Status Create(const std::string& name) const;

  //   NOT_FOUND         no recipe: not a run folder
  //   INVALID_ARGUMENT  the file is not a recipe
  absl::StatusOr<RunConfig> ReadConfig() const;

  // Returns FindNewestCheckpoint(), or step 0 with an empty path.
  absl::StatusOr<FoundCheckpoint> NewestCheckpoint() const;

  // Returns the address of the last `gandem train`, which may have ended.
  absl::StatusOr<std::string> ReadControlAddress() const;

  // Reads the counters, zeros if the file is missing. They are written before
  // use, so that no later process reuses an epoch or an incarnation.
  //   DATA_LOSS  the file is invalid
  absl::StatusOr<RunCounters> ReadCounters() const;
  absl::Status WriteCounters(const RunCounters& counters) const;

  // Reads run epoch and workers (role, rank, host, process); none if missing.
  //   INVALID_ARGUMENT  the file is invalid
  absl::StatusOr<StatusReply> ReadWorkers() const;
  absl::Status WriteWorkers(const StatusReply& status) const;

  // Reads state and detail. UNKNOWN: no failure, or `gandem train` was killed.
  //   INVALID_ARGUMENT  the file is invalid
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
