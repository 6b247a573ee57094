// SPDX-License-Identifier: Apache-2.0
//
// Names of remote files: http://, https:// and s3://bucket/key.
//
// A query may hold a signature (presigned URLs), so no message, hash or file
// name has one: ShownUrl cuts it.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

enum class UrlScheme { kHttp, kHttps, kS3 };

struct Url {
  UrlScheme scheme = UrlScheme::kHttp;
  std::string host = {};   // with its port; the bucket of s3
  std::string path = {};   // begins with '/'; of s3: the key, as it is
  std::string query = {};  // without '?'; s3 has none
};

// Whether `name` is of a scheme that is read over a network, in whatever case;
// all else is a path of this machine.
bool IsUrl(absl::string_view name);

//   INVALID_ARGUMENT  no host, a password, a control character, an s3 URL
//                     without a bucket.
absl::StatusOr<Url> ParseUrl(absl::string_view url);

// URL for requests; for S3 "s3://bucket/key".
std::string UrlText(const Url& url);

// URL for messages: without query and fragment. A path stays as it is.
std::string ShownUrl(absl::string_view path_or_url);

// The part whose end tells the kind of a file: without query and fragment. A
// path stays as it is.
absl::string_view NamePart(absl::string_view path_or_url);

// Percent-encoding (RFC 3986 section 2.1) of all but unreserved characters, and
// '/' where `keep_slash`; as signatures of S3 want it.
std::string PercentEncode(absl::string_view text, bool keep_slash);

// Reverse of PercentEncode; invalid escapes stay.
std::string PercentDecode(absl::string_view text);

}  // namespace gandem
