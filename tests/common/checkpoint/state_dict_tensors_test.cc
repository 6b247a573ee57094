// SPDX-License-Identifier: Apache-2.0
//
// Tensors with all kinds of strides in their storages, and files that ask for
// more memory than they have bytes.
#include "common/checkpoint/state_dict_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/checkpoint/hand_pickle.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::PickledInt;
using ::gandem::testing::PickledTensor;
using ::gandem::testing::PickledTensorAt;
using ::gandem::testing::PickledTuple;
using ::gandem::testing::PickleStream;
using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Entry of a pickled dict; its name has one letter.
struct PickledEntry {
  std::string name;
  std::string tensor;
};

// Returns a file: a dict of tensors in one storage of the floats 0, 1, 2 ...
std::string FileWith(const std::vector<PickledEntry>& entries, int num_floats) {
  std::string object = "\x80\x02}";
  for (const auto& [name, tensor] : entries) {
    object += "U\x01" + name + tensor + "s";
  }
  object +=
      ".\x80\x02]U\x01"
      "0a.";
  const auto count = static_cast<uint64_t>(num_floats);
  object.append(reinterpret_cast<const char*>(&count), sizeof(count));
  for (int i = 0; i < num_floats; ++i) {
    const auto value = static_cast<float>(i);
    object.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return PickleStream(object);
}

absl::StatusOr<std::vector<NamedTensor>> Parse(const std::string& file) {
  return ParsePickleStream(std::as_bytes(std::span(file)));
}

// Returns the rows of the tensor at `offset` in a storage of six floats.
absl::StatusOr<std::vector<float>> FloatsOf(
    int32_t offset, const std::vector<int32_t>& shape,
    const std::vector<int32_t>& strides) {
  const auto tensors =
      Parse(FileWith({{"x", PickledTensor(offset, shape, strides)}}, 6));
  if (!tensors.ok()) return tensors.status();
  const SharedBytes& bytes = tensors->at(0).bytes;
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

TEST(StateDictTensorsTest, ContiguousTensorsAreReadRowByRow) {
  EXPECT_THAT(*FloatsOf(0, {2, 3}, {3, 1}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(*FloatsOf(2, {2, 1}, {1, 7}), ElementsAre(2, 3));
  EXPECT_THAT(*FloatsOf(5, {}, {}), ElementsAre(5));
  EXPECT_THAT(*FloatsOf(0, {0, 3}, {3, 1}), IsEmpty());
}

TEST(StateDictTensorsTest, TransposedTensorsAreReadRowByRow) {
  EXPECT_THAT(*FloatsOf(0, {2, 3}, {1, 2}), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(*FloatsOf(0, {3, 1, 2}, {1, 0, 3}),
              ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(StateDictTensorsTest, SlicesAreRead) {
  EXPECT_THAT(*FloatsOf(1, {3}, {2}), ElementsAre(1, 3, 5));
  EXPECT_THAT(*FloatsOf(0, {2, 2}, {3, 1}), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(*FloatsOf(1, {2, 2}, {1, 3}), ElementsAre(1, 4, 2, 5));
}

// The first tensor asks for 8 PB.
TEST(StateDictTensorsTest, RepeatedElementsAreRefused) {
  const int32_t huge = INT32_MAX;
  const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>
      repeated = {{{huge, 1'000'000}, {0, 0}},
                  {{huge, 2}, {0, 1}},
                  {{2, 2}, {1, 1}},
                  {{2, 3}, {2, 1}},
                  {{3, 2}, {1, 2}}};
  for (const auto& [shape, strides] : repeated) {
    EXPECT_THAT(FloatsOf(0, shape, strides),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the tensor 'x' repeats elements")))
        << shape[0] << " " << shape[1];
  }
}

TEST(StateDictTensorsTest, NumbersAtTheirLimitsAreReadOrRefused) {
  const std::string largest = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  const std::string one = PickledTuple({1});
  for (const std::string& place :
       {largest + PickledTuple({}) + PickledTuple({}), largest + one + one,
        PickledInt(0) + "(" + largest + "t(" + largest + "t"}) {
    EXPECT_THAT(Parse(FileWith({{"x", PickledTensorAt(place)}}, 6)),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("a tensor's shape is impossible")));
  }
}

TEST(StateDictTensorsTest, TiedWeightsAreReadButOnlyALimitedNumber) {
  const std::string whole = PickledTensor(0, {1000}, {1});
  std::vector<PickledEntry> entries = {
      {"a", whole}, {"b", whole}, {"c", whole}, {"d", whole}};
  ASSERT_OK_AND_ASSIGN(const auto tied, Parse(FileWith(entries, 1000)));
  EXPECT_EQ(tied.size(), 4);
  for (const char name : {'e', 'f', 'g', 'h'}) {
    entries.push_back({std::string(1, name), whole});
  }
  EXPECT_THAT(Parse(FileWith(entries, 1000)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 4 times the file's bytes")));
}

TEST(StateDictTensorsTest, TensorsCopyOnlyTheirRows) {
  const auto parse = [](const std::string& place, size_t key_bytes) {
    return Parse(FileWith(
        {{"x", PickledTensorAt(place, std::string(key_bytes, 'k'))}}, 0));
  };
  const auto place_of = [](size_t rank) {
    const std::string tuple = PickledTuple(std::vector<int32_t>(rank, 0));
    return PickledInt(0) + tuple + tuple;
  };
  // The file lacks the storage, which is checked later.
  EXPECT_THAT(parse(place_of(64), 64),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a storage of no tensor")));
  EXPECT_THAT(parse(place_of(65), 64),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a shape of more than 64 dimensions")));
  EXPECT_THAT(parse(place_of(64), 65),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a storage has another form")));
}

TEST(StateDictTensorsTest, ARepeatedNameIsRefused) {
  const std::string one = PickledTensor(0, {1}, {1});
  EXPECT_THAT(
      Parse(FileWith({{"a", one}, {"a", one}}, 1)),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'a' stands twice")));
}

TEST(StateDictTensorsTest, OneTensorInVeryManyEntriesIsRefused) {
  // The pickle memoizes the first entry's tensor; the others refer to it.
  std::vector<PickledEntry> entries = {
      {"a", PickledTensor(0, {1}, {1}) + "q\x7f"}};
  entries.resize((1 << 18) + 1, {"a", "h\x7f"});
  EXPECT_THAT(Parse(FileWith(entries, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 262144 tensors")));
}

}  // namespace
}  // namespace gandem
