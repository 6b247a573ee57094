// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange_ends.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/host_identity.h"
#include "common/process/log.h"
#include "common/rpc/address.h"
#include "common/rpc/listen_check.h"
#include "common/rpc/why_no_answer.h"
#include "common/security/credentials.h"
#include "common/status.h"
#include "exchange/fleet_exchange.h"
#include "exchange/in_process_exchange.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"

namespace gandem {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

// Returns whether the socket is invisible. The cause is unknown: a killed
// process and another mount namespace look equal.
bool IsOutOfSight(const absl::Status& connected) {
  return absl::IsNotFound(connected) || absl::IsPermissionDenied(connected);
}

absl::Status OutOfReach(const absl::Status& connected) {
  return absl::FailedPreconditionError(absl::StrCat(
      connected.message(),
      ": the discriminator listens there, but this process has another /tmp or "
      "another user; start the discriminator with --listen HOST:PORT"));
}

}  // namespace

ExchangeEnds::ExchangeEnds(Role role, const ExchangeOptions& options)
    : role_(role), options_(options) {}

ExchangeEnds::~ExchangeEnds() = default;

absl::StatusOr<std::unique_ptr<ExchangeEnds>> ExchangeEnds::Create(
    Role role, const ExchangeOptions& options, const std::string& listen) {
  std::unique_ptr<ExchangeEnds> ends(new ExchangeEnds(role, options));
  if (role == GENERATOR) return ends;
  ends->discriminator_ = std::make_unique<DiscriminatorEnd>(options);
  if (role == COLOCATED) {
    absl::MutexLock lock(&ends->mu_);
    ends->generator_ =
        CreateInProcessGenerator(options, ends->discriminator_.get());
    return ends;
  }
  std::string address = listen;
  if (address.empty()) {
    GANDEM_ASSIGN_OR_RETURN(ends->folder_, SocketFolder::Create());
    address = ends->folder_->AddressOf("exchange");
  }
  GANDEM_ASSIGN_OR_RETURN(
      ends->server_,
      ExchangeServer::Start({.address = address, .exchange = options},
                            ends->discriminator_.get()));
  return ends;
}

std::string ExchangeEnds::address() const {
  return server_ == nullptr ? "" : server_->address();
}

absl::Status ExchangeEnds::Connect(const std::vector<std::string>& addresses,
                                   absl::Time deadline,
                                   const std::function<void()>& on_damage) {
  if (role_ != GENERATOR) return absl::OkStatus();
  if (std::cmp_not_equal(addresses.size(), options_.num_discriminators)) {
    return absl::InternalError(
        absl::StrCat("addresses of ", addresses.size(),
                     " discriminator workers, the config has ",
                     options_.num_discriminators));
  }
  std::vector<std::unique_ptr<GeneratorExchange>> clients(addresses.size());
  const std::vector<bool> partners =
      PartnersOf(options_.schedule, options_.rank, options_.num_generators,
                 options_.num_discriminators);
  for (int rank = 0; rank < options_.num_discriminators; ++rank) {
    if (!partners[rank]) continue;
    const std::string& address = addresses[rank];
    GANDEM_RETURN_IF_ERROR(AwaitSocket(address, deadline));
    ExchangeClientOptions client = {.address = address, .exchange = options_};
    GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
    if (!parsed.is_unix()) {
      absl::MutexLock lock(&mu_);
      unanswered_.insert(address);
    }
    client.on_answer = [this, address](const absl::Status& answer) {
      NoteAnswer(address, answer);
    };
    client.on_damage = on_damage;
    GANDEM_ASSIGN_OR_RETURN(clients[rank], CreateExchangeClient(client));
  }
  absl::MutexLock lock(&mu_);
  generator_ = clients.size() == 1
                   ? std::move(clients.front())
                   : CreateFleetExchange(options_, std::move(clients));
  // Close may have been called before.
  if (!closed_.ok()) generator_->Close(closed_);
  return absl::OkStatus();
}

absl::Status ExchangeEnds::AwaitPeers(absl::Time deadline) {
  std::string address;
  {
    absl::MutexLock lock(&mu_);
    const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return unanswered_.empty() || !failed_.ok() || !closed_.ok();
    };
    AwaitUntil(&mu_, absl::Condition(&ready), deadline);
    GANDEM_RETURN_IF_ERROR(closed_);
    GANDEM_RETURN_IF_ERROR(failed_);
    if (unanswered_.empty()) return absl::OkStatus();
    address = *unanswered_.begin();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("host ", ThisHost().name,
                   " does not reach the discriminator at ", address, ": ",
                   WhyNoAnswer(address, *ProcessCredentials(),
                               MonotonicNow() + kLookForReason)));
}

void ExchangeEnds::NoteAnswer(const std::string& address,
                              const absl::Status& answer) {
  absl::MutexLock lock(&mu_);
  if (answer.ok()) unanswered_.erase(address);
  if (failed_.ok()) failed_ = answer;
}

absl::Status ExchangeEnds::AwaitSocket(const std::string& address,
                                       absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  if (!parsed.is_unix()) return absl::OkStatus();
  bool is_said = false;
  while (true) {
    const absl::Status connected = CheckUnixSocketAnswers(parsed);
    if (!IsOutOfSight(connected)) return absl::OkStatus();
    absl::MutexLock lock(&mu_);
    GANDEM_RETURN_IF_ERROR(closed_);
    if (MonotonicNow() >= deadline) return OutOfReach(connected);
    if (!is_said) GANDEM_LOG_WARN("{}; trying again", connected.message());
    is_said = true;
    const auto is_closed = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !closed_.ok();
    };
    AwaitUntil(&mu_, absl::Condition(&is_closed), MonotonicNow() + kLookAgain);
  }
}

GeneratorExchange* ExchangeEnds::generator() {
  absl::MutexLock lock(&mu_);
  return generator_.get();
}

void ExchangeEnds::Close(const absl::Status& reason) {
  if (discriminator_) discriminator_->Close(reason);
  absl::MutexLock lock(&mu_);
  if (closed_.ok()) closed_ = reason;
  if (generator_) generator_->Close(reason);
}

}  // namespace gandem
