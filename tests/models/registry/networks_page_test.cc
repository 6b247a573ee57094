// SPDX-License-Identifier: Apache-2.0
//
// Every row of the tables in docs/networks.md and in the pages of extras makes
// two networks. The recipe check must accept them at all sizes in the row; they
// are made at the smallest size, which needs the least memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/network_check.h"
#include "common/files/file.h"
#include "models/registry/registry.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ParseNetwork;

struct PageRow {
  std::string reference;
  std::vector<int64_t> sizes;
  std::string generator;  // of NetworkConfig, in text format
  std::string discriminator;
};

// Parses a row: "| reference | sizes | `network` |", or one network per role.
PageRow RowOf(const std::string& line) {
  const std::vector<std::string> cells = absl::StrSplit(line, '|');
  EXPECT_EQ(cells.size(), 5u) << line;
  PageRow row;
  row.reference = cells.at(1);
  const std::vector<std::string> sizes =
      absl::StrSplit(cells.at(2), absl::ByAnyChar(", "), absl::SkipEmpty());
  for (const std::string& size : sizes) {
    EXPECT_TRUE(absl::SimpleAtoi(size, &row.sizes.emplace_back())) << line;
  }
  EXPECT_FALSE(row.sizes.empty()) << line;
  std::smatch match;
  if (std::regex_match(cells.at(3), match,
                       std::regex(" generator `([^`]+)`, discriminator "
                                  "`([^`]+)` "))) {
    row.generator = match[1];
    row.discriminator = match[2];
  } else if (std::regex_match(cells.at(3), match, std::regex(" `([^`]+)` "))) {
    row.generator = row.discriminator = match[1];
  } else {
    ADD_FAILURE() << "no network in " << line;
  }
  return row;
}

// Returns the rows of a page, except those of a missing extra.
std::vector<PageRow> RowsOfThePage(const std::string& page) {
  const char* const source_dir = std::getenv("GANDEM_SOURCE_DIR");
  const std::string path =
      absl::StrCat(source_dir == nullptr ? "." : source_dir, "/", page);
  std::vector<PageRow> rows;
  if (page.starts_with("extras/") && !std::filesystem::exists(path)) {
    return rows;
  }
  const auto text = ReadFile(path);
  EXPECT_OK(text.status());
  bool in_table = false;  // below the line of dashes
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  for (const std::string& line : lines) {
    if (in_table && line.starts_with("|")) rows.push_back(RowOf(line));
    in_table = line.starts_with("|--") || (in_table && line.starts_with("|"));
  }
  return rows;
}

void ExpectLegal(const std::string& text, const DataShape& data) {
  Faults faults("network");
  CheckNetwork("network", ParseNetwork(text), data, faults);
  EXPECT_TRUE(faults.empty()) << text << ": " << faults.ToStatus();
}

DataShape TenClasses(int64_t size) {
  return {.image = {.channels = 3, .height = size, .width = size},
          .num_classes = 10};
}

TEST(NetworksPageTest, EveryRowMakesBothNetworks) {
  std::vector<PageRow> rows = RowsOfThePage("docs/networks.md");
  EXPECT_GE(rows.size(), 15u);
  for (const std::string extra :
       {"extras/r3gan/r3gan.md", "extras/stylegan2/stylegan2.md"}) {
    std::ranges::move(RowsOfThePage(extra), std::back_inserter(rows));
  }
  for (const PageRow& row : rows) {
    SCOPED_TRACE(row.reference);
    for (const int64_t size : row.sizes) {
      ExpectLegal(row.generator, TenClasses(size));
      ExpectLegal(row.discriminator, TenClasses(size));
    }
    const DataShape data = TenClasses(std::ranges::min(row.sizes));
    EXPECT_OK(MakeGenerator(ParseNetwork(row.generator), data).status());
    EXPECT_OK(
        MakeDiscriminator(ParseNetwork(row.discriminator), data).status());
  }
}

}  // namespace
}  // namespace gandem
