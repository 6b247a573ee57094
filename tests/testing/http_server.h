// SPDX-License-Identifier: Apache-2.0
//
// An HTTP/1.1 server on 127.0.0.1 that sends the test's answers unchanged,
// including invalid ones.
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
  int number = 0;  // number of the call at this server, from 0

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpServer {
 public:
  // Returns the whole answer. An answer with "Connection: close" closes the
  // connection afterwards; an empty answer closes it immediately.
  using Handler = std::function<std::string(const HttpCall& call)>;

  explicit HttpServer(Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // No handler may be blocked.
  ~HttpServer();

  // Returns "http://127.0.0.1:PORT" and `path`.
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

// Returns "HTTP/1.1 STATUS", `headers` (with "\r\n"), length and body.
std::string HttpAnswerText(int status, absl::string_view headers,
                           absl::string_view body);

// Returns the answer of a server with `file` to a call, with or without Range.
std::string RangeAnswer(const HttpCall& call, absl::string_view file,
                        absl::string_view headers = "ETag: \"1\"\r\n");

}  // namespace gandem::testing
