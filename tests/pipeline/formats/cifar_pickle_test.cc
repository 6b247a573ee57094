// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/cifar_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/pipeline/cifar_files.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::CifarPickle;
using ::gandem::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRow(3072, 'x');

TEST(CifarPickleTest, PixelsAndLabelsAreRead) {
  for (const char* const key : {"labels", "fine_labels"}) {
    const std::string pickle = CifarPickle(kRow + kRow, {3, 255}, key);
    ASSERT_OK_AND_ASSIGN(const CifarBatch batch, ParseCifarPickle(pickle));
    EXPECT_EQ(batch.pixels, kRow + kRow);
    EXPECT_THAT(batch.labels, ElementsAre(3, 255));
  }
}

// Protocol 2 of Python 3: bytes are text encoded by a function, which is
// recognized by its name and not called.
TEST(CifarPickleTest, BytesThatPython3WroteForPython2AreRead) {
  std::string pixels;
  std::string text;
  for (int i = 0; i < 3072; ++i) {
    const int byte = i % 256;
    pixels.push_back(static_cast<char>(byte));
    if (byte < 0x80) {
      text.push_back(static_cast<char>(byte));
    } else {
      text.push_back(static_cast<char>(0xc0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  std::string pickle = CifarPickle(kRow, {1});
  const std::string stored = absl::StrCat("T", zip::Pack(uint32_t{3072}), kRow);
  const size_t at = pickle.find(stored);
  ASSERT_NE(at, std::string::npos);
  pickle.replace(at, stored.size(),
                 absl::StrCat("c_codecs\nencode\nX",
                              zip::Pack(static_cast<uint32_t>(text.size())),
                              text, "U\x06latin1\x86R"));
  ASSERT_OK_AND_ASSIGN(const CifarBatch batch, ParseCifarPickle(pickle));
  EXPECT_EQ(batch.pixels, pixels);
}

TEST(CifarPickleTest, OtherPicklesSayWhatIsMissing) {
  const std::pair<std::string, const char*> kCases[] = {
      {"\x80\x02K\x01.", "it is not a dict"},
      {"\x80\x02}.", "it has no 'data'"},
      {CifarPickle(kRow, {1}, "names"), "it has no 'labels'"},
      {CifarPickle(kRow, {1, 2}), "1 images and 2 labels"},
      {CifarPickle(kRow, {256}), "a label is not in [0, 255]"},
      {CifarPickle(kRow + "x", {1}), "expected rows of 3072"},
      {"\x80\x02\x81.", "an operation 0x81, and only batches of CIFAR"}};
  for (const auto& [pickle, what] : kCases) {
    EXPECT_THAT(ParseCifarPickle(pickle),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }
}

TEST(CifarPickleTest, CutOffAnywhere) {
  const std::string pickle = CifarPickle(kRow, {1});
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_THAT(ParseCifarPickle(absl::string_view(pickle).substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
}

// Every byte changed: an error, or numbers.
TEST(CifarPickleTest, AnyDamageIsAnErrorOrHarmless) {
  const std::string pickle = CifarPickle(kRow, {1});
  const size_t pixels = pickle.find(kRow);
  for (size_t at = 0; at < pickle.size(); ++at) {
    if (at == pixels + 10) at = pixels + kRow.size();
    for (const char flip : {1, 2, 16, 127}) {
      std::string bad = pickle;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const auto batch = ParseCifarPickle(bad);
      EXPECT_THAT(batch.status().code(),
                  AnyOf(absl::StatusCode::kOk, absl::StatusCode::kDataLoss,
                        absl::StatusCode::kInvalidArgument));
    }
  }
}

}  // namespace
}  // namespace gandem
