// SPDX-License-Identifier: Apache-2.0
#include "common/results/run_folder.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/run_config.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/printable.h"
#include "common/files/text_proto.h"
#include "common/process/host_identity.h"
#include "common/random_text.h"
#include "common/status.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

constexpr char kTrain[] = "gandem train";
constexpr char kTrainAdvice[] =
    "wait for its end, stop it, or choose another --run_dir";
constexpr char kCounters[] = "counters.textproto";
constexpr char kWorkers[] = "workers.textproto";
constexpr char kFailure[] = "failure.textproto";
constexpr int64_t kMaxLineBytes = 4096;
constexpr size_t kProofNameBytes = 8;
constexpr size_t kProofTextBytes = 32;

// The lock belongs to the open file description: closing the last descriptor
// releases it, and F_OFD_GETLK can query it.
struct flock WholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

absl::Status InUse(const std::string& run_dir, const std::string& holder,
                   const std::string& command, const std::string& advice) {
  return absl::AlreadyExistsError(
      absl::StrCat("'", run_dir, "' is in use by another `", command, "`",
                   holder.empty() ? "" : " (", holder,
                   holder.empty() ? "; " : "); ", advice));
}

bool IsFolderIn(int fd, const std::string& name) {
  struct stat found = {};
  return fstatat(fd, name.c_str(), &found, 0) == 0 && S_ISDIR(found.st_mode);
}

// Returns an empty message if the file is missing.
template <typename Message>
absl::StatusOr<Message> ReadState(const std::string& path) {
  Message message;
  if (!PathExists(path)) return message;
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, message));
  return message;
}

absl::Status WriteState(const std::string& path,
                        const google::protobuf::Message& message) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return WriteFileDurably(path, text);
}

absl::Status CheckCounters(const RunCounters& counters) {
  if (counters.run_epoch() < 0 || counters.incarnation() < 0 ||
      counters.first_round() < 0 || counters.rollbacks() < 0) {
    return absl::InvalidArgumentError("a counter is negative");
  }
  for (const PlaceIncarnation& place : counters.places()) {
    if (place.incarnation() > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("a place has incarnation ",
                                                   place.incarnation(),
                                                   ", which is not positive"));
  }
  return absl::OkStatus();
}

}  // namespace

RunLock::~RunLock() {
  for (const int fd : {file_, folder_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status RunFolder::CheckNames() const {
  for (const char* const name :
       {"checkpoints", "samples", "logs", "state", "init", "tensorboard",
        "trace", "evaluation"}) {
    const std::string path = absl::StrCat(path_, "/", name);
    const FileWait wait(path);
    std::error_code error;
    // A dangling link counts as a file, although stat() does not find it.
    const fs::file_type type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::not_found || fs::is_directory(path, error)) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path, "' is no folder",
        type == fs::file_type::symlink
            ? absl::StrCat(" but a link to '",
                           fs::read_symlink(path, error).string(), "'")
            : "",
        ", and the run needs one of this name: make it one, move it away, or ",
        "choose another --run_dir"));
  }
  const std::string logs = path_ + "/logs";
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(logs);
  if (!names.ok()) return absl::OkStatus();  // reported by the first writer
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".log")) continue;
    GANDEM_RETURN_IF_ERROR(CheckIsNoPipe(absl::StrCat(logs, "/", name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunLock> RunFolder::LockFile(const std::string& name,
                                            const std::string& command,
                                            const std::string& advice) const {
  const std::string path = StatePath(name);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  const FileWait wait(path);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(errno, "cannot open", path);
  RunLock lock(fd);
  struct flock whole = WholeFile();
  if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) {
      return FileError(errno, "cannot lock", path);
    }
    return InUse(path_, HolderIn(path), command, advice);
  }
  GANDEM_RETURN_IF_ERROR(WriteHolder(fd, path));
  return lock;
}

// The file is locked first; until then it may name the previous holder.
absl::StatusOr<RunLock> RunFolder::LockForTraining() const {
  GANDEM_ASSIGN_OR_RETURN(RunLock lock, LockFile("lock", kTrain, kTrainAdvice));
  const FileWait wait(path_);
  lock.folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.folder_ < 0) return FileError(errno, "cannot open", path_);
  // Some network file systems cannot lock a folder; the file lock must do.
  if (flock(lock.folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return InUse(path_, "its state/lock was removed", kTrain, kTrainAdvice);
  }
  return lock;
}

absl::StatusOr<RunLock> RunFolder::LockForWatch() const {
  return LockFile("watch-eval.lock", "gandem watch-eval",
                  "it judges all checkpoints; stop it first to do that in "
                  "another way");
}

bool RunFolder::IsInTraining() const {
  const std::string path = StatePath("lock");
  const auto fd = OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC);
  if (!fd.ok()) return false;
  const absl::Cleanup close_file = [&fd] { close(*fd); };
  const FileWait wait(path);
  struct flock whole = WholeFile();
  return fcntl(*fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

std::string RunFolder::Trainer() const { return HolderIn(StatePath("lock")); }

absl::StatusOr<FolderProof> RunFolder::WriteProof(
    const std::string& prefix) const {
  const std::string name = prefix + RandomText(kProofNameBytes);
  const std::string text = RandomText(kProofTextBytes);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(path_ + "/state"));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(StatePath(name), text));
  return FolderProof{.file = "state/" + name, .text = text};
}

absl::StatusOr<FolderProof> RunFolder::RenewProof() const {
  const std::string prefix = "folder-";
  const auto names = ListDirectory(path_ + "/state");
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (!absl::StartsWith(name, prefix)) continue;
    GANDEM_RETURN_IF_ERROR(RemoveAll(StatePath(name)));
  }
  return WriteProof(prefix);
}

absl::StatusOr<std::string> RunFolder::ReadProof(
    const std::string& file) const {
  absl::StatusOr<std::string> text =
      ReadFile(path_ + "/" + file, kMaxLineBytes);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      "the run folder of `gandem train` is not '", path_, "' on this host (",
      text.status().message(),
      "): share it between the hosts, or pass --run_dir with the name that it "
      "has here"));
}

absl::Status RunFolder::Create(const std::string& name) const {
  const absl::Status away = absl::UnavailableError(
      absl::StrCat("the run folder '", path_,
                   "' is not there; is its file system still mounted?"));
  const int fd = OpenFile(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return away;
  if (fd < 0) return FileError(errno, "cannot open folder", path_);
  const absl::Cleanup close_folder = [fd] { close(fd); };
  if (!IsFolderIn(fd, "state")) return away;
  std::string folder;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    absl::StrAppend(&folder, folder.empty() ? "" : "/", part);
    if (mkdirat(fd, folder.c_str(), 0777) == 0) continue;
    const int error = errno;  // NFS may report an error other than EEXIST
    if (IsFolderIn(fd, folder)) continue;
    return FileError(error == EEXIST ? ENOTDIR : error, "cannot create folder",
                     absl::StrCat(path_, "/", folder));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunConfig> RunFolder::ReadConfig() const {
  const std::string path = path_ + "/config.textproto";
  if (PathExists(path)) return LoadRunConfig(path, {});
  return absl::NotFoundError(absl::StrCat(
      "'", path_, "' holds no run (there is no config.textproto); `gandem ",
      "train RECIPE --run_dir ", path_, "` makes one"));
}

absl::StatusOr<FoundCheckpoint> RunFolder::NewestCheckpoint() const {
  auto newest = FindNewestCheckpoint(path_);
  if (absl::IsNotFound(newest.status())) return FoundCheckpoint();
  return newest;
}

absl::StatusOr<std::string> RunFolder::ReadControlAddress() const {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(StatePath("control.addr"), kMaxLineBytes));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<RunCounters> RunFolder::ReadCounters() const {
  const std::string path = StatePath(kCounters);
  const auto counters = ReadState<RunCounters>(path);
  absl::Status bad = counters.status();
  if (bad.ok()) bad = Annotate(CheckCounters(*counters), path);
  if (!absl::IsInvalidArgument(bad)) return counters;
  return absl::DataLossError(absl::StrCat(
      bad.message(), "; write numbers into it that this run has not used ",
      "yet, as in 'run_epoch: 1000 incarnation: 1000'"));
}

absl::Status RunFolder::WriteCounters(const RunCounters& counters) const {
  return WriteState(StatePath(kCounters), counters);
}

absl::StatusOr<StatusReply> RunFolder::ReadWorkers() const {
  return ReadState<StatusReply>(StatePath(kWorkers));
}

// Keeps only what stays true after the run: the workers and their hosts.
absl::Status RunFolder::WriteWorkers(const StatusReply& status) const {
  StatusReply kept;
  kept.set_run_epoch(status.run_epoch());
  for (const WorkerStatus& worker : status.workers()) {
    WorkerStatus& copy = *kept.add_workers();
    copy.set_role(worker.role());
    copy.set_rank(worker.rank());
    copy.set_host(worker.host());
    copy.set_pid(worker.pid());
  }
  return WriteState(StatePath(kWorkers), kept);
}

absl::StatusOr<StatusReply> RunFolder::ReadFailure() const {
  return ReadState<StatusReply>(StatePath(kFailure));
}

absl::Status RunFolder::WriteFailure(const std::string& detail) const {
  StatusReply failure;
  failure.set_state(StatusReply::FAILED);
  // A worker's message may contain file names that are not text.
  failure.set_detail(PrintableText(detail));
  return WriteState(StatePath(kFailure), failure);
}

absl::Status RunFolder::RemoveFailure() const {
  return RemoveAll(StatePath(kFailure));
}

}  // namespace gandem
