// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/tree_choice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/files/printable.h"
#include "pipeline/trees/splits.h"
#include "pipeline/trees/tree_labels.h"
#include "pipeline/trees/tree_names.h"

namespace gandem {
namespace {

// More distinct members than this are parts of image names.
constexpr size_t kMostMembers = 16;

constexpr size_t kMaxShownMember = 100;  // bytes

// The images of one sample, contiguous.
using Sample = std::span<const int64_t>;

std::vector<Sample> GroupBySample(const FileTree& tree,
                                  const std::vector<int64_t>& images) {
  const std::vector<int64_t> units = tree.info().units;
  const auto unit_of = [&](int64_t file) {
    return std::ranges::upper_bound(units, file) - units.begin();
  };
  const auto key_of = [&](int64_t file) {
    return SampleOf(tree.files()[file].name);
  };
  std::vector<Sample> samples;
  for (size_t begin = 0; begin < images.size();) {
    size_t end = begin + 1;
    while (end < images.size() &&
           key_of(images[end]) == key_of(images[begin]) &&
           unit_of(images[end]) == unit_of(images[begin])) {
      ++end;
    }
    samples.push_back(std::span(images).subspan(begin, end - begin));
    begin = end;
  }
  return samples;
}

bool IsPlain(absl::string_view member) {
  return !absl::StrContains(member, '.');
}

absl::Status WhichMember(const FileTree& tree, absl::string_view what,
                         const std::set<absl::string_view>& members) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", tree.path(), "' ", what, " (", absl::StrJoin(members, ", "),
      "): set data.member to the one to train on, as in --set data.member=",
      *members.begin()));
}

// Adds the names after the first dot, up to slightly more than kMostMembers.
void AddMembers(const FileTree& tree, Sample images,
                std::set<absl::string_view>& members) {
  for (const int64_t file : images) {
    if (members.size() > kMostMembers) return;
    members.insert(MemberOf(tree.files()[file].name));
  }
}

// Returns whether the names are members instead of parts of image names.
bool AreMembers(const std::set<absl::string_view>& members) {
  return !members.empty() && members.size() <= kMostMembers &&
         std::ranges::none_of(members, [](absl::string_view name) {
           return name.empty() || absl::ascii_isdigit(name[0]);
         });
}

void AddCount(std::string* out,
              const std::pair<const absl::string_view, int64_t>& member) {
  absl::StrAppend(out, member.second, " named *.",
                  Printable(member.first, kMaxShownMember));
}

}  // namespace

absl::StatusOr<std::string> KeepTrainSplit(const FileTree& tree,
                                           std::vector<int64_t>& images) {
  const size_t base = CommonFolder(tree, images).size();
  const auto folder_of = [&](int64_t file) {
    absl::string_view inside = tree.files()[file].name;
    inside.remove_prefix(base);
    return inside.substr(0, inside.find('/') + 1);  // "": not in a folder
  };
  const auto split_of = [&](int64_t file) {
    return absl::AsciiStrToLower(absl::StripSuffix(folder_of(file), "/"));
  };
  std::set<std::string> splits;
  for (const int64_t file : images) {
    std::string split = split_of(file);
    if (!IsSplitName(split)) return "";
    splits.insert(std::move(split));
  }
  if (splits.size() < 2) return "";
  if (splits.erase(std::string(kTrainSplit)) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", tree.path(), "' has the splits ", absl::StrJoin(splits, ", "),
        ", and none is called ", kTrainSplit,
        ": name the folder of one, or "
        "rename it"));
  }
  std::erase_if(images,
                [&](int64_t file) { return split_of(file) != kTrainSplit; });
  return SplitText(kTrainSplit, {splits.begin(), splits.end()});
}

absl::StatusOr<std::string> KeepMember(const FileTree& tree,
                                       absl::string_view member,
                                       std::vector<int64_t>& images) {
  const auto member_of = [&](int64_t file) {
    return MemberOf(tree.files()[file].name);
  };
  const std::vector<int64_t> all = images;
  std::set<absl::string_view> members;
  if (!member.empty()) {
    std::erase_if(images,
                  [&](int64_t file) { return member_of(file) != member; });
    if (!images.empty()) return absl::StrCat(", those named *.", member);
    AddMembers(tree, all, members);
    return WhichMember(
        tree, absl::StrCat("has no image of data.member ", member), members);
  }
  const std::vector<Sample> samples = GroupBySample(tree, all);
  for (const Sample& sample : samples) {
    if (sample.size() > 1) AddMembers(tree, sample, members);
  }
  if (!tree.info().has_samples || !AreMembers(members)) return "";
  images.clear();
  size_t several = 0;  // samples without exactly one plain image
  std::map<absl::string_view, int64_t> unused;
  for (const Sample& sample : samples) {
    const auto is_plain = [&](int64_t file) {
      return IsPlain(member_of(file));
    };
    const bool has_one = std::ranges::count_if(sample, is_plain) == 1;
    several += sample.size() > 1 && !has_one ? 1 : 0;
    for (const int64_t file : sample) {
      if (sample.size() == 1 || !has_one || is_plain(file)) {
        images.push_back(file);
      } else {
        ++unused[member_of(file)];
      }
    }
  }
  if (2 * several >= samples.size()) {
    return WhichMember(tree, "has samples of several images", members);
  }
  if (unused.empty()) return "";
  // Masks without a photo are not images to train on.
  std::erase_if(images, [&](int64_t file) {
    const auto found = unused.find(member_of(file));
    if (found != unused.end()) ++found->second;
    return found != unused.end();
  });
  return absl::StrCat(
      ", one of each sample (not used: ", absl::StrJoin(unused, ", ", AddCount),
      "; data.member chooses others)");
}

}  // namespace gandem
