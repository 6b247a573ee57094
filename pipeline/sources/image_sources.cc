// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pipeline/formats/npz.h"
#include "pipeline/sources/idx_dataset.h"
#include "pipeline/sources/npz_dataset.h"
#include "pipeline/sources/png_dataset.h"

namespace gandem {
namespace {

struct SourceKind {
  absl::string_view name;  // as a message lists it
  bool trains;
  bool evaluates;
  bool (*recognizes)(const std::string& path);
  absl::StatusOr<std::unique_ptr<Dataset>> (*open)(const SourceSpec& spec);

  bool Has(SourceUse use) const {
    return use == SourceUse::kTrain ? trains : evaluates;
  }
};

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool IsTar(const std::string& path) {
  return absl::EndsWithIgnoreCase(path, ".tar") && !LooksLikeNpz(path);
}

// What none of the others is: the reader of IDX files says best what is wrong.
bool IsAnything(const std::string&) { return true; }

// The first that recognizes a path opens it.
constexpr SourceKind kSourceKinds[] = {
    // name, trains, evaluates
    {"a folder of PNG files", false, true, IsFolder, OpenPngFolder},
    {"a .tar of them", false, true, IsTar, OpenPngTar},
    {"an .npz", false, true, LooksLikeNpz, OpenNpzImages},
    {"an IDX file", true, false, IsAnything, OpenIdx},
};

// "a, b, or c".
std::string NamesOf(SourceUse use) {
  std::string names;
  absl::string_view last;
  for (const SourceKind& kind : kSourceKinds) {
    if (!kind.Has(use)) continue;
    if (!last.empty()) absl::StrAppend(&names, last, ", ");
    last = kind.name;
  }
  return absl::StrCat(names, names.empty() ? "" : "or ", last);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenSource(SourceUse use,
                                                    const SourceSpec& spec) {
  for (const SourceKind& kind : kSourceKinds) {
    if (kind.Has(use) && kind.recognizes(spec.path)) return kind.open(spec);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", spec.path, "': expected ", NamesOf(use)));
}

}  // namespace gandem
