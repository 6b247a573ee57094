// SPDX-License-Identifier: Apache-2.0
//
// All-reduce between processes of this host over unix sockets: the ring of
// collective/, checksums included, and a plain ring over the same kind of
// sockets without any check, in turns.
//
//   collective_benchmark [--ranks N] [--bytes N ...] [--repetitions N]
//                        [--json FILE]
//
// Prints the median time of one all-reduce of float32, and the bus bandwidth
// 2 (N - 1) / N * bytes / time, which does not grow with N on equal links.
// benchmarks/gloo_allreduce.py measures Gloo in the same way.
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "collective/element_sum.h"
#include "collective/ring_collective.h"
#include "common/check.h"
#include "common/file.h"
#include "common/rpc/socket_folder.h"

namespace gandem {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

struct Job {
  int rank = 0;
  int ranks = 2;
  std::string folder;  // of the sockets
  std::vector<int64_t> bytes;
  int64_t repetitions = 5;
};

// --- The plain ring ---

int Connect(const std::string& path) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  GANDEM_CHECK(path.size() < sizeof(name.sun_path));
  std::strcpy(name.sun_path, path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const absl::Time deadline = absl::Now() + kPatience;
  while (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) {
    GANDEM_CHECK(absl::Now() < deadline);
    absl::SleepFor(absl::Milliseconds(10));
  }
  return fd;
}

int Listen(const std::string& path) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  GANDEM_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0);
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
    std::vector<float>& received = received_;
    received.resize(values.size() / ranks_ + 1);
    for (int step = 0; step < 2 * (ranks_ - 1); ++step) {
      const std::span<float> out = Segment(values, rank_ - 1 - step);
      const std::span<float> in = Segment(values, rank_ - 2 - step);
      if (step >= ranks_ - 1) {
        Exchange(std::as_bytes(out), std::as_writable_bytes(in));
        continue;
      }
      const std::span<float> first = std::span(received).first(in.size());
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

std::unique_ptr<Collective> JoinRing(const Job& job) {
  RingOptions options = {.rank = job.rank};
  for (int rank = 0; rank < job.ranks; ++rank) {
    options.peers.push_back(
        {.local_address = absl::StrCat("unix:", job.folder, "/ring", rank)});
  }
  auto listener = RingListener::Start(
      {.local_address = options.peers[job.rank].local_address});
  GANDEM_CHECK_OK(listener.status());
  auto ring = CreateRing(*std::move(listener), options);
  GANDEM_CHECK_OK(ring.status());
  return *std::move(ring);
}

// --- Both ---

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds of one all-reduce, by how and number of bytes; all repetitions.
using Times = std::map<std::string, std::map<int64_t, std::vector<double>>>;

Times Measure(const Job& job) {
  const auto ring = JoinRing(job);
  PlainRing plain(job);
  Times times;
  for (int64_t repetition = 0; repetition <= job.repetitions; ++repetition) {
    for (const int64_t bytes : job.bytes) {
      std::vector<float> values(bytes / 4);
      const int64_t calls =
          std::clamp<int64_t>((int64_t{64} << 20) / bytes, 2, 200);
      for (const std::string how : {"ring", "plain"}) {
        GANDEM_CHECK_OK(ring->Wait(ring->Barrier(), absl::Now() + kPatience));
        const absl::Time begin = absl::Now();
        for (int64_t call = 0; call < calls; ++call) {
          if (how == "plain") {
            plain.AllReduce(values);
          } else {
            GANDEM_CHECK_OK(ring->Wait(
                ring->AllReduce(std::as_writable_bytes(std::span(values)),
                                ElementType::kFloat32),
                absl::Now() + kPatience));
          }
        }
        const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
        if (repetition > 0) times[how][bytes].push_back(seconds / calls);
      }
    }
  }
  GANDEM_CHECK_OK(ring->Wait(ring->Barrier(), absl::Now() + kPatience));
  return times;
}

nlohmann::json Report(const Job& job, const Times& times) {
  nlohmann::json result;
  result["ranks"] = job.ranks;
  for (const int64_t bytes : job.bytes) {
    for (const auto& [how, of_how] : times) {
      const std::vector<double>& all = of_how.at(bytes);
      const double seconds = Median(all);
      const double bus =
          2.0 * (job.ranks - 1) / job.ranks * bytes / seconds / 1e9;
      const auto [low, high] = std::minmax_element(all.begin(), all.end());
      std::printf("%10lld bytes  %-6s %9.3f ms (%.3f to %.3f)  %6.3f GB/s\n",
                  static_cast<long long>(bytes), how.c_str(), seconds * 1e3,
                  *low * 1e3, *high * 1e3, bus);
      result["results"].push_back({{"bytes", bytes},
                                   {"how", how},
                                   {"milliseconds", seconds * 1e3},
                                   {"bus_gb_per_second", bus}});
    }
  }
  return result;
}

// This program again, as another rank.
pid_t StartRank(const Job& job, int rank) {
  std::vector<std::string> arguments = {
      "/proc/self/exe",
      absl::StrCat("--rank=", rank),
      absl::StrCat("--ranks=", job.ranks),
      absl::StrCat("--folder=", job.folder),
      absl::StrCat("--repetitions=", job.repetitions),
      absl::StrCat("--bytes=", absl::StrJoin(job.bytes, ","))};
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  pid_t pid = -1;
  GANDEM_CHECK(
      posix_spawn(&pid, raw[0], nullptr, nullptr, raw.data(), environ) == 0);
  return pid;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  CLI::App app("All-reduce over gRPC against a plain socket ring");
  gandem::Job job;
  job.bytes = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
  std::string json;
  app.add_option("--ranks", job.ranks, "processes")->check(CLI::Range(2, 16));
  app.add_option("--bytes", job.bytes, "of the buffers")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{4}, int64_t{1} << 30));
  app.add_option("--repetitions", job.repetitions, "of all, in turns")
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "file for the result");
  app.add_option("--rank", job.rank, "(internal) be another rank");
  app.add_option("--folder", job.folder, "(internal) of the sockets");
  CLI11_PARSE(app, argc, argv);
  if (job.rank != 0) {
    gandem::Measure(job);
    return 0;
  }
  const auto folder = gandem::SocketFolder::Create();
  GANDEM_CHECK_OK(folder.status());
  job.folder = (*folder)->path();
  std::vector<pid_t> others;
  for (int rank = 1; rank < job.ranks; ++rank) {
    others.push_back(gandem::StartRank(job, rank));
  }
  const nlohmann::json result = gandem::Report(job, gandem::Measure(job));
  for (const pid_t other : others) {
    int status = 0;
    GANDEM_CHECK(waitpid(other, &status, 0) == other);
    GANDEM_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  if (!json.empty()) {
    GANDEM_CHECK_OK(gandem::WriteFile(json, result.dump(2) + "\n"));
  }
  return 0;
}
