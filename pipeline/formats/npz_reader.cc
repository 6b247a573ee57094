// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "pipeline/formats/npy_format.h"
#include "pipeline/formats/npz.h"
#include "pipeline/remote/open_file.h"

namespace gandem {

NpzReader::NpzReader(std::string path, ZipReader zip, int64_t max_array_bytes)
    : path_(std::move(path)),
      zip_(std::move(zip)),
      max_array_bytes_(max_array_bytes) {}

absl::StatusOr<NpzReader> NpzReader::Open(const std::string& path_or_url,
                                          int64_t max_array_bytes) {
  GANDEM_ASSIGN_OR_RETURN(auto file, OpenFile(path_or_url));
  const std::string path = file->name();
  GANDEM_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(std::move(file)));
  NpzReader reader(path, std::move(zip), max_array_bytes);
  for (size_t i = 0; i < reader.zip_.members().size(); ++i) {
    const std::string name(
        absl::StripSuffix(reader.zip_.members()[i].name, ".npy"));
    if (!reader.members_.emplace(name, i).second) {
      return absl::DataLossError(absl::StrCat(path, ": not an .npz file: '",
                                              name, "' is there twice"));
    }
  }
  return reader;
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

std::string NpzReader::NamesText() const {
  constexpr size_t kMostNames = 8;
  std::vector<std::string> some = names();
  const size_t all = some.size();
  some.resize(std::min(all, kMostNames));
  return absl::StrCat(absl::StrJoin(some, ", "),
                      all > kMostNames
                          ? absl::StrCat(" and ", all - kMostNames, " others")
                          : "");
}

bool NpzReader::Has(const std::string& name) const {
  return members_.contains(name);
}

absl::StatusOr<NamedTensor> NpzReader::Read(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) {
    return absl::NotFoundError(absl::StrCat(path_, ": there is no array '",
                                            name, "', only ", NamesText()));
  }
  const std::string where = absl::StrCat(path_, ": array '", name, "'");
  absl::StatusOr<std::string> bytes =
      zip_.Read(zip_.members()[found->second], max_array_bytes_);
  if (!bytes.ok()) return Annotate(bytes.status(), where);
  absl::StatusOr<NamedTensor> tensor = ParseNpy(*std::move(bytes));
  if (!tensor.ok()) return Annotate(tensor.status(), where);
  tensor->name = name;
  return tensor;
}

}  // namespace gandem
