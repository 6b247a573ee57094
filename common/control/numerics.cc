// SPDX-License-Identifier: Apache-2.0
#include "common/control/numerics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files/printable.h"
#include "common/process/machine.h"

namespace gandem {
namespace {

constexpr size_t kMaxValue = 200;  // bytes; names are much shorter
constexpr size_t kMaxOwners = 3;   // named in a text

// Same rule as ATen's compute_cpu_capability()
// (aten/src/ATen/native/DispatchStub.cpp).
std::string CpuCapability() {
#if defined(__x86_64__)
  const char* const wanted = std::getenv("ATEN_CPU_CAPABILITY");
  for (const char* const known : {"avx512", "avx2", "default"}) {
    if (wanted != nullptr && absl::string_view(wanted) == known) {
      return absl::AsciiStrToUpper(known);
    }
  }
  const bool has_fma = __builtin_cpu_supports("fma");
  if (has_fma && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return "AVX512";
  }
  return has_fma && __builtin_cpu_supports("avx2") ? "AVX2" : "DEFAULT";
#else
  return "";
#endif
}

void Set(const std::string& name, absl::string_view value, Numerics& numerics) {
  const std::string text = Printable(value, kMaxValue);
  if (!text.empty()) numerics[name] = text;
}

std::string OwnersText(const std::vector<std::string>& owners) {
  const auto shown =
      std::span(owners).first(std::min(owners.size(), kMaxOwners));
  const size_t rest = owners.size() - shown.size();
  return absl::StrCat(absl::StrJoin(shown, ", "),
                      rest > 0 ? absl::StrCat(" and ", rest, " more") : "");
}

}  // namespace

Numerics ProcessNumerics() {
  Numerics numerics;
  Set("CPU capability", CpuCapability(), numerics);
  for (const std::string& line : MachineKind(/*with_gpus=*/true)) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(parts.second);
    if (absl::StartsWith(line, "model name")) Set("processor", value, numerics);
    if (absl::StartsWith(line, "Model")) Set(kGpuNumerics, value, numerics);
  }
  for (const char* const* entry = environ; *entry != nullptr; ++entry) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    for (const char* const begin : {"ATEN_", "DNNL_", "MKL_", "ONEDNN_"}) {
      if (!absl::StartsWith(parts.first, begin)) continue;
      Set(Printable(parts.first, kMaxValue), parts.second, numerics);
    }
  }
  return numerics;
}

std::string NumericsDifferences(std::span<const OwnedNumerics> all) {
  std::set<std::string> names;
  for (const OwnedNumerics& one : all) {
    for (const auto& [name, value] : one.numerics) names.insert(name);
  }
  std::vector<std::string> differences;
  for (const std::string& name : names) {
    std::map<std::string, std::vector<std::string>> owners_of;
    for (const OwnedNumerics& one : all) {
      const auto value = one.numerics.find(name);
      owners_of[value == one.numerics.end() ? "not set" : value->second]
          .push_back(one.owner);
    }
    if (owners_of.size() < 2) continue;
    std::vector<std::string> values;
    for (const auto& [value, owners] : owners_of) {
      values.push_back(absl::StrCat(value, " (", OwnersText(owners), ")"));
    }
    differences.push_back(
        absl::StrCat(name, " is ", absl::StrJoin(values, " and ")));
  }
  return absl::StrJoin(differences, "; ");
}

}  // namespace gandem
