// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "pipeline/io_counters.h"
#include "pipeline/read_stop.h"

namespace gandem {
namespace {

constexpr size_t kMaxErrorBody = 64 << 10;
constexpr size_t kMaxIdleTransfers = 64;
constexpr size_t kMaxHeaderValue = 1024;
constexpr absl::Duration kLongestRetryAfter = absl::Hours(1);
// SHA-256 of the empty body of every GET.
constexpr char kNoBodyHash[] =
    "x-amz-content-sha256: "
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::kNone;
    case CURLE_PARTIAL_FILE:
      return HttpFailure::kTruncated;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFailure::kCertificate;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_FAILED_INIT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_LOGIN_DENIED:
      return HttpFailure::kUnusable;
    default:
      return HttpFailure::kNetwork;
  }
}

// Returns the file that curl and OpenSSL, but not libcurl, would use.
std::string AuthoritiesFile() {
  for (const char* const name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Accepts only digits, without sign or spaces.
std::optional<int64_t> ParseCount(absl::string_view text) {
  int64_t count = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &count)) {
    return std::nullopt;
  }
  return count;
}

long Milliseconds(absl::Duration duration) {  // NOLINT: curl's type
  return static_cast<long>(                   // NOLINT(runtime/int)
      std::max<int64_t>(1, absl::ToInt64Milliseconds(duration)));
}

std::string DurationText(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

}  // namespace

std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "bytes ")) return std::nullopt;
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == absl::string_view::npos || slash == absl::string_view::npos ||
      dash > slash) {
    return std::nullopt;
  }
  const auto first = ParseCount(text.substr(0, dash));
  const auto last = ParseCount(text.substr(dash + 1, slash - dash - 1));
  const auto total = ParseCount(text.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) {
    return std::nullopt;
  }
  return ContentRange{.first = *first, .last = *last, .total = *total};
}

// A request and its reusable connections.
class HttpClient::Transfer {
 public:
  Transfer() : easy_(curl_easy_init()) { GANDEM_CHECK(easy_ != nullptr); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(lines_);
  }

  void Prepare(const HttpRequest& request, const HttpLimits& limits,
               int64_t max_body);
  HttpAnswer Run(absl::Time deadline, absl::Duration stall);

 private:
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t,
                        curl_off_t);

  template <typename Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }
  void AddLine(const std::string& line) {
    lines_ = curl_slist_append(lines_, line.c_str());
    GANDEM_CHECK(lines_ != nullptr);
  }
  void Sign(const HttpRequest& request);
  size_t AddBody(absl::string_view bytes);
  std::string Header(const char* name) const;
  HttpHeaders TakeHeaders() const;
  int Status() const {
    long status = 0;  // NOLINT(runtime/int): curl's type
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  // File of certificates that replaces the system's; empty: the system's.
  const std::string authorities_ = AuthoritiesFile();
  CURL* const easy_;
  curl_slist* lines_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  // Maximum body size of answers 206 and 200.
  int64_t wanted_ = 0;
  int64_t max_body_ = 0;
  int64_t received_ = 0;
  absl::Time last_byte_ = absl::InfiniteFuture();
  absl::Duration stall_ = absl::InfiniteDuration();
  HttpAnswer answer_;
};

void HttpClient::Transfer::Prepare(const HttpRequest& request,
                                   const HttpLimits& limits, int64_t max_body) {
  curl_easy_reset(easy_);
  curl_slist_free_all(std::exchange(lines_, nullptr));
  answer_ = HttpAnswer();
  received_ = 0;
  last_byte_ = absl::InfiniteFuture();
  error_.fill('\0');
  wanted_ = request.size;
  max_body_ = max_body;
  Set(CURLOPT_URL, request.url.c_str());
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  Set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  Set(CURLOPT_NOSIGNAL, 1L);
  // Without CURLOPT_QUICK_EXIT, ending a request waits for name resolution.
  Set(CURLOPT_QUICK_EXIT, 1L);
  Set(CURLOPT_FOLLOWLOCATION, 0L);
  Set(CURLOPT_USERAGENT, "gandem");
  if (!authorities_.empty()) Set(CURLOPT_CAINFO, authorities_.c_str());
  Set(CURLOPT_ERRORBUFFER, error_.data());
  Set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(limits.connect));
  Set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  Set(CURLOPT_LOW_SPEED_TIME,
      std::max(1L, static_cast<long>(absl::ToInt64Seconds(limits.silence))));
  Set(CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  Set(CURLOPT_WRITEDATA, this);
  Set(CURLOPT_NOPROGRESS, 0L);
  Set(CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  Set(CURLOPT_XFERINFODATA, this);
  for (const std::string& line : request.headers) AddLine(line);
  if (request.size > 0) {
    Set(CURLOPT_RANGE,
        absl::StrCat(request.first, "-", request.first + request.size - 1)
            .c_str());
  }
  if (!request.key.empty()) {
    Sign(request);
  } else if (request.use_netrc) {
    Set(CURLOPT_NETRC, CURL_NETRC_OPTIONAL);
  }
  Set(CURLOPT_HTTPHEADER, lines_);
}

// CURLOPT_USERPWD would split a key at a colon.
void HttpClient::Transfer::Sign(const HttpRequest& request) {
  Set(CURLOPT_AWS_SIGV4,
      absl::StrCat("aws:amz:", request.region, ":s3").c_str());
  Set(CURLOPT_USERNAME, request.key.id.c_str());
  Set(CURLOPT_PASSWORD, request.key.secret.c_str());
  AddLine(kNoBodyHash);
  if (!request.key.token.empty()) {
    AddLine(absl::StrCat("x-amz-security-token: ", request.key.token));
  }
}

size_t HttpClient::Transfer::OnBody(char* bytes, size_t size, size_t count,
                                    void* self) {
  return static_cast<Transfer*>(self)->AddBody(
      absl::string_view(bytes, size * count));
}

// Returns fewer than the given bytes to end the transfer.
size_t HttpClient::Transfer::AddBody(absl::string_view bytes) {
  received_ += static_cast<int64_t>(bytes.size());
  last_byte_ = MonotonicNow();
  const int status = Status();
  const size_t most = status == 206   ? static_cast<size_t>(wanted_)
                      : status == 200 ? static_cast<size_t>(max_body_)
                                      : kMaxErrorBody;
  // Growing the body step by step would leave unused capacity.
  if (status == 206 && answer_.body.empty()) answer_.body.reserve(most);
  const size_t room = most - std::min(most, answer_.body.size());
  answer_.body.append(bytes.data(), std::min(room, bytes.size()));
  answer_.more = bytes.size() > room;
  return answer_.more ? 0 : bytes.size();
}

// Called by libcurl at least once a second. A nonzero result ends the transfer.
int HttpClient::Transfer::OnProgress(void* self, curl_off_t, curl_off_t,
                                     curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(self);
  HttpAnswer& answer = transfer.answer_;
  if (ScopedReadStop::Stopped()) {
    answer.failure = HttpFailure::kCancelled;
    answer.problem = "stopped";
  } else if (MonotonicNow() - transfer.last_byte_ > transfer.stall_) {
    answer.failure = HttpFailure::kNetwork;
    answer.problem = absl::StrCat("the answer stands still for ",
                                  DurationText(transfer.stall_));
  }
  return answer.failure == HttpFailure::kNone ? 0 : 1;
}

std::string HttpClient::Transfer::Header(const char* name) const {
  curl_header* header = nullptr;
  if (curl_easy_header(easy_, name, 0, CURLH_HEADER, -1, &header) !=
      CURLHE_OK) {
    return "";
  }
  const absl::string_view value = header->value;
  return value.size() > kMaxHeaderValue ? "" : std::string(value);
}

HttpHeaders HttpClient::Transfer::TakeHeaders() const {
  HttpHeaders headers = {.range = ParseContentRange(Header("content-range")),
                         .etag = Header("etag"),
                         .last_modified = Header("last-modified"),
                         .region = Header("x-amz-bucket-region")};
  curl_off_t wait = 0;
  if (!Header("retry-after").empty() &&
      curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK) {
    headers.retry_after = std::clamp(absl::Seconds(int64_t{wait}),
                                     absl::ZeroDuration(), kLongestRetryAfter);
  }
  return headers;
}

HttpAnswer HttpClient::Transfer::Run(absl::Time deadline,
                                     absl::Duration stall) {
  const absl::Time start = MonotonicNow();
  stall_ = stall;
  Set(CURLOPT_TIMEOUT_MS, Milliseconds(deadline - start));
  ProcessIoCounters().requests.fetch_add(1);
  CURLcode code = curl_easy_perform(easy_);
  ProcessIoCounters().bytes.fetch_add(received_);
  // OnProgress has set the problem.
  if (answer_.failure != HttpFailure::kNone) return std::move(answer_);
  // AddBody has truncated the body.
  if (code == CURLE_WRITE_ERROR && answer_.more) code = CURLE_OK;
  answer_.failure = FailureOf(code);
  // libcurl counts in milliseconds.
  if (code == CURLE_OPERATION_TIMEDOUT &&
      MonotonicNow() + absl::Milliseconds(2) >= deadline) {
    answer_.problem =
        absl::StrCat("no answer within ", DurationText(deadline - start));
  } else if (code != CURLE_OK) {
    answer_.problem =
        error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
  }
  answer_.status = Status();
  answer_.headers = TakeHeaders();
  const char* redirect = nullptr;
  curl_easy_getinfo(easy_, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) answer_.redirect = redirect;
  return std::move(answer_);
}

HttpClient::HttpClient(HttpLimits limits) : limits_(limits) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  GANDEM_CHECK(initialized == CURLE_OK);
}

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::Get(const HttpRequest& request, int64_t max_body,
                           absl::Time deadline, int earlier_tries) {
  std::unique_ptr<Transfer> transfer;
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      transfer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (transfer == nullptr) transfer = std::make_unique<Transfer>();
  transfer->Prepare(request, limits_, max_body);
  HttpAnswer answer = transfer->Run(
      deadline, limits_.stall * (1 << std::min(earlier_tries, 16)));
  absl::MutexLock lock(&mu_);
  if (idle_.size() < kMaxIdleTransfers) idle_.push_back(std::move(transfer));
  return answer;
}

}  // namespace gandem
