// SPDX-License-Identifier: Apache-2.0
//
// Reads the ranges of numbers from the option `within` of proto/config.proto.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/faults.h"

namespace gandem {

struct FieldRange {
  absl::string_view text;  // as written in the option: "[0, 64]"
  double low = 0;
  double high = 0;
  bool has_low = false;
  bool has_high = false;
  std::vector<double> more = {};  // allowed values outside the interval

  // Returns false for NaN.
  bool Has(double value) const;
};

// Returns nullopt if the field may have any value.
std::optional<FieldRange> RangeOf(
    const google::protobuf::FieldDescriptor& field);

// Returns the range of field `name`, which must have one.
FieldRange RangeOf(const google::protobuf::Descriptor& type,
                   const std::string& name);
template <typename Config>
FieldRange RangeOf(const std::string& name) {
  return RangeOf(*Config::descriptor(), name);
}

// Adds "field value is not in range" and returns false if it is not.
template <typename Value>
bool CheckWithin(const FieldRange& range, absl::string_view field, Value value,
                 Faults& faults) {
  const bool fits = range.Has(static_cast<double>(value));
  if (!fits) {
    faults.Add(absl::StrCat(field, " ", value, " is not in ", range.text));
  }
  return fits;
}

// Checks numbers and list lengths in `message` and nested messages. Returns
// whether no fault was added. Paths of faults start with `prefix` ("network.").
// Unset fields have their defaults, which are legal.
bool CheckRanges(const std::string& prefix,
                 const google::protobuf::Message& message, Faults& faults);

bool IsWithinRanges(const google::protobuf::Message& message);

}  // namespace gandem
