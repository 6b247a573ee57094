// SPDX-License-Identifier: Apache-2.0
#include "collective/shared_slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMaxSlotBytes = int64_t{64} << 20;
constexpr int kMaxSlots = 1024;
constexpr unsigned kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// The writer fills a free slot; the reader reads it once and frees it.
enum SlotState : uint32_t { kFree, kFilled, kBeingRead };

// Header of a slot, at the start of the memory. Separate cache lines keep the
// two processes from waiting for each other's slots.
struct alignas(64) SlotHead {
  std::atomic<uint32_t> state;
};
struct alignas(64) Head {
  uint64_t token;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Slots start at pages, so that unused slots take no memory.
int64_t Pages(int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

int64_t HeadBytes(int num_slots) {
  return Pages(static_cast<int64_t>(sizeof(Head)) +
               num_slots * static_cast<int64_t>(sizeof(SlotHead)));
}

int64_t TotalBytes(const SharedSlotsName& name) {
  return HeadBytes(name.num_slots) + name.num_slots * Pages(name.slot_bytes);
}

absl::Status CheckSizes(const SharedSlotsName& name) {
  if (name.slot_bytes < 1 || name.slot_bytes > kMaxSlotBytes ||
      name.num_slots < 1 || name.num_slots > kMaxSlots || name.process < 1 ||
      name.descriptor < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("no shared memory has ", name.num_slots, " slots of ",
                     name.slot_bytes, " bytes as descriptor ", name.descriptor,
                     " of process ", name.process));
  }
  return absl::OkStatus();
}

std::string PathOf(const SharedSlotsName& name) {
  return absl::StrCat("/proc/", name.process, "/fd/", name.descriptor);
}

}  // namespace

// The memory as mapped by one of the processes.
class SharedMapping {
 public:
  // Takes ownership of the descriptor.
  static absl::StatusOr<std::shared_ptr<SharedMapping>> Map(
      int descriptor, const SharedSlotsName& name) {
    absl::Cleanup close_it = [descriptor] { close(descriptor); };
    void* const memory = mmap(nullptr, TotalBytes(name), PROT_READ | PROT_WRITE,
                              MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
      return FileError(errno, "cannot map", PathOf(name));
    }
    std::move(close_it).Cancel();
    return std::make_shared<SharedMapping>(
        descriptor, static_cast<std::byte*>(memory), name);
  }

  SharedMapping(int descriptor, std::byte* memory, const SharedSlotsName& name)
      : descriptor_(descriptor), memory_(memory), name_(name) {}
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping() {
    munmap(memory_, TotalBytes(name_));
    close(descriptor_);
  }

  const SharedSlotsName& name() const { return name_; }
  uint64_t& token() { return reinterpret_cast<Head*>(memory_)->token; }
  std::atomic<uint32_t>& state(int slot) {
    return reinterpret_cast<SlotHead*>(memory_ + sizeof(Head))[slot].state;
  }
  std::byte* slot(int slot) {
    return memory_ + HeadBytes(name_.num_slots) +
           slot * Pages(name_.slot_bytes);
  }

 private:
  const int descriptor_;
  std::byte* const memory_;
  const SharedSlotsName name_;
};

absl::StatusOr<std::unique_ptr<SharedSlotsWriter>> SharedSlotsWriter::Create(
    int64_t slot_bytes, int num_slots) {
  const int descriptor =
      memfd_create("gandem-collective", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    return FileError(errno, "cannot make shared memory", "memfd");
  }
  SharedSlotsName name = {.process = getpid(),
                          .descriptor = descriptor,
                          .slot_bytes = slot_bytes,
                          .num_slots = num_slots};
  absl::Status status = CheckSizes(name);
  if (status.ok() &&
      (getrandom(&name.token, sizeof(name.token), 0) != sizeof(name.token) ||
       ftruncate(descriptor, TotalBytes(name)) != 0 ||
       fcntl(descriptor, F_ADD_SEALS, kSeals) != 0)) {
    status = FileError(errno, "cannot make shared memory", PathOf(name));
  }
  if (!status.ok()) {
    close(descriptor);
    return status;
  }
  GANDEM_ASSIGN_OR_RETURN(auto mapping, SharedMapping::Map(descriptor, name));
  mapping->token() = name.token;
  return std::unique_ptr<SharedSlotsWriter>(
      new SharedSlotsWriter(std::move(mapping)));
}

SharedSlotsName SharedSlotsWriter::name() const { return mapping_->name(); }

// Only one thread fills slots at a time, so a free slot stays free.
std::optional<PayloadRoom> SharedSlotsWriter::Take(size_t bytes) {
  const SharedSlotsName& name = mapping_->name();
  if (bytes > static_cast<size_t>(name.slot_bytes)) return std::nullopt;
  for (int slot = 0; slot < name.num_slots; ++slot) {
    std::atomic<uint32_t>& state = mapping_->state(slot);
    if (state.load(std::memory_order_acquire) != kFree) continue;
    state.store(kFilled, std::memory_order_release);
    return PayloadRoom{.owner = mapping_,
                       .bytes = {mapping_->slot(slot), bytes}};
  }
  return std::nullopt;
}

std::optional<int> SharedSlotsWriter::SlotOf(const SharedBytes& bytes) const {
  const SharedSlotsName& name = mapping_->name();
  for (int slot = 0; slot < name.num_slots; ++slot) {
    if (bytes.data() == mapping_->slot(slot)) return slot;
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<SharedSlotsReader>> SharedSlotsReader::Open(
    const SharedSlotsName& name) {
  GANDEM_RETURN_IF_ERROR(CheckSizes(name));
  // O_NONBLOCK and O_NOCTTY: any file may have this name.
  const int descriptor =
      open(PathOf(name).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return FileError(errno, "cannot open", PathOf(name));
  struct stat found = {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size != TotalBytes(name) || seals < 0 ||
      (static_cast<unsigned>(seals) & kSeals) != kSeals) {
    close(descriptor);
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(name), " is not the shared memory that was named"));
  }
  GANDEM_ASSIGN_OR_RETURN(auto mapping, SharedMapping::Map(descriptor, name));
  if (mapping->token() != name.token) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(name), " is the shared memory of somebody else"));
  }
  return std::unique_ptr<SharedSlotsReader>(
      new SharedSlotsReader(std::move(mapping)));
}

SharedSlotsName SharedSlotsReader::name() const { return mapping_->name(); }

// Checks both numbers, because another process sends them.
absl::StatusOr<SharedBytes> SharedSlotsReader::Read(int slot, int64_t bytes) {
  const SharedSlotsName& name = mapping_->name();
  if (slot < 0 || slot >= name.num_slots || bytes < 1 ||
      bytes > name.slot_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory has no ", bytes, " bytes in slot ", slot));
  }
  uint32_t filled = kFilled;
  if (!mapping_->state(slot).compare_exchange_strong(
          filled, kBeingRead, std::memory_order_acquire)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slot ", slot,
        " of shared memory was named twice, or before it was filled"));
  }
  const std::shared_ptr<const void> until_read(
      mapping_->slot(slot), [mapping = mapping_, slot](const void*) {
        mapping->state(slot).store(kFree, std::memory_order_release);
      });
  return SharedBytes(until_read,
                     std::span<const std::byte>(mapping_->slot(slot),
                                                static_cast<size_t>(bytes)));
}

}  // namespace gandem
