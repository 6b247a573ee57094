// SPDX-License-Identifier: Apache-2.0
#include "common/results/run_folders.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/status.h"

namespace gandem {
namespace {

namespace fs = std::filesystem;

absl::Status CheckRunFolder(const std::string& path) {
  const FileWait wait(path);
  std::error_code error;
  // A link that leads nowhere is something, though stat() finds nothing.
  const bool is_there =
      fs::symlink_status(path, error).type() != fs::file_type::not_found;
  if (!is_there || fs::is_directory(path, error)) return absl::OkStatus();
  if (fs::is_symlink(path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path, "' is a link to '", fs::read_symlink(path, error).string(),
        "', where no folder is: make that folder, or remove the link"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path, "' is no folder, and the run needs one of this name: ",
      "move it away, or choose another --run_dir"));
}

}  // namespace

absl::Status CheckRunFolders(const std::string& run_dir) {
  for (const char* const name :
       {"checkpoints", "samples", "logs", "state", "init", "tensorboard",
        "trace", "evaluation"}) {
    GANDEM_RETURN_IF_ERROR(CheckRunFolder(absl::StrCat(run_dir, "/", name)));
  }
  const std::string logs = run_dir + "/logs";
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(logs);
  if (!names.ok()) return absl::OkStatus();  // who writes into it will say so
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".log")) continue;
    GANDEM_RETURN_IF_ERROR(CheckIsNoPipe(absl::StrCat(logs, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace gandem
