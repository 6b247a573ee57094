// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/control_endpoint.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/file.h"
#include "common/rpc/address.h"
#include "common/status.h"
#include "control_plane/commands/run_credentials.h"

namespace gandem {
namespace {

constexpr absl::Duration kMendInterval = absl::Seconds(2);
constexpr absl::Duration kMendErrorInterval = absl::Minutes(1);

std::string AddressPath(const std::string& run_dir) {
  return run_dir + "/state/control.addr";
}

}  // namespace

absl::StatusOr<std::string> ReadControlAddress(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(AddressPath(run_dir), 4096));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<std::unique_ptr<ControlEndpoint>> ControlEndpoint::Open(
    const Options& options, ControlService* service) {
  std::unique_ptr<ControlEndpoint> endpoint(
      new ControlEndpoint(options, service));
  GANDEM_ASSIGN_OR_RETURN(const std::string address, endpoint->ChooseAddress());
  GANDEM_RETURN_IF_ERROR(endpoint->Listen(address));
  // With the port that the system has chosen.
  endpoint->address_ = endpoint->servers_.front()->address();
  GANDEM_ASSIGN_OR_RETURN(const Address parsed,
                          ParseAddress(endpoint->address_));
  endpoint->socket_path_ = parsed.unix_path;
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(AddressPath(options.run_dir),
                                          endpoint->address_ + "\n"));
  return endpoint;
}

// The file goes first, so that nobody asks a server that has stopped.
ControlEndpoint::~ControlEndpoint() {
  RemoveAll(AddressPath(options_.run_dir)).IgnoreError();
}

absl::StatusOr<std::string> ControlEndpoint::ChooseAddress() {
  if (!options_.listen.empty()) return options_.listen;
  if (!options_.external) {
    GANDEM_ASSIGN_OR_RETURN(folder_, SocketFolder::Create());
    return folder_->AddressOf("control");
  }
  // Workers that outlive this process must find the next one.
  const std::string path = options_.run_dir + "/state/control.sock";
  if (path.size() > kMaxUnixPath) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is too long for a unix socket (at most ", kMaxUnixPath,
        " bytes): use --listen 127.0.0.1:PORT or a shorter --run_dir"));
  }
  return "unix:" + path;
}

absl::Status ControlEndpoint::Listen(const std::string& address) {
  GANDEM_ASSIGN_OR_RETURN(auto server,
                          StartControlServer({.address = address}, service_));
  servers_.push_back(std::move(server));
  return absl::OkStatus();
}

absl::StatusOr<bool> ControlEndpoint::Mend() {
  const bool no_socket = !socket_path_.empty() && !PathExists(socket_path_);
  const bool no_file = !PathExists(AddressPath(options_.run_dir));
  if (no_socket) {
    GANDEM_RETURN_IF_ERROR(folder_ != nullptr
                               ? folder_->Mend()
                               : CreateDirectories(ParentOf(socket_path_)));
    GANDEM_RETURN_IF_ERROR(Listen(address_));
  }
  if (no_file) {
    GANDEM_RETURN_IF_ERROR(CreateDirectories(options_.run_dir + "/state"));
    GANDEM_RETURN_IF_ERROR(
        WriteFileDurably(AddressPath(options_.run_dir), address_ + "\n"));
  }
  return no_socket || no_file;
}

// A removed file goes on growing, where nobody finds it. gandem.log is not one
// of them: it is made again with its next line.
std::vector<std::string> RunFolderMender::LostLogs() {
  const std::string folder = run_dir_ + "/logs";
  std::set<std::string> there;
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder);
  if (names.ok()) there.insert(names->begin(), names->end());
  std::vector<std::string> lost;
  for (const std::string& name : logs_) {
    if (!there.contains(name) && name != "gandem.log") lost.push_back(name);
  }
  logs_ = std::move(there);
  // Older ones go by themselves (common/files/rotation.h).
  std::erase_if(logs_, [](const std::string& name) {
    return std::ranges::count(name, '.') != 1 || !absl::EndsWith(name, ".log");
  });
  if (lost.empty()) return {};
  return {absl::StrCat("somebody has removed ", absl::StrJoin(lost, ", "),
                       " of ", folder, ": what these processes log is lost ",
                       "until they are started again")};
}

std::vector<std::string> RunFolderMender::Tend(absl::Time now) {
  if (now < next_) return {};
  next_ = now + kMendInterval;
  if (!PathExists(run_dir_)) return {};
  std::vector<std::string> lines = LostLogs();
  const absl::Status lock = lock_->Mend();
  if (absl::IsFailedPrecondition(lock)) {
    next_ = now + kMendErrorInterval;
    lines.push_back(absl::StrCat(
        lock.message(), "; what is written from now on goes into the new one"));
    return lines;
  }
  // Somebody who is about to be refused holds it for a moment.
  const bool lock_is_well = lock.ok() || absl::IsAlreadyExists(lock);
  const absl::StatusOr<bool> secrets = MendSecrets(run_dir_);
  const absl::StatusOr<bool> mended =
      secrets.ok() ? endpoint_->Mend() : secrets.status();
  if (mended.ok() && (*mended || *secrets)) {
    lines.push_back(absl::StrCat("somebody has removed the socket or ",
                                 run_dir_, "/state: listening at ",
                                 endpoint_->address(), " again"));
  }
  if (mended.ok() && lock_is_well) return lines;
  next_ = now + kMendErrorInterval;
  lines.push_back(absl::StrCat(
      "somebody has removed the socket or ", run_dir_,
      "/state, and it cannot be made again: ",
      mended.ok() ? lock.message() : mended.status().message(),
      "; the training goes on, but workers and `gandem status` may not find ",
      "it"));
  return lines;
}

}  // namespace gandem
