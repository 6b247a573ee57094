// SPDX-License-Identifier: Apache-2.0
#include "training/state/catch_torch.h"

#include <exception>
#include <new>

#include "common/process/log.h"
#include "models/torch.h"
#include "training/state/status_error.h"

namespace gandem {

absl::Status CatchTorch(absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const StatusError& error) {
    return error.status();
  } catch (const c10::OutOfMemoryError& error) {
    GANDEM_LOG_ERROR("{}", error.what());
    return absl::ResourceExhaustedError(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const c10::Error& error) {
    GANDEM_LOG_ERROR("{}", error.what());
    return absl::InternalError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace gandem
