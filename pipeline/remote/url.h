// SPDX-License-Identifier: Apache-2.0
//
// Parses names of remote files: http://, https:// and s3://bucket/key.
//
// Queries may contain a signature (presigned URLs), so messages, hashes and
// file names omit them: see ShownUrl.
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
  std::string host = {};   // with the port; s3: the bucket
  std::string path = {};   // begins with '/'; s3: the unescaped key
  std::string query = {};  // without '?'; empty for s3
};

// Returns whether `name` has a remote scheme, in any case.
bool IsUrl(absl::string_view name);

//   INVALID_ARGUMENT  no host, a password, a control character, or an s3 URL
//                     without a bucket.
absl::StatusOr<Url> ParseUrl(absl::string_view url);

// Returns the URL for requests, or "s3://bucket/key".
std::string UrlText(const Url& url);

// Returns the URL without query and fragment for messages, or a path unchanged.
std::string ShownUrl(absl::string_view path_or_url);

// Returns the part whose ending tells the file type: without query and
// fragment. Local paths are unchanged.
absl::string_view NamePart(absl::string_view path_or_url);

// Percent-encodes (RFC 3986 section 2.1) everything except unreserved
// characters and, with `keep_slash`, '/', as S3 signatures require.
std::string PercentEncode(absl::string_view text, bool keep_slash);

// Reverses PercentEncode. Keeps invalid escapes.
std::string PercentDecode(absl::string_view text);

}  // namespace gandem
