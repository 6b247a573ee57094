// SPDX-License-Identifier: Apache-2.0
//
// Checks of a NetworkConfig that need no networks: everything that makes one
// impossible to build. Most of them follow from the messages and options in
// proto/config.proto. A new family needs code here only for relations between
// its fields.
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

// gandem's families: the fields of NetworkConfig's oneof, in the order of the
// file, without `own`, which is the user's.
std::vector<const google::protobuf::FieldDescriptor*> NetworkFamilies();

// The one that is set; null: none.
const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const NetworkConfig& network);

// The option image_sizes of a family; empty: images may have any size.
std::vector<int64_t> ImageSizesOf(
    const google::protobuf::FieldDescriptor& family);

// Adds to `faults`, naming fields from `path` ("generator.network"): that the
// family is missing; `own` without a name; images of a size that it is not for;
// labels that it cannot be told, or misses; and what does not fit together.
// Ranges are in field_ranges.h.
void CheckNetwork(absl::string_view path, const NetworkConfig& network,
                  const DataShape& data, Faults& faults);

}  // namespace gandem
