// SPDX-License-Identifier: Apache-2.0
//
// Collects all faults of a set of options, to be repaired at once:
//
//   Faults faults("ring");
//   faults.CheckRange("chunk_bytes", options.chunk_bytes, 4 << 10, 64 << 20);
//   if (!faults.empty()) return faults.ToStatus();
//
// Owner: the function that checks. Thread safety: one thread.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

class Faults {
 public:
  // `name` is the subject of the faults: "ring", or a file's path.
  explicit Faults(absl::string_view name) : name_(name) {}

  // Checks that low <= value <= high, and returns the result.
  template <std::integral Value, std::integral Low, std::integral High>
  bool CheckRange(absl::string_view field, Value value, Low low, High high) {
    const bool fits =
        !std::cmp_less(value, low) && !std::cmp_greater(value, high);
    return Check(fits, field, absl::StrCat(value), absl::StrCat(low),
                 absl::StrCat(high));
  }
  // Overload for floating-point values; NaN is outside any range.
  bool CheckRange(absl::string_view field, double value, double low,
                  double high) {
    return Check(value >= low && value <= high, field, absl::StrCat(value),
                 absl::StrCat(low), absl::StrCat(high));
  }
  bool CheckRange(absl::string_view field, absl::Duration value,
                  absl::Duration low, absl::Duration high) {
    return Check(value >= low && value <= high, field,
                 absl::FormatDuration(value), absl::FormatDuration(low),
                 absl::FormatDuration(high));
  }

  // Checks that 0 < value <= high, and returns the result.
  bool CheckPositive(absl::string_view field, double value, double high) {
    if (value > 0 && value <= high) return true;
    Add(absl::StrCat(field, " ", value, " is not in (0, ", high, "]"));
    return false;
  }

  void Add(std::string fault) { faults_.push_back(std::move(fault)); }

  bool empty() const { return faults_.empty(); }
  const std::vector<std::string>& list() const { return faults_; }

  // Returns INVALID_ARGUMENT "name: first; second", or OK without faults.
  absl::Status ToStatus() const;

 private:
  bool Check(bool fits, absl::string_view field, absl::string_view value,
             absl::string_view low, absl::string_view high);

  std::string name_;
  std::vector<std::string> faults_;
};

}  // namespace gandem
