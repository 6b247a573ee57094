// SPDX-License-Identifier: Apache-2.0
//
// One GET of a range, by libcurl: no retries, no redirects, no judgment.
// Connections are kept for the next request (a pool of multi handles, each of
// which has one request at a time, and a second one for the same if it is
// slow). HTTP/1.1, so that requests at the same time share no connection;
// certificates and names of servers are verified, by the system's authorities
// or those of CURL_CA_BUNDLE or SSL_CERT_FILE; ~/.netrc has passwords for HTTP.
//
// Owner: the process's RemoteReader. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "pipeline/memory/page_allocator.h"
#include "pipeline/remote/http_headers.h"

namespace gandem {

// Of Amazon's Signature Version 4. Never in a message.
struct AwsKey {
  std::string id = {};
  std::string secret = {};
  std::string token = {};  // of a session; empty: none

  bool empty() const { return id.empty(); }
};

struct HttpRequest {
  std::string url = {};  // http:// or https://
  int64_t first = 0;
  int64_t size = 0;                       // 0: all, without a Range header
  std::vector<std::string> headers = {};  // "Name: value"
  bool use_netrc = true;
  AwsKey key = {};          // empty: not signed
  std::string region = {};  // of the signature
};

struct HttpLimits {
  absl::Duration connect = absl::Seconds(10);
  // Without a byte for so long, the request failed.
  absl::Duration silence = absl::Seconds(10);
  // Where an answer of one version stands still for so long, the rest of it is
  // asked for over a new connection: one that lost many packets may wait for
  // many seconds after its link is whole again. The next time after twice as
  // long.
  absl::Duration stall = absl::Seconds(1);
};

// Why there is no answer. kNone: there is one.
enum class HttpFailure {
  kNone,
  kNetwork,    // no connection, a lost one, silence, a name that has no address
  kTruncated,  // the connection ended before the body
  kCertificate,  // not who it says it is
  kUnusable,     // an address that is none, a protocol that is not spoken
  kCancelled,    // stopped by read_stop.h
};

struct HttpAnswer {
  HttpFailure failure = HttpFailure::kNone;
  std::string problem = {};  // of a failure, for people
  int status = 0;
  HttpHeaders headers = {};
  // At most what was asked for; of an error the beginning.
  PagedString body = {};
  bool more = false;          // the body was longer, and was cut there
  std::string redirect = {};  // an absolute URL; empty: none
  bool hedged = false;        // a second request was made
};

class HttpClient {
 public:
  explicit HttpClient(HttpLimits limits);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns at `deadline` at the latest. Where the server sends the whole file
  // at most `max_body` bytes are taken. `hedge_after` (left out: never) from
  // the start `may_hedge` is asked whether a second request may be made; the
  // first of the two that is answered without an error counts. A request whose
  // headers name a version (If-Match) goes on where its answer stands still.
  HttpAnswer Get(const HttpRequest& request, int64_t max_body,
                 absl::Time deadline, std::optional<absl::Duration> hedge_after,
                 absl::FunctionRef<bool()> may_hedge);

 private:
  class Transfer;
  class Channel;

  std::unique_ptr<Channel> TakeChannel();

  const HttpLimits limits_;
  absl::Mutex mu_;
  std::vector<std::unique_ptr<Channel>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
