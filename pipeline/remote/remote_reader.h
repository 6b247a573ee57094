// SPDX-License-Identifier: Apache-2.0
//
// Requests until they are answered: redirects, signatures of S3, retries by
// retry_policy.h. The one place where this happens, for all that is remote.
//
// Owner: a RemoteStore. Thread safety: any thread.
// Errors: those of JudgeAnswer, with the name of the file; UNAVAILABLE says for
// how long and how often it was tried.
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

// A file by the name that the user gave, and where it was found last.
// Thread safety: any thread.
class RemoteLocation {
 public:
  explicit RemoteLocation(Url url) : url_(std::move(url)) {}

  const Url& url() const { return url_; }
  // URL that the server redirects to; empty: not known, or no redirect.
  std::string target() const {
    absl::MutexLock lock(&mu_);
    return target_;
  }
  void set_target(std::string target) {
    absl::MutexLock lock(&mu_);
    redirected_ |= !target.empty();
    target_ = std::move(target);
  }
  // Whether it ever did: what names its versions is not the first server then.
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

// Bytes [first, first + size) of a file; size 0: all of an answer.
struct RemoteRange {
  int64_t first = 0;
  int64_t size = 0;
  // Most bytes of an answer that is not of that range, but whole.
  int64_t max_whole = 0;
  std::string query = {};  // query of an S3 list
  // "If-Match: ..." and similar headers; not sent to a server known to
  // redirect.
  std::vector<std::string> conditions = {};
  // Check of an answer of 200 or 206, if set. UNAVAILABLE: the answer makes no
  // sense, and another try may bring one that does.
  std::function<absl::Status(const HttpAnswer& answer)> check = {};
};

class RemoteReader {
 public:
  explicit RemoteReader(HttpLimits limits);

  // The last answer, whose status is 200 or 206. Errors also of range.check.
  absl::StatusOr<HttpAnswer> Get(RemoteLocation& location,
                                 const RemoteRange& range,
                                 absl::Duration limit);

 private:
  void WarnOfRetry(const absl::Status& why, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The request at the file's first address.
  absl::StatusOr<HttpRequest> RequestFor(const RemoteLocation& location,
                                         const RemoteRange& range);
  absl::StatusOr<AwsSettings> Aws(bool read_again);
  // Makes one try, after `earlier_tries` that failed. Follows redirects.
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
