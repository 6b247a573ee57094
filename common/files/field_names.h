// SPDX-License-Identifier: Apache-2.0
//
// Names of message fields and enum values, and suggestions for misspelled ones.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns dotted paths of all fields below `type` in order of declaration, each
// message before its fields. Recursive types are expanded once.
std::vector<std::string> FieldPaths(const google::protobuf::Descriptor& type);

// Returns "did you mean 'x'?" or the list of the fields.
std::string SuggestField(absl::string_view name,
                         const google::protobuf::Descriptor& type);

// Returns the error text for a field `name` that `type` lacks, with other paths
// below `root` that have a field of this name.
std::string NoSuchField(absl::string_view name,
                        const google::protobuf::Descriptor& type,
                        const google::protobuf::Descriptor& root);

// Suggests values of the enums of all fields with this name below `root`.
std::string SuggestEnumValue(absl::string_view field_name,
                             absl::string_view value,
                             const google::protobuf::Descriptor& root);

// Returns an explanation with the plain number if `field` is an integer and
// `value` has a unit ("10k", "64MB"). Returns "" otherwise.
std::string SuggestNumber(absl::string_view value,
                          const google::protobuf::FieldDescriptor& field);

}  // namespace gandem
