// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a NetworkConfig can be built, without building it. Most checks
// follow from the messages and options in proto/config.proto; a new family
// needs code here only for relations between its fields.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <vector>

#include "absl/strings/string_view.h"
#include "common/config/data_shape.h"
#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Returns the fields of NetworkConfig's oneof in the order of the file, except
// `own`, the user's family.
std::vector<const google::protobuf::FieldDescriptor*> NetworkFamilies();

// Returns the field that is set, or null.
const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const NetworkConfig& network);

// Returns the option image_sizes of a family; empty if any size is allowed.
std::vector<int64_t> ImageSizesOf(
    const google::protobuf::FieldDescriptor& family);

// Adds faults with fields below `path` ("generator.network"): missing family,
// `own` without a name, unsupported image size, unsupported or missing labels,
// and fields that contradict each other. Ranges are in field_ranges.h.
void CheckNetwork(absl::string_view path, const NetworkConfig& network,
                  const DataShape& data, Faults& faults);

}  // namespace gandem
