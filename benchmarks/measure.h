// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the benchmarks: statistics of repetitions, result files and child
// processes.
//
// Thread safety: any thread.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/files/file.h"

namespace gandem {

// Returns the median of at least one value. For an even number of values it is
// the larger of the middle two.
inline double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Spread {
  explicit Spread(const std::vector<double>& values)
      : median(Median(values)),
        min(std::ranges::min(values)),
        max(std::ranges::max(values)) {}
  nlohmann::json ToJson() const {
    return {{"median", median}, {"min", min}, {"max", max}};
  }

  double median;
  double min;
  double max;
};

// Writes the result to the file `path`. Does nothing if `path` is empty.
inline void WriteResult(const std::string& path, const nlohmann::json& result) {
  if (!path.empty()) GANDEM_CHECK_OK(WriteFile(path, result.dump(2) + "\n"));
}

inline pid_t Spawn(std::vector<std::string> arguments,
                   const posix_spawn_file_actions_t* actions = nullptr) {
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  pid_t pid = -1;
  GANDEM_CHECK(
      posix_spawnp(&pid, raw[0], actions, nullptr, raw.data(), environ) == 0);
  return pid;
}

inline void WaitForEnd(pid_t pid) {
  int status = 0;
  GANDEM_CHECK(waitpid(pid, &status, 0) == pid);
  GANDEM_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace gandem
