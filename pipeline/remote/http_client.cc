// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "pipeline/io_counters.h"
#include "pipeline/read_stop.h"
#include "pipeline/remote/stall_watch.h"

namespace gandem {
namespace {

constexpr size_t kMaxErrorBody = 64 << 10;
constexpr size_t kMaxIdleChannels = 64;
// How long a request that is not wanted any more goes on at most.
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
// SHA-256 of no bytes: the body of every GET.
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

// As curl and OpenSSL have it; libcurl itself does not look.
std::string AuthoritiesFile() {
  for (const char* const name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

}  // namespace

// A request under way.
class HttpClient::Transfer {
 public:
  Transfer() : easy_(curl_easy_init()) { GANDEM_CHECK(easy_ != nullptr); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(lines_);
  }

  CURL* easy() const { return easy_; }
  int64_t received() const { return received_; }

  void Prepare(const HttpRequest& request, const HttpLimits& limits,
               int64_t max_body);
  // The same request again, for what it has not got; after TakeBody.
  void Continue(const HttpRequest& request, const HttpLimits& limits,
                PagedString body);
  // Of an answer 206 that is under way; empty: of none.
  PagedString TakeBody();
  // After it has ended with `code`.
  HttpAnswer Finish(CURLcode code);
  // What it has of an answer that nobody wants.
  void DropAnswer() { answer_ = HttpAnswer(); }

 private:
  static size_t OnHeader(char* bytes, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);

  void AddLine(const std::string& line) {
    lines_ = curl_slist_append(lines_, line.c_str());
    GANDEM_CHECK(lines_ != nullptr);
  }
  void Sign(const HttpRequest& request);
  size_t AddBody(absl::string_view bytes);
  int Status() const {
    long status = 0;  // NOLINT(runtime/int): curl's type
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  // A file of certificates in place of the system's; empty: the system's.
  const std::string authorities_ = AuthoritiesFile();
  CURL* const easy_;
  curl_slist* lines_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  // Most bytes of the body of an answer 206 and 200.
  int64_t wanted_ = 0;
  int64_t kept_ = 0;  // of the body, from before it was continued
  int64_t max_body_ = 0;
  int64_t received_ = 0;
  HttpAnswer answer_;
};

void HttpClient::Transfer::Prepare(const HttpRequest& request,
                                   const HttpLimits& limits, int64_t max_body) {
  curl_easy_reset(easy_);
  curl_slist_free_all(std::exchange(lines_, nullptr));
  answer_ = HttpAnswer();
  received_ = 0;
  kept_ = 0;
  error_.fill('\0');
  wanted_ = request.size;
  max_body_ = max_body;
  curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION,
                   static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  // Else the end of a request waits for its name to be resolved.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "gandem");
  if (!authorities_.empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, authorities_.c_str());
  }
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(
      easy_, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(limits.connect)));
  curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(
      easy_, CURLOPT_LOW_SPEED_TIME,
      std::max(1L, static_cast<long>(absl::ToInt64Seconds(limits.silence))));
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  for (const std::string& line : request.headers) AddLine(line);
  if (request.size > 0) {
    curl_easy_setopt(
        easy_, CURLOPT_RANGE,
        absl::StrCat(request.first, "-", request.first + request.size - 1)
            .c_str());
  }
  if (!request.key.empty()) {
    Sign(request);
  } else if (request.use_netrc) {
    curl_easy_setopt(easy_, CURLOPT_NETRC,
                     static_cast<long>(CURL_NETRC_OPTIONAL));
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, lines_);
}

PagedString HttpClient::Transfer::TakeBody() {
  if (Status() != 206 || std::ssize(answer_.body) >= wanted_) return {};
  return std::exchange(answer_.body, PagedString());
}

void HttpClient::Transfer::Continue(const HttpRequest& request,
                                    const HttpLimits& limits,
                                    PagedString body) {
  HttpRequest rest = request;
  rest.first += std::ssize(body);
  rest.size -= std::ssize(body);
  Prepare(rest, limits, max_body_);
  wanted_ = request.size;
  kept_ = std::ssize(body);
  answer_.body = std::move(body);
}

// CURLOPT_USERPWD would cut a key that holds a colon.
void HttpClient::Transfer::Sign(const HttpRequest& request) {
  curl_easy_setopt(easy_, CURLOPT_AWS_SIGV4,
                   absl::StrCat("aws:amz:", request.region, ":s3").c_str());
  curl_easy_setopt(easy_, CURLOPT_USERNAME, request.key.id.c_str());
  curl_easy_setopt(easy_, CURLOPT_PASSWORD, request.key.secret.c_str());
  AddLine(kNoBodyHash);
  if (!request.key.token.empty()) {
    AddLine(absl::StrCat("x-amz-security-token: ", request.key.token));
  }
}

size_t HttpClient::Transfer::OnHeader(char* bytes, size_t size, size_t count,
                                      void* self) {
  AddHeaderLine(absl::string_view(bytes, size * count),
                static_cast<Transfer*>(self)->answer_.headers);
  return size * count;
}

size_t HttpClient::Transfer::OnBody(char* bytes, size_t size, size_t count,
                                    void* self) {
  return static_cast<Transfer*>(self)->AddBody(
      absl::string_view(bytes, size * count));
}

// Fewer than were given end the transfer.
size_t HttpClient::Transfer::AddBody(absl::string_view bytes) {
  received_ += static_cast<int64_t>(bytes.size());
  const int status = Status();
  const size_t most = status == 206   ? static_cast<size_t>(wanted_)
                      : status == 200 ? static_cast<size_t>(max_body_)
                                      : kMaxErrorBody;
  if (status != 206 && std::exchange(kept_, 0) > 0) answer_.body.clear();
  // Growing it step by step would leave room that nobody uses.
  if (status == 206 && answer_.body.empty()) answer_.body.reserve(most);
  const size_t room = most - std::min(most, answer_.body.size());
  answer_.body.append(bytes.data(), std::min(room, bytes.size()));
  answer_.more = bytes.size() > room;
  return answer_.more ? 0 : bytes.size();
}

HttpAnswer HttpClient::Transfer::Finish(CURLcode code) {
  // We cut it.
  if (code == CURLE_WRITE_ERROR && answer_.more) code = CURLE_OK;
  answer_.failure = FailureOf(code);
  if (code != CURLE_OK) {
    answer_.problem =
        error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
  }
  answer_.status = Status();
  if (answer_.status != 206 && kept_ > 0) answer_.body.clear();
  if (answer_.headers.range.has_value()) answer_.headers.range->first -= kept_;
  const char* redirect = nullptr;
  curl_easy_getinfo(easy_, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) answer_.redirect = redirect;
  return std::move(answer_);
}

// What one request needs; its multi handle holds the connections.
class HttpClient::Channel {
 public:
  Channel() : multi_(curl_multi_init()) { GANDEM_CHECK(multi_ != nullptr); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() { curl_multi_cleanup(multi_); }

  Transfer& transfer(size_t i) { return transfers_[i]; }

  void Start(size_t i) {
    curl_multi_add_handle(multi_, transfers_[i].easy());
    running_[i] = true;
    ProcessIoCounters().requests.fetch_add(1);
  }
  // Its connection is closed if it was under way.
  void Stop(size_t i) {
    if (!std::exchange(running_[i], false)) return;
    curl_multi_remove_handle(multi_, transfers_[i].easy());
    transfers_[i].DropAnswer();
    ProcessIoCounters().bytes.fetch_add(transfers_[i].received());
  }
  // Asks for the rest of what it has over another connection; false: of an
  // answer of another kind, or none.
  bool Continue(size_t i, const HttpRequest& request,
                const HttpLimits& limits) {
    PagedString body = transfers_[i].TakeBody();
    if (body.empty()) return false;
    Stop(i);
    transfers_[i].Continue(request, limits, std::move(body));
    Start(i);
    return true;
  }
  bool running(size_t i) const { return running_[i]; }

  // Waits until `until` at most; which one has ended, and how.
  std::optional<std::pair<size_t, CURLcode>> Wait(absl::Time until) {
    int left = 0;
    curl_multi_perform(multi_, &left);
    if (auto ended = Ended()) return ended;
    const absl::Duration wait =
        std::clamp(until - MonotonicNow(), absl::ZeroDuration(), kLookEvery);
    curl_multi_poll(multi_, nullptr, 0,
                    static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1,
                    nullptr);
    curl_multi_perform(multi_, &left);
    return Ended();
  }

 private:
  std::optional<std::pair<size_t, CURLcode>> Ended() {
    int queued = 0;
    const CURLMsg* const message = curl_multi_info_read(multi_, &queued);
    if (message == nullptr || message->msg != CURLMSG_DONE) return std::nullopt;
    const size_t i = message->easy_handle == transfers_[0].easy() ? 0 : 1;
    const CURLcode code = message->data.result;
    return std::pair(i, code);
  }

  CURLM* const multi_;
  std::array<Transfer, 2> transfers_;
  std::array<bool, 2> running_ = {};
};

HttpClient::HttpClient(HttpLimits limits) : limits_(limits) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  GANDEM_CHECK(initialized == CURLE_OK);
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Channel> HttpClient::TakeChannel() {
  absl::MutexLock lock(&mu_);
  if (idle_.empty()) return std::make_unique<Channel>();
  auto channel = std::move(idle_.back());
  idle_.pop_back();
  return channel;
}

HttpAnswer HttpClient::Get(const HttpRequest& request, int64_t max_body,
                           absl::Time deadline,
                           std::optional<absl::Duration> hedge_after,
                           absl::FunctionRef<bool()> may_hedge) {
  std::unique_ptr<Channel> channel = TakeChannel();
  const absl::Time start = MonotonicNow();
  absl::Time hedge_at =
      hedge_after.has_value() ? start + *hedge_after : absl::InfiniteFuture();
  channel->transfer(0).Prepare(request, limits_, max_body);
  channel->Start(0);
  bool hedged = false;
  StallWatch stall(limits_.stall, start);
  HttpAnswer answer;
  while (true) {
    const auto ended = channel->Wait(std::min(deadline, hedge_at));
    if (ended.has_value()) {
      const auto [i, code] = *ended;
      answer = channel->transfer(i).Finish(code);
      channel->Stop(i);
      const bool other_runs = channel->running(1 - i);
      const bool good =
          answer.failure == HttpFailure::kNone && answer.status < 500;
      if (good || !other_runs) break;
    } else if (ScopedReadStop::Stopped()) {
      answer = {.failure = HttpFailure::kCancelled, .problem = "stopped"};
      break;
    } else if (MonotonicNow() >= deadline) {
      answer = {.failure = HttpFailure::kNetwork,
                .problem = absl::StrCat(
                    "no answer within ",
                    absl::FormatDuration(
                        absl::Trunc(deadline - start, absl::Milliseconds(1))))};
      break;
    } else if (MonotonicNow() >= hedge_at) {
      hedge_at = absl::InfiniteFuture();
      if (!may_hedge()) continue;
      channel->transfer(1).Prepare(request, limits_, max_body);
      channel->Start(1);
      hedged = true;
    } else if (!hedged && !request.headers.empty() && request.size > 0 &&
               stall.IsStalled(channel->transfer(0).received(),
                               MonotonicNow()) &&
               channel->Continue(0, request, limits_)) {
      ProcessIoCounters().hedges.fetch_add(1);
    }
  }
  for (const size_t i : {0, 1}) channel->Stop(i);
  answer.hedged = hedged;
  absl::MutexLock lock(&mu_);
  if (idle_.size() < kMaxIdleChannels) idle_.push_back(std::move(channel));
  return answer;
}

}  // namespace gandem
