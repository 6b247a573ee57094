// SPDX-License-Identifier: Apache-2.0
//
// Performs requests with redirects, S3 signatures and retries (retry_policy.h).
// All remote access goes through RemoteReader.
//
// Owner: a RemoteStore. Thread safety: any thread.
// Errors: those of JudgeAnswer, with the file's name. UNAVAILABLE reports the
// duration and number of tries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "pipeline/remote/aws_settings.h"
#include "pipeline/remote/http_client.h"
#include "pipeline/remote/retry_policy.h"
#include "pipeline/remote/url.h"

namespace gandem {

// A remote file: the URL that the user gave, and the latest redirect.
// Thread safety: any thread.
class RemoteLocation {
 public:
  explicit RemoteLocation(Url url) : url_(std::move(url)) {}

  const Url& url() const { return url_; }
  // Returns the redirect target; "": unknown or no redirect.
  std::string target() const {
    absl::MutexLock lock(&mu_);
    return target_;
  }
  void set_target(std::string target) {
    absl::MutexLock lock(&mu_);
    redirected_ |= !target.empty();
    target_ = std::move(target);
  }
  // Returns whether the file was ever redirected. Its version headers are then
  // not those of the first server.
  bool redirected() const {
    absl::MutexLock lock(&mu_);
    return redirected_;
  }

 private:
  const Url url_;
  mutable absl::Mutex mu_;
  std::string target_ ABSL_GUARDED_BY(mu_);
  bool redirected_ ABSL_GUARDED_BY(mu_) = false;
};

// Bytes [first, first + size) of a file; size 0: everything.
struct RemoteRange {
  int64_t first = 0;
  int64_t size = 0;
  // Limit on the size of an answer with the whole file.
  int64_t max_whole = 0;
  std::string query = {};  // of an S3 list request
  // "If-Match: ..." and similar headers. Not sent to a server that redirects.
  std::vector<std::string> conditions = {};
  // Optional check of a 200 or 206 answer; UNAVAILABLE: may be retried.
  std::function<absl::Status(const HttpAnswer& answer)> check = {};
};

class RemoteReader {
 public:
  explicit RemoteReader(HttpLimits limits);

  // Returns the final answer, 200 or 206, or an error, also of range.check.
  absl::StatusOr<HttpAnswer> Get(RemoteLocation& location,
                                 const RemoteRange& range,
                                 absl::Duration limit);

 private:
  void WarnOfRetry(const absl::Status& why, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Builds the request to the file's first address.
  absl::StatusOr<HttpRequest> RequestFor(const RemoteLocation& location,
                                         const RemoteRange& range);
  absl::StatusOr<AwsSettings> Aws(bool read_again);
  // Makes one try, following redirects, after `earlier_tries` failed ones.
  absl::StatusOr<HttpAnswer> Try(RemoteLocation& location,
                                 const RemoteRange& range, absl::Time deadline,
                                 int earlier_tries);
  double Uniform();  // [0, 1)

  HttpClient client_;
  absl::Mutex mu_;
  absl::Time warned_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  AwsSettings aws_ ABSL_GUARDED_BY(mu_);
  bool knows_aws_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace gandem
