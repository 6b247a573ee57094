// SPDX-License-Identifier: Apache-2.0
//
// A server of HTTP/1.1 on 127.0.0.1 that answers what the test says, byte for
// byte: also what no honest server would.
//
// Owner: the test. Thread safety: the handler is called by many threads.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem::testing {

struct HttpCall {
  std::string target = {};                          // "/path?query"
  std::map<std::string, std::string> headers = {};  // lower-case names
  int number = 0;  // of all calls of this server, from 0 on

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpServer {
 public:
  // Returns the whole answer. The connection is closed after one that says
  // "Connection: close", and in place of one that is empty.
  using Handler = std::function<std::string(const HttpCall& call)>;

  explicit HttpServer(Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Handlers must not wait for anything any more.
  ~HttpServer();

  // "http://127.0.0.1:PORT" and `path`.
  std::string Url(absl::string_view path) const;
  std::vector<HttpCall> calls() const;

 private:
  void Accept();
  void Serve(int connection);

  const Handler handler_;
  const int listener_;
  int port_ = 0;
  mutable absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<HttpCall> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<int> connections_ ABSL_GUARDED_BY(mu_);
  std::vector<Thread> threads_ ABSL_GUARDED_BY(mu_);
  Thread accepter_;
};

// "HTTP/1.1 STATUS", `headers` (each with "\r\n"), the length and the body.
std::string HttpAnswerText(int status, absl::string_view headers,
                           absl::string_view body);

// The answer of a server that has `file` to a call with a Range, or without.
std::string RangeAnswer(const HttpCall& call, absl::string_view file,
                        absl::string_view headers = "ETag: \"1\"\r\n");

}  // namespace gandem::testing
