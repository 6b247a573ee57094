// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem doctor`.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/doctor/doctor_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class DoctorArguments {
 public:
  // Adds the command to `app`, which outlives this.
  explicit DoctorArguments(CLI::App& app);
  DoctorArguments(const DoctorArguments&) = delete;
  DoctorArguments& operator=(const DoctorArguments&) = delete;

  // After parsing. None: another command was given.
  std::optional<DoctorOptions> Given() const;

 private:
  CLI::App& command_;
  DoctorOptions options_;
};

}  // namespace gandem
