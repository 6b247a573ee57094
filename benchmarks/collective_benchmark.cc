// SPDX-License-Identifier: Apache-2.0
//
// Compares all-reduce implementations between processes of this host: the ring
// of collective/ with checksums; that ring over unix sockets instead of shared
// memory; a plain ring over unix sockets without checks; and, with --python,
// Gloo through torch.distributed. The measurements alternate, so that a change
// of the machine's speed affects all of them.
//
//   collective_benchmark [--ranks N,N...] [--bytes N,N...] [--repetitions N]
//                        [--python VENV/bin/python] [--json FILE]
//
// Prints the median time of a float32 all-reduce, the bus bandwidth
// 2 (N - 1) / N * bytes / time, and the median ratios of the ring's speed to
// those of the plain ring and of Gloo.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "benchmarks/measure.h"
#include "collective/element_sum.h"
#include "collective/ring_collective.h"
#include "common/check.h"
#include "common/rpc/socket_folder.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

struct Job {
  int rank = 0;
  int ranks = 2;
  std::string folder;  // holds the sockets
  std::vector<int64_t> bytes;
  int64_t repetitions = 5;
  std::vector<std::string> ways = {"ring", "stream", "plain"};
  int64_t chunk_bytes = RingOptions().chunk_bytes;
  std::string python;  // empty: Gloo is not measured
};

// --- The plain ring ---

sockaddr_un UnixName(const std::string& path) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  GANDEM_CHECK(path.size() < sizeof(name.sun_path));
  std::strcpy(name.sun_path, path.c_str());
  return name;
}

int Connect(const std::string& path) {
  const sockaddr_un name = UnixName(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const absl::Time deadline = absl::Now() + kPatience;
  while (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) !=
         0) {
    GANDEM_CHECK(absl::Now() < deadline);
    absl::SleepFor(absl::Milliseconds(10));
  }
  return fd;
}

int Listen(const std::string& path) {
  const sockaddr_un name = UnixName(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  GANDEM_CHECK(
      bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
  GANDEM_CHECK(listen(fd, 1) == 0);
  return fd;
}

class PlainRing {
 public:
  explicit PlainRing(const Job& job) : rank_(job.rank), ranks_(job.ranks) {
    const auto path = [&](int rank) {
      return absl::StrCat(job.folder, "/plain", rank);
    };
    const int listener = Listen(path(rank_));
    right_ = Connect(path((rank_ + 1) % ranks_));
    left_ = accept(listener, nullptr, nullptr);
    GANDEM_CHECK(left_ >= 0);
    close(listener);
  }
  ~PlainRing() {
    close(right_);
    close(left_);
  }

  void AllReduce(std::span<float> values) {
    received_.resize(values.size() / ranks_ + 1);
    for (int step = 0; step < 2 * (ranks_ - 1); ++step) {
      const std::span<float> out = Segment(values, rank_ - 1 - step);
      const std::span<float> in = Segment(values, rank_ - 2 - step);
      if (step >= ranks_ - 1) {
        Exchange(std::as_bytes(out), std::as_writable_bytes(in));
        continue;
      }
      const std::span<float> first = std::span(received_).first(in.size());
      Exchange(std::as_bytes(out), std::as_writable_bytes(first));
      AddElements(ElementType::kFloat32, std::as_bytes(first),
                  std::as_writable_bytes(in));
    }
  }

 private:
  std::span<float> Segment(std::span<float> values, int segment) const {
    const size_t index = (segment + 2 * ranks_) % ranks_;
    const size_t begin = values.size() * index / ranks_;
    return values.subspan(begin, values.size() * (index + 1) / ranks_ - begin);
  }

  void Exchange(std::span<const std::byte> out, std::span<std::byte> in) {
    while (!out.empty() || !in.empty()) {
      pollfd both[] = {
          {.fd = out.empty() ? -1 : right_, .events = POLLOUT, .revents = 0},
          {.fd = in.empty() ? -1 : left_, .events = POLLIN, .revents = 0}};
      GANDEM_CHECK(poll(both, 2, -1) > 0);
      if (both[0].revents != 0) {
        const ssize_t sent =
            send(right_, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        GANDEM_CHECK(sent > 0 || errno == EAGAIN);
        if (sent > 0) out = out.subspan(sent);
      }
      if (both[1].revents != 0) {
        const ssize_t got = recv(left_, in.data(), in.size(), MSG_DONTWAIT);
        GANDEM_CHECK(got > 0 || errno == EAGAIN);
        if (got > 0) in = in.subspan(got);
      }
    }
  }

  const int rank_;
  const int ranks_;
  int right_ = -1;
  int left_ = -1;
  std::vector<float> received_;
};

// --- The collective ---

std::unique_ptr<Collective> JoinRing(const Job& job, bool shares_memory) {
  const std::string name = shares_memory ? "ring" : "stream";
  RingOptions options = {.rank = job.rank,
                         .chunk_bytes = job.chunk_bytes,
                         .shares_memory = shares_memory};
  for (int rank = 0; rank < job.ranks; ++rank) {
    options.peers.push_back(
        {.local_address = absl::StrCat("unix:", job.folder, "/", name, rank)});
  }
  auto listener = RingListener::Start(
      {.local_address = options.peers[job.rank].local_address});
  GANDEM_CHECK_OK(listener.status());
  auto ring = CreateRing(*std::move(listener), options);
  GANDEM_CHECK_OK(ring.status());
  return *std::move(ring);
}

// --- Gloo ---

// The process of gloo_allreduce.py, which starts all Gloo ranks itself.
class Gloo {
 public:
  Gloo(const std::string& python, int ranks) {
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};
    GANDEM_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    pid_ = Spawn({python, GANDEM_GLOO_SCRIPT, absl::StrCat("--ranks=", ranks)},
                 &actions);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    input_ = fdopen(to[1], "w");
    output_ = fdopen(from[0], "r");
  }
  ~Gloo() {
    std::fclose(input_);
    WaitForEnd(pid_);
    std::fclose(output_);
  }

  double Seconds(int64_t bytes, int64_t calls) {
    std::fprintf(input_, "%s\n", absl::StrCat(bytes, " ", calls).c_str());
    std::fflush(input_);
    double seconds = 0;
    GANDEM_CHECK(std::fscanf(output_, "%lf", &seconds) == 1);
    return seconds;
  }

 private:
  FILE* input_ = nullptr;
  FILE* output_ = nullptr;
  pid_t pid_ = -1;
};

// --- Measurement ---

// Seconds per all-reduce in each repetition, by implementation and bytes.
using Times = std::map<std::string, std::map<int64_t, std::vector<double>>>;

Times Measure(const Job& job) {
  const auto ring = JoinRing(job, /*shares_memory=*/true);
  const auto stream = JoinRing(job, /*shares_memory=*/false);
  PlainRing plain(job);
  std::optional<Gloo> gloo;
  if (!job.python.empty()) gloo.emplace(job.python, job.ranks);
  std::vector<float> values;
  const auto sum_with = [&](Collective& collective) {
    GANDEM_CHECK_OK(collective.Wait(
        collective.AllReduce(std::as_writable_bytes(std::span(values)),
                             ElementType::kFloat32),
        absl::Now() + kPatience));
  };
  const std::pair<std::string, std::function<void()>> ways[] = {
      {"ring", [&] { sum_with(*ring); }},
      {"stream", [&] { sum_with(*stream); }},
      {"plain", [&] { plain.AllReduce(values); }}};
  Times times;
  for (int64_t repetition = 0; repetition <= job.repetitions; ++repetition) {
    for (const int64_t bytes : job.bytes) {
      values.assign(bytes / 4, 0.0F);
      const int64_t calls =
          std::clamp<int64_t>((int64_t{64} << 20) / bytes, 2, 200);
      const auto add = [&](const std::string& how, double seconds) {
        if (repetition > 0) times[how][bytes].push_back(seconds);
      };
      for (const auto& [how, all_reduce] : ways) {
        if (std::ranges::count(job.ways, how) == 0) continue;
        GANDEM_CHECK_OK(ring->Wait(ring->Barrier(), absl::Now() + kPatience));
        const absl::Time begin = absl::Now();
        for (int64_t call = 0; call < calls; ++call) all_reduce();
        add(how, absl::ToDoubleSeconds(absl::Now() - begin) / calls);
      }
      if (gloo.has_value()) add("gloo", gloo->Seconds(bytes, calls));
    }
  }
  GANDEM_CHECK_OK(ring->Wait(ring->Barrier(), absl::Now() + kPatience));
  return times;
}

// Returns the median and the range of the speed ratios of all repetitions.
std::string SpeedOver(const std::vector<double>& ours,
                      const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) {
    ratios.push_back(theirs[i] / ours[i]);
  }
  const Spread spread(ratios);
  return absl::StrFormat("%.2f (%.2f to %.2f)", spread.median, spread.min,
                         spread.max);
}

nlohmann::json Report(const Job& job, const Times& times) {
  std::printf("\n%d ranks, %s repetitions; milliseconds, and bus GB/s\n\n",
              job.ranks, absl::StrCat(job.repetitions).c_str());
  std::string headings = "| bytes |";
  std::string line = "|---|";
  for (const auto& [how, of_how] : times) {
    absl::StrAppend(&headings, " ", how, " | |");
    absl::StrAppend(&line, "---|---|");
  }
  std::printf("%s ring / plain | ring / Gloo |\n%s---|---|\n", headings.c_str(),
              line.c_str());
  nlohmann::json result;
  result["ranks"] = job.ranks;
  for (const int64_t bytes : job.bytes) {
    std::string row = absl::StrCat("| ", bytes, " |");
    nlohmann::json& of_size = result["results"].emplace_back();
    of_size["bytes"] = bytes;
    for (const auto& [how, of_how] : times) {
      const std::vector<double>& seconds = of_how.at(bytes);
      const double bus = 2.0 * (job.ranks - 1) / job.ranks *
                         static_cast<double>(bytes) / Median(seconds) / 1e9;
      absl::StrAppendFormat(&row, " %.3f | %.2f |", Median(seconds) * 1e3, bus);
      of_size["seconds"][how] = seconds;
    }
    const auto over = [&](const std::string& other) {
      const auto it = times.find(other);
      return it == times.end()
                 ? ""
                 : SpeedOver(times.at("ring").at(bytes), it->second.at(bytes));
    };
    std::printf("%s %s | %s |\n", row.c_str(), over("plain").c_str(),
                over("gloo").c_str());
  }
  return result;
}

pid_t StartRank(const Job& job, int rank) {
  return Spawn({"/proc/self/exe", absl::StrCat("--rank=", rank),
                absl::StrCat("--ranks=", job.ranks),
                absl::StrCat("--folder=", job.folder),
                absl::StrCat("--ways=", absl::StrJoin(job.ways, ",")),
                absl::StrCat("--chunk_bytes=", job.chunk_bytes),
                absl::StrCat("--repetitions=", job.repetitions),
                absl::StrCat("--bytes=", absl::StrJoin(job.bytes, ","))});
}

nlohmann::json MeasureAndReport(Job job) {
  const auto folder = SocketFolder::Create();
  GANDEM_CHECK_OK(folder.status());
  job.folder = (*folder)->path();
  std::vector<pid_t> others;
  for (int rank = 1; rank < job.ranks; ++rank) {
    others.push_back(StartRank(job, rank));
  }
  nlohmann::json result = Report(job, Measure(job));
  for (const pid_t other : others) WaitForEnd(other);
  return result;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::testing::UseTestCredentials();
  CLI::App app("All-reduce of collective/ against Gloo and a plain ring");
  gandem::Job job;
  job.bytes = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20};
  std::vector<int> ranks = {2, 4};
  std::string json;
  app.add_option("--ranks", ranks, "Numbers of processes, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(2, 16));
  app.add_option("--bytes", job.bytes, "Buffer sizes in bytes")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{4}, int64_t{1} << 30));
  app.add_option("--repetitions", job.repetitions, "Repetitions")
      ->check(CLI::Range(1, 1000));
  app.add_option("--ways", job.ways, "Methods: ring (required), stream, plain")
      ->delimiter(',');
  app.add_option("--chunk_bytes", job.chunk_bytes, "Chunk size of the ring");
  app.add_option("--python", job.python, "Python with torch, to measure Gloo");
  app.add_option("--json", json, "JSON file for the result");
  app.add_option("--rank", job.rank, "(internal) Rank");
  app.add_option("--folder", job.folder, "(internal) Folder of the sockets");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json result;
  for (const int size : ranks) {
    job.ranks = size;
    if (job.rank != 0) {
      gandem::Measure(job);
    } else {
      result.push_back(gandem::MeasureAndReport(job));
    }
  }
  gandem::WriteResult(json, result);
  return 0;
}
