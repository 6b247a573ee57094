// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the tar reader. The checksum of each block with "ustar" is repaired
// first, because nearly every mutation would be refused otherwise.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "common/check.h"
#include "pipeline/formats/member_name.h"
#include "pipeline/formats/tar.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

constexpr size_t kTarBlock = 512;
constexpr size_t kChecksum = 148;  // offset in a block
constexpr size_t kUstar = 257;

std::string Repair(absl::string_view input) {
  std::string file(input);
  for (size_t at = 0; at + kTarBlock <= file.size(); at += kTarBlock) {
    if (file.compare(at + kUstar, 5, "ustar") != 0) continue;
    file.replace(at + kChecksum, 8, 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kTarBlock; ++i) {
      sum += static_cast<unsigned char>(file[at + i]);
    }
    std::snprintf(file.data() + at + kChecksum, 7, "%06o", sum);
  }
  return file;
}

// Returns the contents of all members; each must be inside the archive.
std::vector<std::string> ReadMembers(const RandomAccessFile& file,
                                     const std::vector<TarMember>& members) {
  std::vector<std::string> contents;
  for (const TarMember& member : members) {
    GANDEM_CHECK(member.offset >= 0 && member.size >= 0);
    GANDEM_CHECK(member.offset + member.size <= file.size());
    auto bytes = file.Read(member.offset, member.size);
    GANDEM_CHECK_OK(bytes.status());
    GANDEM_CHECK(static_cast<int64_t>(bytes->size()) == member.size);
    contents.push_back(*std::move(bytes));
  }
  return contents;
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto input = FileInMemory("input", Repair(TextOf(data, size)));
  const auto listing = ListTar(*input);
  if (!listing.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(listing.status()) ||
                 absl::IsInvalidArgument(listing.status()));
    return 0;
  }
  const std::vector<TarMember>& members = listing->members;
  const auto contents = ReadMembers(*input, members);
  const InputFile output;
  auto writer = TarWriter::Create(output.path());
  GANDEM_CHECK_OK(writer.status());
  std::vector<std::string> names;
  for (size_t i = 0; i < contents.size(); ++i) {
    const auto name = NormalMemberName(members[i].name.substr(0, 100));
    names.push_back(name.ok() && !name->empty() ? *name : "-");
    GANDEM_CHECK_OK(writer->Add(names.back(), contents[i]));
  }
  GANDEM_CHECK_OK(writer->Finish());
  const auto written = OpenLocalFile(output.path());
  GANDEM_CHECK_OK(written.status());
  const auto again = ListTar(**written);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->members.size() == contents.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    GANDEM_CHECK(again->members[i].name == names[i]);
    const TarMember& member = again->members[i];
    const auto bytes = (*written)->Read(member.offset, member.size);
    GANDEM_CHECK_OK(bytes.status());
    GANDEM_CHECK(*bytes == contents[i]);
  }
  return 0;
}
