// SPDX-License-Identifier: Apache-2.0
//
// The fields and values that messages have, and which one somebody meant.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {

// Dotted paths of all fields below `type`, in order of declaration, messages
// before their fields. Types that contain themselves are not entered twice.
std::vector<std::string> FieldPaths(const google::protobuf::Descriptor& type);

// "did you mean 'x'?" or the list of what there is.
std::string SuggestField(absl::string_view name,
                         const google::protobuf::Descriptor& type);

// That `type`, somewhere below `root`, has no field of this name, and where one
// would be right.
std::string NoSuchField(absl::string_view name,
                        const google::protobuf::Descriptor& type,
                        const google::protobuf::Descriptor& root);

// Suggests values of the enums of all fields with this name below `root`.
std::string SuggestEnumValue(absl::string_view field_name,
                             absl::string_view value,
                             const google::protobuf::Descriptor& root);

// For a field of whole numbers and a value with a unit ("10k", "64MB") what it
// is in digits; else "".
std::string SuggestNumber(absl::string_view value,
                          const google::protobuf::FieldDescriptor& field);

}  // namespace gandem
