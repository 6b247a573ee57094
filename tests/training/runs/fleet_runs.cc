// SPDX-License-Identifier: Apache-2.0
#include "tests/training/runs/fleet_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::IsEmpty;
using Tensors = std::vector<NamedTensor>;

// Differences below this are rounding errors, even after an optimizer's step.
constexpr double kRounding = 1e-10;

template <typename Value>
std::vector<double> ValuesOf(const NamedTensor& tensor) {
  std::vector<Value> values(tensor.bytes.size() / sizeof(Value));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return {values.begin(), values.end()};
}

// Returns the values of a tensor; empty for integers.
std::vector<double> Values(const NamedTensor& tensor) {
  if (tensor.dtype == DType::kF64) return ValuesOf<double>(tensor);
  if (tensor.dtype == DType::kF32) return ValuesOf<float>(tensor);
  return {};
}

}  // namespace

RunConfig Float64(RunConfig config) {
  config.set_rounds(4);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_precision(RoleConfig::FLOAT64);
    role->set_batch_size(7);
  }
  config.mutable_exchange()->set_image_encoding(ExchangeConfig::FLOAT64);
  config.mutable_exchange()->set_feedback_encoding(ExchangeConfig::FLOAT64);
  config.mutable_checkpoint()->set_every_rounds(0);
  return config;
}

void SetWorkers(int generators, int discriminators, RunConfig& config) {
  config.mutable_generator()->set_workers(generators);
  config.mutable_discriminator()->set_workers(discriminators);
}

SavedStates Train(const RunConfig& config, uint64_t delay_seed) {
  auto states = RunPair(config, {.decoupled = true, .delay_seed = delay_seed});
  EXPECT_THAT(states.status(), IsOk());
  return states.ok() ? *std::move(states) : SavedStates();
}

const Tensors& Final(const SavedStates& states, const std::string& role,
                     int rank) {
  static const Tensors kNone;
  if (states.empty()) return kNone;
  const auto& files = states.rbegin()->second;
  const auto found = files.find(absl::StrCat(role, "-", rank, ".safetensors"));
  EXPECT_NE(found, files.end()) << role << rank;
  return found == files.end() ? kNone : found->second;
}

double Distance(const Tensors& a, const Tensors& b) {
  EXPECT_EQ(a.size(), b.size());
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : b) by_name[tensor.name] = &tensor;
  double worst = 0;
  for (const NamedTensor& tensor : a) {
    const NamedTensor* const other = by_name[tensor.name];
    if (other == nullptr) continue;
    const std::vector<double> x = Values(tensor);
    const std::vector<double> y = Values(*other);
    EXPECT_EQ(x.size(), y.size()) << tensor.name;
    double difference = 0;
    double size = 0;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      difference += (x[i] - y[i]) * (x[i] - y[i]);
      size += y[i] * y[i];
    }
    if (size < kRounding * kRounding) size = 1;
    const double distance = std::sqrt(difference / size);
    // The comparison also catches NaN.
    if (!(distance <= worst))
      worst = std::isnan(distance) ? HUGE_VAL : distance;
  }
  return worst;
}

void ExpectRanksAgree(const SavedStates& states, const RunConfig& config) {
  for (int rank = 1; rank < config.generator().workers(); ++rank) {
    EXPECT_THAT(Differences(Final(states, "generator", 0),
                            Final(states, "generator", rank)),
                IsEmpty());
  }
  for (int rank = 1; rank < config.discriminator().workers(); ++rank) {
    EXPECT_THAT(Differences(Final(states, "discriminator", 0),
                            Final(states, "discriminator", rank)),
                IsEmpty());
  }
}

void ExpectClose(const SavedStates& states, const SavedStates& other,
                 double limit) {
  for (const char* role : {"generator", "discriminator"}) {
    EXPECT_LT(Distance(Final(states, role, 0), Final(other, role, 0)), limit)
        << role;
  }
}

}  // namespace gandem::testing
