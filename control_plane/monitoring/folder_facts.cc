// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/folder_facts.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"

namespace gandem {
namespace {

std::optional<FolderFacts::Disk> DiskOf(const std::string& path) {
  struct statvfs disk = {};
  if (statvfs(path.c_str(), &disk) != 0) return std::nullopt;
  const auto block = static_cast<int64_t>(disk.f_frsize);
  return FolderFacts::Disk{
      .free_bytes = block * static_cast<int64_t>(disk.f_bavail),
      .size_bytes = block * static_cast<int64_t>(disk.f_blocks)};
}

// The manifest is the last file of a checkpoint that is written.
std::optional<absl::Time> CompletedAt(const std::string& run_dir,
                                      int64_t step) {
  if (step == 0) return std::nullopt;
  struct stat file = {};
  const std::string path =
      absl::StrCat(CheckpointPath(run_dir, step), "/", kManifestName);
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  return absl::TimeFromTimespec(file.st_mtim);
}

}  // namespace

FolderFacts FolderReader::Read(int64_t checkpoint_step) {
  ReadNewCards();
  return {.disk = DiskOf(run_dir_),
          .checkpoint_time = CompletedAt(run_dir_, checkpoint_step),
          .cards = cards_};
}

void FolderReader::ReadNewCards() {
  const std::string folder = run_dir_ + "/evaluation";
  const auto names = ListDirectory(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".textproto") || known_cards_.contains(name)) {
      continue;
    }
    // One that is no card is not looked at again.
    known_cards_.insert(name);
    const auto card = ReadMetricCard(folder + "/" + name);
    if (!card.ok()) continue;
    const int64_t step = card->images().generator().step();
    for (const Metric& metric : card->metrics()) {
      CardValue& newest = cards_[metric.name()];
      if (step >= newest.step) newest = {.step = step, .value = metric.value()};
    }
  }
}

}  // namespace gandem
