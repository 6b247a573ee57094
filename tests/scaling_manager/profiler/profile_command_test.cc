// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/process/signals.h"
#include "common/process/thread.h"
#include "pipeline/interruptible_reads.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

constexpr char kHangingRecipe[] = R"(
  rounds: 10
  data { image_size: 8 }
  generator { network { mlp { hidden: 4 } } batch_size: 8 }
  discriminator { network { mlp { hidden: 4 } } batch_size: 8 })";

// The workers only report that they have started.
class ProfileCommandTest : public ::testing::Test {
 protected:
  ProfileCommandTest() {
    BlockSignals({SIGINT, SIGTERM});  // like main()
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    for (const char* const name :
         {"generator_worker", "discriminator_worker"}) {
      const std::string path = folder_ / name;
      EXPECT_OK(WriteFile(
          path, "#!/bin/sh\ntouch '" + started_ + "'\nexec sleep 600\n"));
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    request_.recipe =
        EffectiveConfig(*ParseRunConfig(kHangingRecipe, "recipe", {}));
    request_.output = folder_ / "m.profile";
    request_.program = {.binary_folder = folder_.path()};
  }
  ~ProfileCommandTest() override { unsetenv("XDG_CACHE_HOME"); }

  absl::Status RunInterrupted() {
    const Thread user("user", [this] {
      while (!PathExists(started_)) absl::SleepFor(absl::Milliseconds(5));
      kill(getpid(), SIGINT);
    });
    std::ostringstream out;
    return RunProfile(request_, out);
  }

  const TempDir folder_;
  const std::string started_ = folder_ / "started";
  ProfileRequest request_;
};

TEST_F(ProfileCommandTest, CtrlCEndsTheProfile) {
  EXPECT_THAT(RunInterrupted(), StatusIs(absl::StatusCode::kCancelled,
                                         HasSubstr("same command resumes")));
}

// Either of the two threads that wait for signals may receive the signal.
TEST_F(ProfileCommandTest, CtrlCEndsTheProfileOfACommandThatHandlesSignals) {
  for (int i = 0; i < 5; ++i) {
    std::filesystem::remove(started_);
    const InterruptibleReads reads;
    EXPECT_THAT(RunInterrupted(), StatusIs(absl::StatusCode::kCancelled,
                                           HasSubstr("same command resumes")));
  }
}

}  // namespace
}  // namespace gandem
