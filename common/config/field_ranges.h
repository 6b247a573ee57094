// SPDX-License-Identifier: Apache-2.0
//
// Ranges of numbers. A field of proto/config.proto states its range beside its
// default (option `within`); whoever checks or explains a number reads it here.
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
  absl::string_view text;  // "[0, 64]", as the field states it
  double low = 0;
  double high = 0;
  bool has_low = false;
  bool has_high = false;
  std::vector<double> more = {};  // values besides

  // NaN is in no range.
  bool Has(double value) const;
};

// nullopt: the field may have any value.
std::optional<FieldRange> RangeOf(
    const google::protobuf::FieldDescriptor& field);

// The range of the field `name` of a message, which has to have one.
FieldRange RangeOf(const google::protobuf::Descriptor& type,
                   const std::string& name);
template <typename Config>
FieldRange RangeOf(const std::string& name) {
  return RangeOf(*Config::descriptor(), name);
}

// Adds "field value is not in range" unless it is. Returns whether it is.
template <typename Value>
bool CheckWithin(const FieldRange& range, absl::string_view field, Value value,
                 Faults& faults) {
  const bool fits = range.Has(static_cast<double>(value));
  if (!fits) {
    faults.Add(absl::StrCat(field, " ", value, " is not in ", range.text));
  }
  return fits;
}

// Adds every number in `message` and in all messages of it that is out of its
// range, and every list that is too long. Paths begin with `prefix`
// ("network."). Fields that are not set have their defaults, which are legal.
// Returns whether nothing was added.
bool CheckRanges(const std::string& prefix,
                 const google::protobuf::Message& message, Faults& faults);

// The same without the faults.
bool IsWithinRanges(const google::protobuf::Message& message);

}  // namespace gandem
