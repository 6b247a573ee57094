// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/url.h"

#include <curl/curl.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

constexpr size_t kShownUrlBytes = 400;

struct SchemeName {
  absl::string_view prefix;
  UrlScheme scheme;
};

constexpr SchemeName kSchemes[] = {{"http://", UrlScheme::kHttp},
                                   {"https://", UrlScheme::kHttps},
                                   {"s3://", UrlScheme::kS3}};

const SchemeName* SchemeOf(absl::string_view name) {
  for (const SchemeName& scheme : kSchemes) {
    if (absl::StartsWithIgnoreCase(name, scheme.prefix)) return &scheme;
  }
  return nullptr;
}

absl::Status BadUrl(absl::string_view url, absl::string_view why) {
  // The text before an '@' may be a password.
  const size_t at = url.find('@');
  const absl::string_view shown =
      at == absl::string_view::npos ? url : SchemeOf(url)->prefix;
  return absl::InvalidArgumentError(
      absl::StrCat("'", ShownUrl(shown), "': ", why));
}

bool IsBucketName(absl::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains(".-_", c);
  });
}

// Escapes spaces and non-ASCII bytes, which requests must not contain.
std::string EscapeUnprintable(absl::string_view text) {
  std::string escaped;
  for (const char& c : text) {
    absl::StrAppend(&escaped, absl::ascii_isgraph(c)
                                  ? std::string(1, c)
                                  : PercentEncode({&c, 1}, false));
  }
  return escaped;
}

}  // namespace

bool IsUrl(absl::string_view name) { return SchemeOf(name) != nullptr; }

absl::StatusOr<Url> ParseUrl(absl::string_view url) {
  const SchemeName* const scheme = SchemeOf(url);
  if (scheme == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", ShownUrl(url), "' is no URL of http://, https:// or s3://"));
  }
  for (const char c : url) {
    if (absl::ascii_iscntrl(c)) {
      return BadUrl(url, "a URL with a control character");
    }
  }
  const bool is_s3 = scheme->scheme == UrlScheme::kS3;
  absl::string_view rest = url.substr(scheme->prefix.size());
  Url parsed = {.scheme = scheme->scheme};
  if (!is_s3) {
    rest = rest.substr(0, rest.find('#'));
    const size_t question = rest.find('?');
    if (question != absl::string_view::npos) {
      parsed.query = std::string(rest.substr(question + 1));
      rest = rest.substr(0, question);
    }
  }
  const size_t slash = rest.find('/');
  parsed.host = std::string(rest.substr(0, slash));
  parsed.path =
      slash == absl::string_view::npos ? "/" : std::string(rest.substr(slash));
  if (absl::StrContains(parsed.host, '@')) {
    return BadUrl(url,
                  "a URL with a name or a password would end up in configs and "
                  "logs: leave them out and put them into ~/.netrc");
  }
  if (parsed.host.empty()) {
    return BadUrl(url, is_s3 ? "expected s3://BUCKET/KEY"
                             : "expected a host after the scheme");
  }
  if (is_s3 && !IsBucketName(parsed.host)) {
    return BadUrl(url,
                  "the name of a bucket has only letters, digits, '.', '-' and "
                  "'_'");
  }
  return parsed;
}

std::string UrlText(const Url& url) {
  absl::string_view prefix;
  for (const SchemeName& scheme : kSchemes) {
    if (scheme.scheme == url.scheme) prefix = scheme.prefix;
  }
  const std::string text = absl::StrCat(
      prefix, url.host, url.path, url.query.empty() ? "" : "?", url.query);
  return url.scheme == UrlScheme::kS3 ? text : EscapeUnprintable(text);
}

std::string ShownUrl(absl::string_view path_or_url) {
  if (!IsUrl(path_or_url)) return std::string(path_or_url);
  return Printable(NamePart(path_or_url), kShownUrlBytes);
}

absl::string_view NamePart(absl::string_view path_or_url) {
  const SchemeName* const scheme = SchemeOf(path_or_url);
  // S3 keys may contain '?'.
  if (scheme == nullptr || scheme->scheme == UrlScheme::kS3) return path_or_url;
  return path_or_url.substr(0, path_or_url.find_first_of("?#"));
}

std::string PercentEncode(absl::string_view text, bool keep_slash) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~", c) ||
        (c == '/' && keep_slash)) {
      encoded.push_back(c);
    } else {
      absl::StrAppend(&encoded,
                      absl::StrFormat("%%%02X", static_cast<unsigned char>(c)));
    }
  }
  return encoded;
}

std::string PercentDecode(absl::string_view text) {
  if (text.empty()) return "";  // libcurl would treat size 0 as NUL-terminated
  int size = 0;
  char* const decoded = curl_easy_unescape(
      nullptr, text.data(), static_cast<int>(text.size()), &size);
  const absl::Cleanup free_decoded = [decoded] { curl_free(decoded); };
  return std::string(decoded, static_cast<size_t>(size));
}

}  // namespace gandem
