// SPDX-License-Identifier: Apache-2.0
//
// Pickles whose result is far larger than their bytes.
// state_dict_tensors_test.cc, state_dict_file_test.cc and cifar_pickle_test.cc
// check values.
#include "common/checkpoint/pickle.h"

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
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int kMostValues = 1 << 21;

absl::Status ReadPickle(const std::string& text) {
  PickleReader pickle(std::as_bytes(std::span(text)), "nothing is read");
  return pickle.Read().status();
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  all.reserve(text.size() * static_cast<size_t>(times));
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(PickleTest, TheNumberOfValuesThatFilesNeedIsAccepted) {
  EXPECT_OK(ReadPickle(Repeat("N", 100'000) + "."));
}

TEST(PickleTest, ValuesAreBounded) {
  EXPECT_THAT(ReadPickle(Repeat("N", kMostValues + 1) + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(PickleTest, TheStackIsBounded) {
  const std::string one = {'K', 1, 'q', 0};
  EXPECT_THAT(
      ReadPickle(one + Repeat(std::string("h\0", 2), kMostValues) + "."),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("more than 2097152 values")));
  EXPECT_THAT(ReadPickle(Repeat("(", kMostValues + 1) + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(PickleTest, TheMemoIsBounded) {
  std::string text = "N";
  for (int i = 0; i <= kMostValues; ++i) {
    text += 'r' + PickledInt(i).substr(1);
  }
  EXPECT_THAT(ReadPickle(text + "."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2097152 values")));
}

TEST(PickleTest, NamesAreCopiedAndThereforeShort) {
  const std::string module = "cmodule\n";
  EXPECT_OK(ReadPickle(module + std::string(250, 'n') + "\n."));
  EXPECT_THAT(
      ReadPickle(module + std::string(251, 'n') + "\n."),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a name is too long")));
}

// Copies for each call would take 400 GB.
TEST(PickleTest, ATupleIsNotCopiedForEachCall) {
  const std::string tuple =
      "(" + Repeat("N", 500'000) + "tq\x01" + "cmodule\nfunction\nq\x02";
  const std::clock_t begin = std::clock();  // CPU time ignores a busy machine
  EXPECT_OK(ReadPickle(tuple + Repeat("h\x02h\x01R", 100'000) + "."));
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace gandem
