// SPDX-License-Identifier: Apache-2.0
//
// Files written by Python's torch.save() (tests/oracles/ feature_goldens.py),
// and damaged files.
#include "training/state/state_dict_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "common/files/file.h"
#include "tests/common/checkpoint/hand_pickle.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::PickledTensorAt;
using ::gandem::testing::PickleStream;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

std::string GoldenPath(const std::string& name) {
  return std::string(std::getenv("GANDEM_SOURCE_DIR")) + "/tests/goldens/" +
         name;
}

class StateDictFileTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string Golden() { return GoldenPath(GetParam()); }
  absl::Status ReadBytes(const std::string& bytes) {
    const std::string path = dir_ / "file.pth";
    EXPECT_OK(WriteFile(path, bytes));
    return ReadStateDict(path).status();
  }
  gandem::testing::TempDir dir_;
};

TEST_P(StateDictFileTest, EqualsWhatSafetensorsSays) {
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> expected,
                       ReadSafetensors(GoldenPath("state_dict.safetensors")));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> actual,
                       ReadStateDict(Golden()));
  ASSERT_EQ(actual.size(), expected.size());
  std::map<std::string, NamedTensor> by_name;
  for (const NamedTensor& tensor : actual) by_name[tensor.name] = tensor;
  for (const NamedTensor& want : expected) {
    const NamedTensor& got = by_name[want.name];
    EXPECT_EQ(got.dtype, want.dtype) << want.name;
    EXPECT_EQ(got.shape, want.shape) << want.name;
    EXPECT_TRUE(std::equal(got.bytes.span().begin(), got.bytes.span().end(),
                           want.bytes.span().begin(), want.bytes.span().end()))
        << want.name;
  }
}

TEST_P(StateDictFileTest, TruncatedAnywhere) {
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(Golden()));
  for (size_t size = 0; size < bytes.size(); size += 97) {
    const absl::Status status = ReadBytes(bytes.substr(0, size));
    EXPECT_TRUE(status.code() == absl::StatusCode::kDataLoss ||
                status.code() == absl::StatusCode::kInvalidArgument)
        << size << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("file.pth"));
  }
}

// A changed byte makes reading fail or gives other tensors, and does no other
// harm.
TEST_P(StateDictFileTest, ChangedBytesDoNoHarm) {
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(Golden()));
  int failed = 0;
  for (size_t i = 0; i < bytes.size(); i += 31) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    if (!ReadBytes(changed).ok()) ++failed;
  }
  EXPECT_GT(failed, 10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, StateDictFileTest,
                         ::testing::Values("state_dict_zip.pth",
                                           "state_dict_stream.pth"));

struct Hostile {
  std::string object;
  absl::StatusCode code;
  std::string message;
};

TEST(StateDictTest, NamesWhatItDoesNotRead) {
  gandem::testing::TempDir dir;
  const std::string path = dir / "file.pth";
  const auto object = [](const std::string& text) {
    return "\x80\x02" + text + ".\x80\x02]q\x01.";
  };
  const Hostile cases[] = {
      {object("cos\nsystem\nU\x02ls\x85R"), absl::StatusCode::kInvalidArgument,
       "a os.system"},
      {object("cmodels\nNet\n)R"), absl::StatusCode::kInvalidArgument,
       "a models.Net"},
      {object("K\x05"), absl::StatusCode::kInvalidArgument, "holds no dict"},
      {object("}U\x01xK\x05s"), absl::StatusCode::kInvalidArgument,
       "'x' is no tensor"},
      {object("i"), absl::StatusCode::kInvalidArgument, "operation 0x69"},
      {object("h\x07"), absl::StatusCode::kDataLoss, "unknown reference"},
      {object("s"), absl::StatusCode::kDataLoss, "a value is missing"},
      {object("u"), absl::StatusCode::kDataLoss, "a mark is missing"},
      {object("(K\x01K\x02"
              "e"),
       absl::StatusCode::kDataLoss, "nothing to append to"},
      {object("}U\x01xcos\nsystem\nU\x02ls\x85Rs"),
       absl::StatusCode::kInvalidArgument, "a os.system"},
  };
  for (const Hostile& hostile : cases) {
    ASSERT_OK(WriteFile(path, PickleStream(hostile.object)));
    EXPECT_THAT(ReadStateDict(path),
                StatusIs(hostile.code, HasSubstr(hostile.message)));
  }
}

TEST(StateDictTest, TensorsThatReachOutOfTheirStorage) {
  gandem::testing::TempDir dir;
  const std::string path = dir / "file.pth";
  // {"x": tensor} over the storage "0" of two floats.
  const auto tensor = [](const std::string& offset_shape_strides) {
    return "\x80\x02}U\x01x" + PickledTensorAt(offset_shape_strides) +
           "s.\x80\x02]U\x01"
           "0a." +
           std::string(
               "\x02\0\0\0\0\0\0\0"
               "12345678",
               16);
  };
  ASSERT_OK(WriteFile(path, PickleStream(tensor("K\x01K\x01\x85K\x01\x85"))));
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedTensor> fits,
                       ReadStateDict(path));
  ASSERT_EQ(fits.size(), 1);
  EXPECT_EQ(fits[0].bytes.size(), 4);
  EXPECT_EQ(static_cast<char>(fits[0].bytes.data()[0]), '5');

  const std::string huge = "J\xff\xff\xff\x7f";
  const std::vector<std::string> outside = {
      "K\x02K\x01\x85K\x01\x85",
      "K\x01K\x02\x85K\x01\x85",
      {"K\0K\x02\x85K\x02\x85", 8},
      "J\xff\xff\xff\xffK\x01\x85K\x01\x85",
      "K\x01" + huge + "\x85" + huge + "\x85",
      "K\x01" + huge + huge + huge + "\x87" + huge + huge + huge + "\x87",
      "K\x01K\x02\x85J\xff\xff\xff\xff\x85"};
  for (const std::string& out : outside) {
    ASSERT_OK(WriteFile(path, PickleStream(tensor(out))));
    EXPECT_THAT(ReadStateDict(path), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(ReadStateDict(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace gandem
