// SPDX-License-Identifier: Apache-2.0
#include "training/state/catch_torch.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Logs an error with its backtrace, except on a terminal (`gandem sample`),
// where the frames would hide the command's own message.
void LogWithFrames(const c10::Error& error) {
  if (isatty(STDERR_FILENO) == 0) GANDEM_LOG_ERROR("{}", error.what());
}

// Most of these errors mean that a thread cannot be started; their message is
// only "Resource temporarily unavailable".
absl::Status FromSystemError(const std::system_error& error) {
  if (error.code() != std::errc::resource_unavailable_try_again &&
      error.code() != std::errc::not_enough_memory) {
    return absl::InternalError(error.what());
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the system gives no more memory or threads (", error.what(),
                   "): look at `ulimit -v`, `ulimit -u` and the limits of the ",
                   "container, or let the role have fewer threads"));
}

}  // namespace

absl::Status CatchTorch(absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const StatusError& error) {
    return error.status();
  } catch (const c10::OutOfMemoryError& error) {
    LogWithFrames(error);
    return absl::ResourceExhaustedError(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::system_error& error) {
    return FromSystemError(error);
  } catch (const c10::Error& error) {
    LogWithFrames(error);
    return absl::InternalError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace gandem
