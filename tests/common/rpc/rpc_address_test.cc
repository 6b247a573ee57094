// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/rpc/address.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(AddressTest, AddressesAreParsedAndPrinted) {
  const struct {
    const char* text;
    Address address;
  } kCases[] = {
      {"unix:/tmp/s", {.unix_path = "/tmp/s"}},
      {"localhost:7000", {.host = "localhost", .port = 7000}},
      {"10.0.0.1:0", {.host = "10.0.0.1", .port = 0}},
      {"[::1]:65535", {.host = "::1", .port = 65535}},
  };
  for (const auto& expected : kCases) {
    ASSERT_OK_AND_ASSIGN(const Address address, ParseAddress(expected.text));
    EXPECT_EQ(address, expected.address) << expected.text;
    EXPECT_EQ(ToString(address), expected.text);
  }
}

TEST(AddressTest, TextThatIsNotAnAddressIsRefused) {
  const struct {
    const char* text;
    const char* why;
  } kCases[] = {
      {"", "no port"},
      {"host", "no port"},
      {":7000", "no host"},
      {"[]:7000", "no host"},
      {"host:", "the port is not in [0, 65535]"},
      {"host:x", "the port is not in [0, 65535]"},
      {"host:-1", "the port is not in [0, 65535]"},
      {"host:65536", "the port is not in [0, 65535]"},
      {"::1:7000", "not allowed"},
      {"http://host:7000", "not allowed"},
      {"[host]:7000", "no IPv6 address"},
      {"unix:relative/path", "not absolute"},
      {"unix:", "not absolute"},
  };
  for (const auto& expected : kCases) {
    EXPECT_THAT(
        ParseAddress(expected.text),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(expected.why)))
        << expected.text;
  }
}

TEST(AddressTest, ALongUnixPathIsRefusedWithAdvice) {
  const std::string longest = "/" + std::string(kMaxUnixPath - 1, 'x');
  EXPECT_OK(ParseAddress("unix:" + longest));
  EXPECT_THAT(ParseAddress("unix:" + longest + "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at most 107 bytes, this one 108; use a "
                                 "shorter folder")));
}

TEST(AddressTest, LoopbackAndUnixAddressesAreLocal) {
  for (const char* text :
       {"unix:/s", "localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1"}) {
    EXPECT_TRUE(StaysOnThisHost(*ParseAddress(text))) << text;
  }
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::2]:1",
                           "host:1", "127.0.0.1.example.org:1"}) {
    EXPECT_FALSE(StaysOnThisHost(*ParseAddress(text))) << text;
  }
}

TEST(AddressTest, AnAddressThatOtherHostsCannotConnectToIsRefused) {
  for (const char* text : {"0.0.0.0:7000", "[::]:7000"}) {
    EXPECT_THAT(CheckNoWildcard(*ParseAddress(text)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(text), HasSubstr("give one of this "
                                                          "host: "))))
        << text;
  }
  for (const char* text : {"10.0.0.1:1", "[::2]:1", "host:1", "unix:/s"}) {
    EXPECT_OK(CheckNoWildcard(*ParseAddress(text))) << text;
  }
}

}  // namespace
}  // namespace gandem
