// SPDX-License-Identifier: Apache-2.0
//
// Sends one GET of a range with libcurl, without retries, redirects or
// interpretation. Reuses connections. Uses HTTP/1.1, so that concurrent
// requests do not share a connection. Verifies certificates and server names
// with the system's authorities or those of CURL_CA_BUNDLE or SSL_CERT_FILE.
// Takes passwords from ~/.netrc.
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

// Key for Amazon's Signature Version 4. Must not appear in messages.
struct AwsKey {
  std::string id = {};
  std::string secret = {};
  std::string token = {};  // session token; empty: none

  bool empty() const { return id.empty(); }
};

struct HttpRequest {
  std::string url = {};  // http:// or https://
  int64_t first = 0;
  int64_t size = 0;  // 0: the whole file, without a Range header
  std::vector<std::string> headers = {};  // "Name: value"
  bool use_netrc = true;
  AwsKey key = {};          // empty: unsigned
  std::string region = {};  // region of the signature
};

struct HttpLimits {
  absl::Duration connect = absl::Seconds(10);
  // A request fails after this time without any byte.
  absl::Duration silence = absl::Seconds(10);
  // A started answer that stalls for this long fails at the first try; each
  // retry waits twice as long. After heavy packet loss a connection may stay
  // silent for many seconds although its link is up again.
  absl::Duration stall = absl::Seconds(1);
};

// Reason for a missing answer. kNone: there is an answer.
enum class HttpFailure {
  kNone,
  kNetwork,      // no, lost or silent connection; unknown host name
  kTruncated,    // the connection ended before the body did
  kCertificate,  // wrong server certificate
  kUnusable,     // invalid address or unsupported protocol
  kCancelled,    // stopped by read_stop.h
};

// Content-Range: bytes FIRST-LAST/TOTAL (RFC 9110 section 14.4).
struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t total = 0;  // > last
};

// Returns nullopt if the text is not such a range.
std::optional<ContentRange> ParseContentRange(absl::string_view text);

// Headers used by readers of ranges; empty: not sent.
struct HttpHeaders {
  std::optional<ContentRange> range = {};
  std::string etag = {};           // with quotes, and W/ if weak
  std::string last_modified = {};  // as sent
  std::optional<absl::Duration> retry_after = {};  // at most an hour
  std::string region = {};                         // x-amz-bucket-region
};

struct HttpAnswer {
  HttpFailure failure = HttpFailure::kNone;
  std::string problem = {};  // for people
  int status = 0;
  HttpHeaders headers = {};
  // Limited to the requested size; for errors, the beginning.
  PagedString body = {};
  bool more = false;          // the body was longer and was truncated
  std::string redirect = {};  // absolute URL; empty: none
};

class HttpClient {
 public:
  explicit HttpClient(HttpLimits limits);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns by `deadline`, and within a second after a stop of the thread's
  // reads. If the server sends the whole file, takes at most `max_body` bytes.
  // Each of the `earlier_tries` doubles HttpLimits::stall.
  HttpAnswer Get(const HttpRequest& request, int64_t max_body,
                 absl::Time deadline, int earlier_tries);

 private:
  class Transfer;

  const HttpLimits limits_;
  absl::Mutex mu_;
  std::vector<std::unique_ptr<Transfer>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
