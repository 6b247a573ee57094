// SPDX-License-Identifier: Apache-2.0
//
// Interprets HTTP answers: a Status for the reader, and whether to retry.
// Messages contain no query, key or header of a request.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pipeline/remote/http_client.h"
#include "pipeline/remote/retry_policy.h"
#include "pipeline/remote/url.h"

namespace gandem {

struct Verdict {
  absl::Status status;  // OK: 200 or 206
  RetryKind retry = RetryKind::kNever;
};

// Interprets the answer to a request for `url`, as the user named it.
//   NOT_FOUND          404, 410.
//   UNAUTHENTICATED    401, or an invalid certificate.
//   PERMISSION_DENIED  403.
//   DATA_LOSS          412, 416: the file was replaced or is shorter.
//   UNAVAILABLE        a network failure, 429 or 5xx.
//   CANCELLED          the read was stopped.
//   INVALID_ARGUMENT   everything else.
Verdict JudgeAnswer(const Url& url, const HttpAnswer& answer);

// Returns whether new credentials may help: the S3 session has expired.
bool SaysExpired(const HttpAnswer& answer);

// Returns whether `body` is an HTML page, such as a login page.
bool IsWebPage(absl::string_view body);

// Checks that a redirect stays within one scheme.
//   INVALID_ARGUMENT  another scheme; says what to do.
absl::Status CheckRedirect(absl::string_view from, absl::string_view to);

}  // namespace gandem
