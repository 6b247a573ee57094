// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/s3_answers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

constexpr size_t kMaxErrorCode = 64;

std::string Unescape(absl::string_view xml) {
  return absl::StrReplaceAll(xml, {{"&lt;", "<"},
                                   {"&gt;", ">"},
                                   {"&quot;", "\""},
                                   {"&#34;", "\""},
                                   {"&apos;", "'"},
                                   {"&#39;", "'"},
                                   {"&amp;", "&"}});
}

// Removes `xml` up to the end of the first element `name`; returns its content.
std::optional<absl::string_view> TakeElement(absl::string_view name,
                                             absl::string_view& xml) {
  const std::string close = absl::StrCat("</", name, ">");
  const std::string open = absl::StrCat("<", name);
  for (size_t at = xml.find(open); at != absl::string_view::npos;
       at = xml.find(open, at + 1)) {
    const size_t after = at + open.size();
    if (after >= xml.size()) return std::nullopt;
    if (xml[after] != '>' && !absl::ascii_isspace(xml[after])) continue;
    const size_t inside = xml.find('>', after);
    if (inside == absl::string_view::npos) return std::nullopt;
    const size_t end = xml.find(close, inside + 1);
    if (end == absl::string_view::npos) return std::nullopt;
    const absl::string_view found = xml.substr(inside + 1, end - inside - 1);
    xml.remove_prefix(end + close.size());
    return found;
  }
  return std::nullopt;
}

std::optional<std::string> TextOfElement(absl::string_view name,
                                         absl::string_view xml) {
  const auto inside = TakeElement(name, xml);
  if (!inside.has_value()) return std::nullopt;
  return Unescape(*inside);
}

absl::Status BadList(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("the answer is no list of objects of S3: ", why));
}

}  // namespace

absl::StatusOr<S3Page> ParseS3Page(absl::string_view xml) {
  auto list = TakeElement("ListBucketResult", xml);
  if (!list.has_value()) return BadList("it has no ListBucketResult");
  // Servers confirm encoded keys; some ignore the request.
  const bool encoded = TextOfElement("EncodingType", *list) == "url";
  S3Page page;
  absl::string_view rest = *list;
  while (const auto contents = TakeElement("Contents", rest)) {
    auto key = TextOfElement("Key", *contents);
    const auto size = TextOfElement("Size", *contents);
    S3Object object;
    if (!key || key->empty() || !size ||
        !absl::SimpleAtoi(*size, &object.bytes) || object.bytes < 0) {
      return BadList("an object has no key or no size");
    }
    // As in forms, '+' encodes a space and "%2B" a '+'.
    object.key = encoded
                     ? PercentDecode(absl::StrReplaceAll(*key, {{"+", " "}}))
                     : *std::move(key);
    object.etag = TextOfElement("ETag", *contents).value_or("");
    page.objects.push_back(std::move(object));
  }
  if (TextOfElement("IsTruncated", *list) == "true") {
    page.continuation =
        TextOfElement("NextContinuationToken", *list).value_or("");
    if (page.continuation.empty()) {
      return BadList("it is cut and has no NextContinuationToken");
    }
  }
  return page;
}

std::string S3ErrorCode(absl::string_view xml) {
  const auto error = TakeElement("Error", xml);
  if (!error.has_value()) return "";
  const std::string code = TextOfElement("Code", *error).value_or("");
  const bool plain = code.size() <= kMaxErrorCode &&
                     std::ranges::all_of(code, absl::ascii_isalnum);
  return plain ? code : "";
}

}  // namespace gandem
