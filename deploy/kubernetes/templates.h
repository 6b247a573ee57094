// SPDX-License-Identifier: Apache-2.0
//
// The files of templates/, which the build embeds; deploy/text_template.h fills
// them in.
#pragma once

#include <span>

namespace gandem::internal {

extern const std::span<const unsigned char> kDisruptionBudgetYaml;
extern const std::span<const unsigned char> kJobSetYaml;
extern const std::span<const unsigned char> kJobSpecYaml;
extern const std::span<const unsigned char> kJobYaml;
extern const std::span<const unsigned char> kKustomizationYaml;
extern const std::span<const unsigned char> kNetworkPolicyYaml;
extern const std::span<const unsigned char> kRecipeYaml;
extern const std::span<const unsigned char> kReplicatedJobYaml;
extern const std::span<const unsigned char> kServiceYaml;
extern const std::span<const unsigned char> kVolumeYaml;

}  // namespace gandem::internal
