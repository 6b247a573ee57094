// SPDX-License-Identifier: Apache-2.0
//
// The meaning of an HTTP answer: for the read, a Status that says what to do;
// for the next try, whether to make it. Messages contain nothing of the query,
// the key or the headers of a request.
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

// `url` is what the user named.
//   NOT_FOUND          404, 410.
//   UNAUTHENTICATED    401; a certificate that is not valid.
//   PERMISSION_DENIED  403.
//   DATA_LOSS          412, 416: the file is another one now, or shorter.
//   UNAVAILABLE        the network, 429 and 5xx.
//   CANCELLED          stopped.
//   INVALID_ARGUMENT   all else.
Verdict JudgeAnswer(const Url& url, const HttpAnswer& answer);

// Whether new credentials may help: an S3 session that has ended.
bool SaysExpired(const HttpAnswer& answer);

// Whether a file begins as a page for browsers does: a server that wants a
// login, or a link to a page about the file.
bool IsWebPage(absl::string_view body);

// Whether a redirect from `from` to `to` is followed: within one scheme.
//   INVALID_ARGUMENT  another scheme; names what to do.
absl::Status CheckRedirect(absl::string_view from, absl::string_view to);

}  // namespace gandem
