// SPDX-License-Identifier: Apache-2.0
#include "common/files/quantities.h"

#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gandem {
namespace {

struct QuantityUnit {
  absl::string_view name;
  double size;
};

constexpr QuantityUnit kByteUnits[] = {
    {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
    {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},
    {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
constexpr QuantityUnit kBitUnits[] = {
    {"bit", 1}, {"Kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}};
constexpr QuantityUnit kTimeUnits[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
constexpr QuantityUnit kCountUnits[] = {
    {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
constexpr double kMostTypedCount = 1e15;
constexpr double kMostTypedBytes = 0x1p50;

// Parses a non-negative number followed by one of `units`.
std::optional<double> ParseQuantity(absl::string_view text,
                                    std::span<const QuantityUnit> units) {
  text = absl::StripAsciiWhitespace(text);
  const size_t end = text.find_first_not_of("0123456789.");
  double number = 0;
  if (end == absl::string_view::npos || end == 0 ||
      !absl::SimpleAtod(text.substr(0, end), &number)) {
    return std::nullopt;
  }
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(end));
  for (const QuantityUnit& unit : units) {
    if (name == unit.name) return number * unit.size;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(absl::string_view name,
                                   absl::string_view text) {
  const std::optional<double> bytes = ParseQuantity(text, kByteUnits);
  if (!bytes.has_value() || *bytes < 1 || *bytes > kMostTypedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " '", text,
                     "' is no size in (0, 1024 TiB]: write a number and a "
                     "unit, as in 40GiB (B, KiB, MiB, GiB, TiB, kB, MB, GB, "
                     "TB)"));
  }
  return std::llround(*bytes);
}

std::optional<int64_t> ParseCount(absl::string_view text) {
  const std::optional<double> count = ParseQuantity(text, kCountUnits);
  if (!count.has_value() || *count < 1 || *count > kMostTypedCount) {
    return std::nullopt;
  }
  return std::llround(*count);
}

absl::StatusOr<Link> ParseLink(absl::string_view name, absl::string_view text) {
  const size_t comma = text.find(',');
  const bool has_latency = comma != absl::string_view::npos;
  const std::optional<double> bits =
      ParseQuantity(text.substr(0, comma), kBitUnits);
  const std::optional<double> seconds =
      has_latency ? ParseQuantity(text.substr(comma + 1), kTimeUnits)
                  : std::optional(0.0);
  if (!bits.has_value() || !(*bits > 0) || !seconds.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " '", text,
                     "' is no link: write its speed, above 0, and perhaps its "
                     "latency, as in 25Gbit or 100Mbit,20ms (Kbit, Mbit, Gbit "
                     "and Tbit a second; s, ms, us)"));
  }
  Link link;
  link.set_bytes_per_second(*bits / 8);
  link.set_latency_seconds(*seconds);
  return link;
}

std::string BytesText(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  for (const auto& [name, unit] :
       {std::pair("TiB", 0x1p40), std::pair("GiB", 0x1p30),
        std::pair("MiB", 0x1p20), std::pair("KiB", 0x1p10)}) {
    if (size >= unit) return absl::StrCat(NumberText(size / unit), " ", name);
  }
  return absl::StrCat(bytes, " B");
}

std::string NumberText(double number) {
  const double size = std::abs(number);
  return size >= 99.95   ? absl::StrFormat("%.0f", number)
         : size >= 9.995 ? absl::StrFormat("%.1f", number)
         : size >= 0.995 ? absl::StrFormat("%.2f", number)
                         : absl::StrFormat("%.3f", number);
}

std::string ShortNumber(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return absl::StrFormat("%.3gG", value / 1e9);
  if (size >= 1e6) return absl::StrFormat("%.3gM", value / 1e6);
  if (size >= 1e3) return absl::StrFormat("%.3gK", value / 1e3);
  return absl::StrFormat("%.3g", value);
}

}  // namespace gandem
