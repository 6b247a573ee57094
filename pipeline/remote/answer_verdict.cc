// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/answer_verdict.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/printable.h"
#include "pipeline/remote/s3_answers.h"

namespace gandem {
namespace {

constexpr size_t kMaxProblem = 600;

std::string Quoted(const Url& url) {
  return absl::StrCat("'", ShownUrl(UrlText(url)), "'");
}

absl::Status Fault(absl::StatusCode code, const Url& url,
                   absl::string_view what) {
  return absl::Status(code, absl::StrCat(Quoted(url), ": ", what));
}

Verdict JudgeFailure(const Url& url, const HttpAnswer& answer) {
  // curl's messages may quote a URL, whose query may contain a signature.
  const std::string problem = absl::StrContains(answer.problem, '?')
                                  ? "the address cannot be used"
                                  : Printable(answer.problem, kMaxProblem);
  switch (answer.failure) {
    case HttpFailure::kTruncated:
      return {Fault(absl::StatusCode::kUnavailable, url,
                    "the answer is cut off: the connection ended before all "
                    "of it had come"),
              RetryKind::kSometimes};
    case HttpFailure::kCertificate:
      return {Fault(absl::StatusCode::kUnauthenticated, url,
                    absl::StrCat(
                        "the server's certificate is not valid (", problem,
                        "): check the name in the URL; where an authority of "
                        "your own signs, name the file of its certificate in "
                        "SSL_CERT_FILE")),
              RetryKind::kNever};
    case HttpFailure::kUnusable:
      return {Fault(absl::StatusCode::kInvalidArgument, url, problem),
              RetryKind::kNever};
    case HttpFailure::kCancelled:
      return {Fault(absl::StatusCode::kCancelled, url, problem),
              RetryKind::kNever};
    case HttpFailure::kNone:
    case HttpFailure::kNetwork:
      break;
  }
  return {Fault(absl::StatusCode::kUnavailable, url, problem),
          RetryKind::kUntilDeadline};
}

std::string Answered(const HttpAnswer& answer) {
  const std::string code = S3ErrorCode(answer.body);
  return absl::StrCat("the server answered ", answer.status,
                      code.empty() ? "" : " ", code);
}

// Explains a 403 of S3.
std::string WhatDeniedMeans(const Url& url, const HttpAnswer& answer) {
  const std::string code = S3ErrorCode(answer.body);
  if (code == "RequestTimeTooSkewed") return "set this machine's clock";
  if (code == "SignatureDoesNotMatch") {
    return "the secret key is not the one of this access key, or AWS_REGION is "
           "another region";
  }
  if (code == "InvalidAccessKeyId") {
    return "the server does not know the access key: check the variables "
           "AWS_*, "
           "AWS_PROFILE and ~/.aws/credentials";
  }
  if (SaysExpired(answer)) {
    return "the session has ended: log in again, which renews "
           "~/.aws/credentials";
  }
  if (url.scheme == UrlScheme::kS3) {
    return "it may not be read with this access key (or without one): set "
           "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
  }
  return url.query.empty()
             ? "it may not be read without a login: put a name and password "
               "for its host into ~/.netrc, or copy the file"
             : "a signed URL may have ended: get a new one";
}

absl::Status Redirected(const Url& url, const HttpAnswer& answer) {
  const std::string& region = answer.headers.region;
  if (url.scheme == UrlScheme::kS3) {
    return Fault(
        absl::StatusCode::kInvalidArgument, url,
        absl::StrCat("the bucket is elsewhere: set AWS_REGION",
                     region.empty() ? " to its region"
                                    : absl::StrCat("=", Printable(region, 40)),
                     ", or AWS_ENDPOINT_URL_S3"));
  }
  return Fault(absl::StatusCode::kInvalidArgument, url,
               absl::StrCat("the server answered ", answer.status,
                            " without saying where the file is now"));
}

// Returns whether a retry may succeed, by status.
RetryKind RetryOf(const HttpAnswer& answer) {
  switch (answer.status) {
    case 408:
    case 425:
    case 429:
    case 502:
    case 503:
    case 504:
      return RetryKind::kUntilDeadline;
    case 501:
    case 505:
      return RetryKind::kNever;
    default:
      break;
  }
  if (S3ErrorCode(answer.body) == "RequestTimeout") {
    return RetryKind::kUntilDeadline;
  }
  return answer.status >= 500 ? RetryKind::kSometimes : RetryKind::kNever;
}

absl::Status StatusOfError(const Url& url, const HttpAnswer& answer) {
  const std::string said = Answered(answer);
  switch (answer.status) {
    case 401:
      return Fault(absl::StatusCode::kUnauthenticated, url,
                   absl::StrCat(said, ": ", WhatDeniedMeans(url, answer)));
    case 403:
      return Fault(absl::StatusCode::kPermissionDenied, url,
                   absl::StrCat(said, ": ", WhatDeniedMeans(url, answer)));
    case 404:
    case 410:
      return Fault(
          absl::StatusCode::kNotFound, url,
          absl::StrCat(said, ": there is no such file, check the URL"));
    case 412:
    case 416:
      return Fault(absl::StatusCode::kDataLoss, url,
                   absl::StrCat(said,
                                ": the file was changed since it was opened: "
                                "start again, on files that stay as they are"));
    default:
      break;
  }
  if (SaysExpired(answer)) {
    return Fault(absl::StatusCode::kPermissionDenied, url,
                 absl::StrCat(said, ": ", WhatDeniedMeans(url, answer)));
  }
  return RetryOf(answer) == RetryKind::kNever
             ? Fault(absl::StatusCode::kInvalidArgument, url,
                     absl::StrCat(said, ", which no second try would change",
                                  url.scheme == UrlScheme::kS3
                                      ? ": an access key may be missing, or "
                                        "AWS_REGION be another one"
                                      : ""))
             : Fault(absl::StatusCode::kUnavailable, url, said);
}

}  // namespace

Verdict JudgeAnswer(const Url& url, const HttpAnswer& answer) {
  if (answer.failure != HttpFailure::kNone) return JudgeFailure(url, answer);
  if (answer.status == 200 || answer.status == 206) return {};
  if (answer.status >= 300 && answer.status < 400) {
    return {Redirected(url, answer), RetryKind::kNever};
  }
  return {StatusOfError(url, answer), RetryOf(answer)};
}

bool SaysExpired(const HttpAnswer& answer) {
  if (answer.status != 400 && answer.status != 401 && answer.status != 403) {
    return false;
  }
  const std::string code = S3ErrorCode(answer.body);
  return code == "ExpiredToken" || code == "TokenRefreshRequired" ||
         code == "ExpiredTokenException";
}

bool IsWebPage(absl::string_view body) {
  body = absl::StripLeadingAsciiWhitespace(body);
  return absl::StartsWithIgnoreCase(body, "<!doctype html") ||
         absl::StartsWithIgnoreCase(body, "<html");
}

absl::Status CheckRedirect(absl::string_view from, absl::string_view to) {
  const auto scheme = [](absl::string_view url) {
    return absl::AsciiStrToLower(url.substr(0, url.find(':')));
  };
  if (scheme(from) == scheme(to)) return absl::OkStatus();
  if (!IsUrl(to)) {
    return absl::InvalidArgumentError(
        "the server redirects to something that is no file of HTTP");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the server redirects to '", ShownUrl(to),
      "', which is of another scheme and not followed: name that URL"));
}

}  // namespace gandem
