// SPDX-License-Identifier: Apache-2.0
//
// One GET of a range, by libcurl: no retries, no redirects, no judgment.
// Connections are kept for the next request. HTTP/1.1, so that requests at the
// same time share no connection; certificates and names of servers are
// verified, by the system's authorities or those of CURL_CA_BUNDLE or
// SSL_CERT_FILE; ~/.netrc has passwords for HTTP.
//
// Owner: the process's RemoteReader. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "pipeline/memory/page_allocator.h"

namespace gandem {

// The key of Amazon's Signature Version 4. Never in a message.
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
  std::string region = {};  // region of the signature
};

struct HttpLimits {
  absl::Duration connect = absl::Seconds(10);
  // A request that receives no byte for this long has failed.
  absl::Duration silence = absl::Seconds(10);
  // An answer that has begun and then stands still for this long has failed at
  // the first try; each further try waits twice as long. A connection that lost
  // many packets may wait for many seconds after its link is whole again.
  absl::Duration stall = absl::Seconds(1);
};

// Why there is no answer. kNone: there is one.
enum class HttpFailure {
  kNone,
  kNetwork,    // no connection, a lost one, silence, a name that has no address
  kTruncated,  // the connection ended before the body
  kCertificate,  // the server is not the one that was asked
  kUnusable,     // an address that is none, a protocol that is not spoken
  kCancelled,    // stopped by read_stop.h
};

// Content-Range: bytes FIRST-LAST/TOTAL (RFC 9110 section 14.4).
struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t total = 0;  // > last
};

// None: the text is no such range.
std::optional<ContentRange> ParseContentRange(absl::string_view text);

// The headers that matter to a reader of ranges; empty: not sent.
struct HttpHeaders {
  std::optional<ContentRange> range = {};
  std::string etag = {};           // with its quotes, and W/ if it is weak
  std::string last_modified = {};  // as it was sent
  std::optional<absl::Duration> retry_after = {};  // an hour at most
  std::string region = {};  // x-amz-bucket-region: where the bucket is
};

struct HttpAnswer {
  HttpFailure failure = HttpFailure::kNone;
  std::string problem = {};  // description of a failure, for people
  int status = 0;
  HttpHeaders headers = {};
  // At most the bytes that were asked for; of an error, the beginning of the
  // body.
  PagedString body = {};
  bool more = false;          // the body was longer, and was cut there
  std::string redirect = {};  // an absolute URL; empty: none
};

class HttpClient {
 public:
  explicit HttpClient(HttpLimits limits);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns at `deadline` at the latest, and within a second once the thread's
  // reads are stopped. Where the server sends the whole file, at most
  // `max_body` bytes are taken. `earlier_tries` of the same request lengthen
  // HttpLimits::stall.
  HttpAnswer Get(const HttpRequest& request, int64_t max_body,
                 absl::Time deadline, int earlier_tries);

 private:
  class Transfer;

  const HttpLimits limits_;
  absl::Mutex mu_;
  // Each keeps its connections.
  std::vector<std::unique_ptr<Transfer>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
