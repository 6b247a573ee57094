// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"

namespace gandem::testing {
namespace {

// Reads up to the empty line; returns nullopt if the connection ended.
std::optional<std::string> ReadHead(int connection) {
  std::string head;
  char byte = 0;
  while (!absl::EndsWith(head, "\r\n\r\n")) {
    if (recv(connection, &byte, 1, 0) != 1) return std::nullopt;
    head.push_back(byte);
  }
  return head;
}

HttpCall ParseHead(const std::string& head) {
  HttpCall call;
  const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() > 1) call.target = words[1];
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
    call.headers[absl::AsciiStrToLower(header.first)] = header.second;
  }
  return call;
}

bool SendAll(int connection, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

HttpServer::HttpServer(Handler handler)
    : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  GANDEM_CHECK(bind(listener_, any, size) == 0);
  GANDEM_CHECK(listen(listener_, 128) == 0);
  GANDEM_CHECK(getsockname(listener_, any, &size) == 0);
  port_ = ntohs(address.sin_port);
  accepter_ = Thread("http_accept", [this] { Accept(); });
}

HttpServer::~HttpServer() {
  {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
    for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  accepter_.Join();
  std::vector<Thread> threads;
  {
    absl::MutexLock lock(&mu_);
    threads = std::move(threads_);
  }
  threads.clear();
  absl::MutexLock lock(&mu_);
  for (const int connection : connections_) close(connection);
  close(listener_);
}

std::string HttpServer::Url(absl::string_view path) const {
  return absl::StrCat("http://127.0.0.1:", port_, path);
}

std::vector<HttpCall> HttpServer::calls() const {
  absl::MutexLock lock(&mu_);
  return calls_;
}

void HttpServer::Accept() {
  while (true) {
    const int connection = accept(listener_, nullptr, nullptr);
    absl::MutexLock lock(&mu_);
    if (connection < 0 || stopped_) {
      if (connection >= 0) close(connection);
      return;
    }
    connections_.push_back(connection);
    threads_.emplace_back("http_serve",
                          [this, connection] { Serve(connection); });
  }
}

// Sockets are closed in the destructor only, so that no descriptor is reused.
void HttpServer::Serve(int connection) {
  while (const auto head = ReadHead(connection)) {
    HttpCall call = ParseHead(*head);
    {
      absl::MutexLock lock(&mu_);
      call.number = static_cast<int>(calls_.size());
      calls_.push_back(call);
    }
    const std::string answer = handler_(call);
    if (!SendAll(connection, answer) || answer.empty() ||
        absl::StrContains(answer.substr(0, 1000), "Connection: close")) {
      break;
    }
  }
  shutdown(connection, SHUT_RDWR);
}

std::string HttpAnswerText(int status, absl::string_view headers,
                           absl::string_view body) {
  return absl::StrCat("HTTP/1.1 ", status, " Said\r\n", headers,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

std::string RangeAnswer(const HttpCall& call, absl::string_view file,
                        absl::string_view headers) {
  long long first = 0;  // NOLINT(runtime/int): of sscanf
  long long last = 0;   // NOLINT(runtime/int)
  if (std::sscanf(call.Header("range").c_str(), "bytes=%lld-%lld", &first,
                  &last) != 2) {
    return HttpAnswerText(200, headers, file);
  }
  const auto size = std::ssize(file);
  if (first >= size) return HttpAnswerText(416, headers, "");
  if (last >= size) last = size - 1;
  return HttpAnswerText(206,
                        absl::StrCat(headers, "Content-Range: bytes ", first,
                                     "-", last, "/", size, "\r\n"),
                        file.substr(static_cast<size_t>(first),
                                    static_cast<size_t>(last - first + 1)));
}

}  // namespace gandem::testing
