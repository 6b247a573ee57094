// SPDX-License-Identifier: Apache-2.0
//
// Measures MB/s of generated images between two processes, alternating between
// the exchange service with checksums and a plain socket.
//
//   exchange_benchmark [--batches N] [--repetitions N] [--json FILE]
//
// Sends float32 batches of 4 MiB over a unix socket and over TCP on loopback.
// Prints the median and range of each rate, and the ratio of service to socket.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/measure.h"
#include "common/check.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

constexpr int64_t kBatch = 64;  // images, 4 MiB in total
constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr int64_t kWarmUp = 20;  // batches
// Number of buffers that both methods use in rotation, so that a batch's memory
// is not already in the CPU cache.
constexpr int64_t kBuffers = 6;
constexpr absl::Duration kPatience = absl::Minutes(2);

// --- The plain socket ---

// A socket address in the form of the system calls.
struct SocketName {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

SocketName NameOf(const std::string& address) {
  SocketName name;
  if (absl::StartsWith(address, "unix:")) {
    auto& to = reinterpret_cast<sockaddr_un&>(name.storage);
    to.sun_family = AF_UNIX;
    GANDEM_CHECK(address.size() - 5 < sizeof(to.sun_path));
    std::strcpy(to.sun_path, address.c_str() + 5);
    name.size = sizeof(to);
  } else {
    auto& to = reinterpret_cast<sockaddr_in&>(name.storage);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(std::stoi(address.substr(address.rfind(':') + 1)));
    name.size = sizeof(to);
  }
  return name;
}

void SendPlain(const std::string& address, int64_t batches) {
  const SocketName name = NameOf(address);
  const int fd = socket(name.storage.ss_family, SOCK_STREAM, 0);
  GANDEM_CHECK(connect(fd, name.get(), name.size) == 0);
  const std::vector<std::vector<char>> buffers(
      kBuffers, std::vector<char>(kBatchBytes, 1));
  for (int64_t i = 0; i < batches; ++i) {
    const std::vector<char>& batch = buffers[i % kBuffers];
    for (int64_t at = 0; at < kBatchBytes;) {
      const ssize_t sent = write(fd, batch.data() + at, kBatchBytes - at);
      GANDEM_CHECK(sent > 0);
      at += sent;
    }
  }
  close(fd);
}

double ReceivePlain(const std::string& address, int64_t batches,
                    const std::function<void(const std::string&)>& start) {
  const SocketName name = NameOf(address);
  const int listener = socket(name.storage.ss_family, SOCK_STREAM, 0);
  GANDEM_CHECK(bind(listener, name.get(), name.size) == 0);
  GANDEM_CHECK(listen(listener, 1) == 0);
  std::string where = address;
  if (name.storage.ss_family == AF_INET) {
    sockaddr_in bound = {};
    socklen_t size = sizeof(bound);
    getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
    where = absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
  }
  start(where);
  const int fd = accept(listener, nullptr, nullptr);
  GANDEM_CHECK(fd >= 0);
  std::vector<std::vector<char>> buffers(kBuffers,
                                         std::vector<char>(kBatchBytes));
  absl::Time begin;
  for (int64_t i = 0; i < batches; ++i) {
    std::vector<char>& batch = buffers[i % kBuffers];
    if (i == kWarmUp) begin = absl::Now();
    for (int64_t at = 0; at < kBatchBytes;) {
      const ssize_t got = read(fd, batch.data() + at, kBatchBytes - at);
      GANDEM_CHECK(got > 0);
      at += got;
    }
  }
  const absl::Duration time = absl::Now() - begin;
  close(fd);
  close(listener);
  return (batches - kWarmUp) * kBatchBytes / absl::ToDoubleSeconds(time) / 1e6;
}

// --- The service ---

ExchangeOptions RunOptions() {
  const TensorFormat format = {.channels = 4, .height = 64, .width = 64};
  GANDEM_CHECK(format.BytesPerImage() * kBatch == kBatchBytes);
  return {.schedule = {.lag = 4,
                       .generator_batch = kBatch,
                       .discriminator_batch = kBatch},
          .image_format = format,
          .feedback_format = format};
}

void SendThroughService(const std::string& address, int64_t batches) {
  const ExchangeOptions options = RunOptions();
  auto exchange =
      CreateExchangeClient({.address = address, .exchange = options});
  GANDEM_CHECK_OK(exchange.status());
  std::vector<SharedBytes> buffers;
  for (int64_t i = 0; i < kBuffers; ++i) {
    buffers.emplace_back(std::vector<std::byte>(kBatchBytes, std::byte{1}));
  }
  for (int64_t round = 0; round < batches; ++round) {
    GANDEM_CHECK_OK(
        (*exchange)->PutImages({.round = round,
                                .count = kBatch,
                                .generator_version = round,
                                .format = options.image_format,
                                .pixels = buffers[round % kBuffers]},
                               absl::Now() + kPatience));
    GANDEM_CHECK_OK((*exchange)
                        ->TakeCritic(options.schedule.CriticVersion(round),
                                     absl::Now() + kPatience)
                        .status());
  }
  GANDEM_CHECK_OK((*exchange)->Finish(absl::Now() + kPatience));
}

double ReceiveThroughService(
    const std::string& address, int64_t batches,
    const std::function<void(const std::string&)>& start) {
  const ExchangeOptions options = RunOptions();
  DiscriminatorEnd end(options);
  const auto server =
      ExchangeServer::Start({.address = address, .exchange = options}, &end);
  GANDEM_CHECK_OK(server.status());
  start((*server)->address());
  absl::Time begin;
  for (int64_t round = 0; round < batches; ++round) {
    if (round == kWarmUp) begin = absl::Now();
    GANDEM_CHECK_OK(end.PublishCritic(
        {.version = round, .bytes = SharedBytes(std::vector<std::byte>(1024))},
        absl::Now() + kPatience));
    GANDEM_CHECK_OK(
        end.TakeImages(round, 0, kBatch, absl::Now() + kPatience).status());
    end.FinishRound(round);
  }
  const absl::Duration time = absl::Now() - begin;
  GANDEM_CHECK_OK(end.WaitForGenerators(absl::Now() + kPatience).status());
  return (batches - kWarmUp) * kBatchBytes / absl::ToDoubleSeconds(time) / 1e6;
}

// --- Measurement ---

double MeasureOnce(const std::string& how, const std::string& address,
                   int64_t batches) {
  pid_t sender = -1;
  const auto start = [&](const std::string& where) {
    // Starts this program as the sender.
    sender = Spawn({"/proc/self/exe", "--send", how, "--address", where,
                    "--batches", absl::StrCat(batches)});
  };
  const double rate = how == "plain"
                          ? ReceivePlain(address, batches, start)
                          : ReceiveThroughService(address, batches, start);
  WaitForEnd(sender);
  return rate;
}

nlohmann::json Measure(int64_t batches, int64_t repetitions) {
  std::map<std::string, std::vector<double>> rates;
  for (int64_t i = 0; i < repetitions; ++i) {
    for (const std::string link : {"unix", "tcp"}) {
      for (const std::string how : {"plain", "service"}) {
        const auto folder = SocketFolder::Create();
        GANDEM_CHECK_OK(folder.status());
        const std::string address =
            link == "unix" ? (*folder)->AddressOf("exchange") : "127.0.0.1:0";
        rates[link + " " + how].push_back(MeasureOnce(how, address, batches));
      }
    }
  }
  nlohmann::json result;
  result["batch_bytes"] = kBatchBytes;
  result["batches"] = batches - kWarmUp;
  for (const auto& [name, values] : rates) {
    const Spread spread(values);
    result["mb_per_second"][name] = spread.ToJson();
    std::printf("%-14s %7.0f MB/s  (%.0f to %.0f)\n", name.c_str(),
                spread.median, spread.min, spread.max);
  }
  for (const std::string link : {"unix", "tcp"}) {
    const double ratio =
        Median(rates[link + " service"]) / Median(rates[link + " plain"]);
    result["ratio"][link] = ratio;
    std::printf("%-4s service / plain socket: %.2f\n", link.c_str(), ratio);
  }
  return result;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::testing::UseTestCredentials();
  CLI::App app("MB/s of the exchange against a plain socket");
  int64_t batches = 500;
  int64_t repetitions = 5;
  std::string json, send, address;
  app.add_option("--batches", batches, "Number of batches of 4 MiB")
      ->check(CLI::Range(gandem::kWarmUp + 1, int64_t{1} << 20));
  app.add_option("--repetitions", repetitions, "Repetitions")
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "JSON file for the result");
  app.add_option("--send", send, "(internal) Send by plain or by service");
  app.add_option("--address", address, "(internal) Address to send to");
  CLI11_PARSE(app, argc, argv);
  if (send == "plain") {
    gandem::SendPlain(address, batches);
  } else if (send == "service") {
    gandem::SendThroughService(address, batches);
  } else {
    gandem::WriteResult(json, gandem::Measure(batches, repetitions));
  }
  return 0;
}
