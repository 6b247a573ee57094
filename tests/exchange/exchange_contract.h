// SPDX-License-Identifier: Apache-2.0
//
// The contract of exchange.h as a test suite, instantiated for each kind of
// exchange. A pair is two connected ends.
//
// Owner: the test that instantiates. Thread safety: one thread calls make.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem::testing {

class ExchangePair {
 public:
  virtual ~ExchangePair() = default;
  virtual GeneratorExchange& generator() = 0;
  virtual DiscriminatorExchange& discriminator() = 0;
};

struct ExchangeKind {
  std::string name;
  std::function<std::unique_ptr<ExchangePair>(const ExchangeOptions&)> make;
};

class ExchangeContract : public ::testing::TestWithParam<ExchangeKind> {
 protected:
  // Creates the ends of one pair per test.
  void Connect(const ExchangeOptions& options) {
    pair_ = GetParam().make(options);
  }
  GeneratorExchange& generator() { return pair_->generator(); }
  DiscriminatorExchange& discriminator() { return pair_->discriminator(); }

 private:
  std::unique_ptr<ExchangePair> pair_;
};

std::string KindName(const ::testing::TestParamInfo<ExchangeKind>& info);

}  // namespace gandem::testing
