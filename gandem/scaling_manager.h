// SPDX-License-Identifier: Apache-2.0
//
// Trains and evaluates a GAN from your own program:
//
//   gandem::ScalingManager manager(gandem::Recipe::FromFile("tiny.textproto"),
//                                  /*batch_size=*/64, /*num_workers=*/2);
//   manager.Train({.networks = "tiny", .worker = "./tiny_worker"});
//   manager.Evaluate("fid");
//
// It runs `gandem train` and `gandem evaluate` as child processes, which end
// with your program, and returns their results. The interface needs only the
// standard library, so your program may use any version of LibTorch, Abseil or
// Protobuf.
//
// Owner: the caller. Thread safety: one call of an object at a time, on any
// thread. The child process ends when the calling thread ends. The process must
// neither ignore SIGCHLD nor wait for children that it did not start. Errors:
// gandem::Error. Every call has a time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// gandemConfig.cmake defines this as the folder of the installed programs.
#ifndef GANDEM_PROGRAM_FOLDER
#define GANDEM_PROGRAM_FOLDER ""
#endif

namespace gandem {

// The message names the fault and the next step, and has the last lines of the
// log if a program failed.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A run config (`gandem explain`, recipes/).
class Recipe {
 public:
  static Recipe FromFile(const std::string& path);
  static Recipe FromText(std::string text);
  // Same as `gandem train --set field=value`; also overrides the manager's own
  // settings.
  Recipe& Set(const std::string& field, const std::string& value);

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }  // for messages
  const std::vector<std::string>& sets() const { return sets_; }

 private:
  Recipe(std::string text, std::string name);

  std::string text_;
  std::string name_;
  std::vector<std::string> sets_;
};

struct Gan {
  // Name of both networks in `worker`; empty for the networks of the recipe.
  std::string networks = {};
  // Program that defines them (gandem/worker.h); empty for gandem's programs.
  std::string worker = {};
};

struct TrainResult {
  bool is_complete = false;      // all rounds of the recipe are done
  std::string exit_reason = {};  // "complete", or why the run stopped early
  int64_t rounds = 0;            // rounds of the newest checkpoint
  int64_t images = 0;            // images generated in those rounds
  double images_per_second = 0;  // 0 if there are too few rounds
  std::string checkpoint = {};   // newest checkpoint folder, or empty
};

struct Score {
  std::string name = {};  // "FD(network)", "FID" ... (docs/evaluation.md)
  double value = 0;
  // 95% interval, value -+ 1.96 standard deviations, if the metric has one.
  std::optional<double> low = {};
  std::optional<double> high = {};
  int64_t num_images = 0;  // number of evaluated images
};

class ScalingManager {
 public:
  // `batch_size`: images per discriminator step over all workers. A generator
  // step has the same number, or with schedule.image_source REUSED that of all
  // discriminator steps of a round.
  // `num_workers`: worker processes. With 1, both networks share one process;
  // otherwise half of them, rounded down, are generators.
  // `run_dir`: folder of the run; if empty, runs/NAME with the recipe's `name`.
  // An existing run is resumed.
  // `programs`: folder of `gandem` and its other programs. GANDEM_PROGRAMS in
  // the environment has precedence; the default is the folder of this program.
  ScalingManager(Recipe recipe, int64_t batch_size, int num_workers,
                 std::string run_dir = "",
                 std::string programs = GANDEM_PROGRAM_FOLDER);

  // Returns when the run is complete or has stopped at a checkpoint; after
  // `limit` it is told to stop. Call it once per object; for more rounds make
  // another object with the same run_dir.
  TrainResult Train(const Gan& gan,
                    std::chrono::seconds limit = std::chrono::hours(24 * 365));

  // Returns the first value of `metric` ("fid", "is", "kid", "prdc",
  // "fid_infinity", "cmmd") for the newest checkpoint. `arguments`: further
  // arguments of `gandem evaluate`.
  Score Evaluate(const std::string& metric,
                 const std::vector<std::string>& arguments = {},
                 std::chrono::seconds limit = std::chrono::hours(24));

  const std::string& run_dir() const { return run_dir_; }

 private:
  std::vector<std::string> TrainArguments(const Gan& gan) const;
  TrainResult ResultOf(const std::string& exit_reason) const;

  Recipe recipe_;
  std::vector<std::string> sets_;  // this manager's, then the recipe's
  std::string run_dir_;            // absolute
  std::string programs_;
  int num_workers_;
  std::string worker_;  // Gan.worker of Train
  bool has_trained_ = false;
};

}  // namespace gandem
