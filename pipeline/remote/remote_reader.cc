// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/remote_reader.h"

#include <algorithm>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/status.h"
#include "pipeline/io_counters.h"
#include "pipeline/read_stop.h"
#include "pipeline/remote/answer_verdict.h"

namespace gandem {
namespace {

constexpr absl::Duration kWarnEvery = absl::Seconds(30);
constexpr int kMostRedirects = 5;
constexpr absl::Duration kStopEvery = absl::Milliseconds(100);

// Returns false if stopped before `time`.
bool PauseUntil(absl::Time time) {
  absl::Mutex mu;
  absl::MutexLock lock(&mu);
  bool never = false;
  while (MonotonicNow() < time) {
    if (ScopedReadStop::Stopped()) return false;
    AwaitUntil(&mu, absl::Condition(&never),
               std::min(time, MonotonicNow() + kStopEvery));
  }
  return !ScopedReadStop::Stopped();
}

absl::Status GaveUp(const absl::Status& last, int tries, absl::Duration tried) {
  if (!absl::IsUnavailable(last) || tries < 2) return last;
  return absl::UnavailableError(absl::StrCat(
      last.message(), " (", tries, " tries in ",
      absl::FormatDuration(absl::Trunc(tried, absl::Milliseconds(100))),
      "): check that the server runs and can be reached from here"));
}

// Combines the verdict on the answer with the range's check.
Verdict Judge(const Url& url, const RemoteRange& range,
              const HttpAnswer& answer) {
  Verdict verdict = JudgeAnswer(url, answer);
  if (!verdict.status.ok() || !range.check) return verdict;
  verdict.status = range.check(answer);
  if (absl::IsUnavailable(verdict.status))
    verdict.retry = RetryKind::kSometimes;
  return verdict;
}

HttpAnswer Unusable(const absl::Status& why) {
  return {.failure = HttpFailure::kUnusable,
          .problem = std::string(why.message())};
}

}  // namespace

RemoteReader::RemoteReader(HttpLimits limits) : client_(limits) {}

// Informs a user who would otherwise see no progress.
void RemoteReader::WarnOfRetry(const absl::Status& why, absl::Time deadline) {
  const absl::Time now = MonotonicNow();
  {
    absl::MutexLock lock(&mu_);
    if (now - warned_ < kWarnEvery) return;
    warned_ = now;
  }
  GANDEM_LOG_WARN("{}; it is tried again, for {} s at most", why.message(),
                  absl::ToInt64Seconds(deadline - now));
}

absl::StatusOr<HttpAnswer> RemoteReader::Get(RemoteLocation& location,
                                             const RemoteRange& range,
                                             absl::Duration limit) {
  const absl::Time start = MonotonicNow();
  const absl::Time deadline = start + limit;
  RetryTimer timer(deadline);
  bool renewed = false;
  while (true) {
    GANDEM_ASSIGN_OR_RETURN(HttpAnswer answer,
                            Try(location, range, deadline, timer.tries()));
    const Verdict verdict = Judge(location.url(), range, answer);
    if (verdict.status.ok()) return answer;
    if (SaysExpired(answer) && !std::exchange(renewed, true)) {
      GANDEM_RETURN_IF_ERROR(Aws(/*read_again=*/true));
      continue;
    }
    // The signature of the redirect target may have expired.
    const bool was_elsewhere = !location.target().empty();
    location.set_target("");
    if (was_elsewhere && verdict.retry == RetryKind::kNever &&
        answer.status >= 400) {
      continue;
    }
    const std::optional<absl::Time> next = timer.Next(
        verdict.retry, MonotonicNow(), Uniform(), answer.headers.retry_after);
    if (!next.has_value()) {
      return GaveUp(verdict.status, timer.tries(), MonotonicNow() - start);
    }
    WarnOfRetry(verdict.status, deadline);
    if (!PauseUntil(*next)) {
      return absl::CancelledError(verdict.status.message());
    }
    ProcessIoCounters().retries.fetch_add(1);
  }
}

absl::StatusOr<HttpAnswer> RemoteReader::Try(RemoteLocation& location,
                                             const RemoteRange& range,
                                             absl::Time deadline,
                                             int earlier_tries) {
  GANDEM_ASSIGN_OR_RETURN(HttpRequest request, RequestFor(location, range));
  const bool is_s3 = location.url().scheme == UrlScheme::kS3;
  const std::string known = location.target();
  if (!known.empty()) {
    request.url = known;
  } else if (location.redirected()) {
    request.headers.clear();
  }
  for (int redirects = 0;; ++redirects) {
    HttpAnswer answer =
        client_.Get(request, range.max_whole, deadline, earlier_tries);
    const bool ends = answer.failure != HttpFailure::kNone ||
                      answer.redirect.empty() || is_s3;
    if (ends) {
      const bool found = answer.status == 200 || answer.status == 206;
      if (found && redirects > 0) location.set_target(request.url);
      return answer;
    }
    if (redirects == kMostRedirects) {
      return Unusable(absl::InvalidArgumentError(
          absl::StrCat("the server redirects more than ", kMostRedirects,
                       " times: name the URL that a browser ends at")));
    }
    const absl::Status allowed = CheckRedirect(request.url, answer.redirect);
    if (!allowed.ok()) return Unusable(allowed);
    request.url = answer.redirect;
    request.headers = range.conditions;
  }
}

absl::StatusOr<HttpRequest> RemoteReader::RequestFor(
    const RemoteLocation& location, const RemoteRange& range) {
  HttpRequest request = {
      .first = range.first, .size = range.size, .headers = range.conditions};
  if (location.url().scheme != UrlScheme::kS3) {
    request.url = UrlText(location.url());
    return request;
  }
  GANDEM_ASSIGN_OR_RETURN(AwsSettings aws, Aws(/*read_again=*/false));
  request.url = absl::StrCat(S3Address(aws, location.url()),
                             range.query.empty() ? "" : "?", range.query);
  request.use_netrc = false;
  request.key = std::move(aws.key);
  request.region = std::move(aws.region);
  return request;
}

absl::StatusOr<AwsSettings> RemoteReader::Aws(bool read_again) {
  {
    absl::MutexLock lock(&mu_);
    if (knows_aws_ && !read_again) return aws_;
  }
  GANDEM_ASSIGN_OR_RETURN(AwsSettings settings, ReadAwsSettings());
  absl::MutexLock lock(&mu_);
  knows_aws_ = true;
  aws_ = settings;
  return settings;
}

// Affects only the timing of retries, never the data.
double RemoteReader::Uniform() {
  static thread_local std::minstd_rand generator{std::random_device()()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace gandem
