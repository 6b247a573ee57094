// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/shared_slices.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/strings/match.h"
#include "common/process/failpoint.h"

namespace gandem {
namespace {

void DeleteSharedBytes(void* bytes) { delete static_cast<SharedBytes*>(bytes); }

// Returns a slice that keeps the bytes alive. gRPC does not write to it.
grpc::Slice ShareSlice(const SharedBytes& bytes) {
  return grpc::Slice(const_cast<std::byte*>(bytes.data()), bytes.size(),
                     &DeleteSharedBytes, new SharedBytes(bytes));
}

class ControlDamage : public grpc::experimental::Interceptor {
 public:
  explicit ControlDamage(void (*damage)(grpc::ByteBuffer&)) : damage_(damage) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      damage_(*batch->GetSerializedSendMessage());
    }
    batch->Proceed();
  }

 private:
  void (*const damage_)(grpc::ByteBuffer& message);
};

}  // namespace

grpc::ByteBuffer JoinSlices(const std::string& head,
                            const SharedBytes& payload) {
  const grpc::Slice slices[] = {grpc::Slice(head), ShareSlice(payload)};
  return grpc::ByteBuffer(slices, payload.empty() ? 1 : 2);
}

absl::StatusOr<std::vector<SharedBytes>> ShareSlices(
    const grpc::ByteBuffer& buffer) {
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!buffer.Dump(slices.get()).ok()) {
    return absl::InvalidArgumentError("malformed frame: cannot be unpacked");
  }
  std::vector<SharedBytes> result;
  result.reserve(slices->size());
  for (const grpc::Slice& slice : *slices) {
    result.emplace_back(slices, std::as_bytes(std::span<const uint8_t>(
                                    slice.begin(), slice.size())));
  }
  return result;
}

void DamageMessage(absl::string_view failpoint, grpc::ByteBuffer& message) {
  const std::optional<size_t> at =
      FailpointDamages(failpoint, message.Length());
  if (!at.has_value()) return;
  grpc::Slice bytes;
  if (!message.DumpToSingleSlice(&bytes).ok()) return;
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  copy[*at] = WithWrongBit(copy[*at], *at);
  const grpc::Slice damaged(copy.data(), copy.size());
  message = grpc::ByteBuffer(&damaged, 1);
}

grpc::experimental::Interceptor* NewControlDamage(
    absl::string_view method, void (*damage)(grpc::ByteBuffer& message)) {
  return absl::StartsWith(method, "/gandem.Control/")
             ? new ControlDamage(damage)
             : nullptr;
}

}  // namespace gandem
