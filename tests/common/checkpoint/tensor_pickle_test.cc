// SPDX-License-Identifier: Apache-2.0
//
// Pickles that cost far more than they have bytes; what is read right is in
// state_dict_tensors_test.cc and state_dict_file_test.cc.
#include "common/checkpoint/tensor_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <span>
#include <string>

#include "tests/common/checkpoint/hand_pickle.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::PickledInt;
using ::gandem::testing::PickledTensorAt;
using ::gandem::testing::PickledTuple;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int kMostValues = 1 << 21;

absl::Status ReadPickle(const std::string& text) {
  PickleReader pickle(std::as_bytes(std::span(text)));
  return pickle.Read().status();
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  all.reserve(text.size() * static_cast<size_t>(times));
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TensorPickleTest, AsManyValuesAsAStateDictNeeds) {
  EXPECT_OK(ReadPickle(Repeat("N", 100'000) + "."));
}

TEST(TensorPickleTest, ValuesAreBounded) {
  EXPECT_THAT(ReadPickle(Repeat("N", kMostValues + 1) + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(TensorPickleTest, TheStackIsBounded) {
  const std::string one = {'K', 1, 'q', 0};
  EXPECT_THAT(
      ReadPickle(one + Repeat(std::string("h\0", 2), kMostValues) + "."),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("more than 2097152 values")));
  EXPECT_THAT(ReadPickle(Repeat("(", kMostValues + 1) + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(TensorPickleTest, TheMemoIsBounded) {
  std::string text = "N";
  for (int i = 0; i <= kMostValues; ++i) {
    text += 'r' + PickledInt(i).substr(1);
  }
  EXPECT_THAT(ReadPickle(text + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(TensorPickleTest, StoragesAndTensorsAreBounded) {
  const std::string storage =
      "(U\x07storagectorch\nFloatStorage\nU\x01"
      "0U\x03"
      "cpuK\x02tq\x01";
  EXPECT_OK(ReadPickle(storage + Repeat("h\x01Q", 1000) + "."));
  EXPECT_THAT(ReadPickle(storage + Repeat("h\x01Q", (1 << 18) + 1) + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 262144 tensors and storages")));
}

TEST(TensorPickleTest, WhatTensorsCopyIsShort) {
  const std::vector<int32_t> most(64, 1);
  EXPECT_OK(ReadPickle(
      PickledTensorAt(PickledInt(0) + PickledTuple(most) + PickledTuple(most)) +
      "."));
  const std::vector<int32_t> many(65, 1);
  EXPECT_THAT(ReadPickle(PickledTensorAt(PickledInt(0) + PickledTuple(many) +
                                         PickledTuple(many)) +
                         "."),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a shape of more than 64 dimensions")));
  const std::string place =
      PickledInt(0) + PickledTuple({1}) + PickledTuple({1});
  EXPECT_OK(ReadPickle(PickledTensorAt(place, std::string(64, 'k')) + "."));
  EXPECT_THAT(ReadPickle(PickledTensorAt(place, std::string(65, 'k')) + "."),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a storage has another form")));
}

// Copied for each call, these arguments are 400 GB.
TEST(TensorPickleTest, ATupleIsNotCopiedForEachCall) {
  const std::string tuple = "(" + Repeat("N", 500'000) + "tq\x01" +
                            "ctorch._utils\n_rebuild_parameter\nq\x02";
  const std::clock_t begin = std::clock();  // a busy machine does not count
  EXPECT_OK(ReadPickle(tuple + Repeat("h\x02h\x01R", 100'000) + "."));
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace gandem
