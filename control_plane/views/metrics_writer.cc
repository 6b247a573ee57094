// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/metrics_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/proto_json.h"
#include "common/files/rotation.h"
#include "common/results/noise_rows.h"
#include "common/round_times.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxGridBytes = int64_t{64} << 20;

// Returns the number of bytes up to the end of the last whole line.
absl::StatusOr<off_t> WholeLines(int fd, const std::string& path) {
  off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0) return FileError(errno, "cannot read", path);
  while (end > 0) {
    const off_t start = std::max<off_t>(0, end - 4096);
    GANDEM_ASSIGN_OR_RETURN(const std::string chunk,
                            ReadAt(fd, path, start, end - start));
    const size_t newline = chunk.rfind('\n');
    if (newline != std::string::npos) {
      return start + static_cast<off_t>(newline) + 1;
    }
    end = start;
  }
  return 0;
}

// Adds the scalars of the loading of real images.
void AddDataScalars(const DataMetrics& data,
                    std::vector<EventWriter::Scalar>& scalars) {
  const auto add = [&](absl::string_view name, double value) {
    scalars.push_back({absl::StrCat("data/", name), value});
  };
  if (data.seconds() <= 0) return;
  const auto rate = [&data](int64_t count) {
    return static_cast<double>(count) / data.seconds();
  };
  const double stall = data.fetch_stall_seconds() +
                       data.decode_stall_seconds() +
                       data.transform_stall_seconds();
  add("images_per_second", rate(data.images()));
  add("stall_share", stall / data.seconds());
  add("waiting_images", static_cast<double>(data.waiting_images()));
  add("images_ahead", static_cast<double>(data.images_ahead()));
  add("workers", data.workers());
  if (data.fetches() == 0) return;
  add("fetches", data.fetches());
  add("stored_megabytes_per_second", 1e-6 * rate(data.stored_bytes()));
  if (data.requests() == 0) return;
  add("remote_megabytes_per_second", 1e-6 * rate(data.remote_bytes()));
  add("retries", static_cast<double>(data.retries()));
}

// Adds the signal and the noise of the gradients, which are noisy in a single
// round; `gandem report` prints their ratio over the run.
void AddNoiseScalars(const RoundMetrics& m,
                     std::vector<EventWriter::Scalar>& scalars) {
  for (const GradientNoise& noise : m.gradient_noise()) {
    if (!IsMeasured(noise)) continue;
    const SignalAndNoise one = SignalAndNoiseOf(SquaresOf(noise));
    const std::string part =
        absl::AsciiStrToLower(GradientNoise::Part_Name(noise.part()));
    const std::string role = RoleName(m.role());
    scalars.push_back(
        {absl::StrCat(role, "/gradient_signal_", part), one.signal});
    scalars.push_back(
        {absl::StrCat(role, "/gradient_noise_", part), one.noise});
  }
}

std::vector<EventWriter::Scalar> Scalars(const RoundMetrics& m) {
  const std::string role = RoleName(m.role());
  std::vector<EventWriter::Scalar> scalars;
  const auto add = [&](absl::string_view name, double value) {
    scalars.push_back({absl::StrCat(role, "/", name), value});
  };
  add("loss", m.loss());
  add("gradient_norm", m.gradient_norm());
  add("learning_rate", m.learning_rate());
  if (m.has_image_gradient_norm()) {
    add("image_gradient_norm", m.image_gradient_norm());
  }
  if (m.has_image_spread()) add("image_spread", m.image_spread());
  add("lag", static_cast<double>(m.lag()));
  if (m.round_seconds() > 0) {
    add("images_per_second",
        static_cast<double>(m.images()) / m.round_seconds());
  }
  add("round_seconds", m.round_seconds());
  add("compute_seconds", TimesOf(m).compute());
  add("wait_feedback_seconds", m.wait_feedback_seconds());
  add("wait_sync_seconds", m.wait_sync_seconds());
  if (m.workers() > 1) {
    add("hidden_sync_seconds", m.hidden_sync_seconds());
    add("sync_bytes", static_cast<double>(m.sync_bytes()));
  }
  if (m.drift() > 0) add("drift", m.drift());
  if (m.role() == GENERATOR) {
    add("wait_cache_seconds", m.wait_cache_seconds());
  }
  if (m.role() == DISCRIMINATOR) {
    add("logit_real", m.logit_real());
    add("logit_generated", m.logit_generated());
    if (m.has_ada_p()) add("ada_p", m.ada_p());
    if (m.has_ada_r_t()) add("ada_r_t", m.ada_r_t());
    add("wait_images_seconds", m.wait_images_seconds());
    add("wait_data_seconds", m.wait_data_seconds());
    add("images_dropped", static_cast<double>(m.images_dropped()));
    add("images_replayed", static_cast<double>(m.images_replayed()));
    if (m.cache_capacity() > 0) {
      add("cache_fill", static_cast<double>(m.cache_images()) /
                            static_cast<double>(m.cache_capacity()));
    }
    AddDataScalars(m.data(), scalars);
  }
  AddNoiseScalars(m, scalars);
  return scalars;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsWriter>> MetricsWriter::Open(
    const std::string& run_dir, Limits limits) {
  std::unique_ptr<MetricsWriter> writer(new MetricsWriter(run_dir, limits));
  GANDEM_RETURN_IF_ERROR(writer->OpenLines());
  MetricsWriter* const self = writer.get();
  writer->thread_ = Thread("metrics", [self] { self->Run(); });
  return writer;
}

MetricsWriter::~MetricsWriter() {
  queue_.Close(absl::CancelledError("the run is over"));
  thread_.Join();
  if (fd_ >= 0) close(fd_);
}

absl::Status MetricsWriter::OpenLines() {
  const std::string path = MetricsPath();
  GANDEM_ASSIGN_OR_RETURN(
      fd_,
      OpenPlainFile(path, "cannot open", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  GANDEM_ASSIGN_OR_RETURN(size_, WholeLines(fd_, path));
  if (ftruncate(fd_, size_) != 0) return FileError(errno, "cannot write", path);
  return absl::OkStatus();
}

void MetricsWriter::BeginEpoch(int64_t first_round) {
  Enqueue(Epoch{first_round});
}

// Queues an item without blocking. Drops it if the queue is full.
void MetricsWriter::Enqueue(Item item) {
  if (queue_.TryPush(std::move(item))) return;
  absl::MutexLock lock(&mu_);
  if (error_.ok()) {
    error_ = absl::ResourceExhaustedError(
        "the disk is too slow for the metrics; some records are missing");
  }
}

absl::Status MetricsWriter::TakeError() {
  absl::MutexLock lock(&mu_);
  return std::exchange(error_, absl::OkStatus());
}

void MetricsWriter::Run() {
  while (true) {
    const auto item = queue_.Pop(absl::InfiniteFuture());
    if (!item.ok()) return;  // closed and empty
    const absl::Status status = Write(*item);
    if (status.ok()) continue;
    absl::MutexLock lock(&mu_);
    if (error_.ok()) error_ = status;
  }
}

absl::Status MetricsWriter::Write(const Item& item) {
  if (const Epoch* const epoch = std::get_if<Epoch>(&item)) {
    return BeginEvents(epoch->first_round);
  }
  const RoundMetrics& metrics = std::get<RoundMetrics>(item);
  absl::Status result = WriteLine(metrics);
  result.Update(WriteEvents(metrics));
  return result;
}

absl::Status MetricsWriter::BeginEvents(std::optional<int64_t> first_round) {
  const std::string folder = run_dir_ + "/tensorboard";
  auto events = EventWriter::Open(folder, first_round, absl::Now());
  GANDEM_RETURN_IF_ERROR(events);
  events_ = *std::move(events);
  return RemoveOldest(folder, "events.",
                      limits_.file_bytes * limits_.older_files);
}

// Rotates a full file. After a failure, the file grows further under its old or
// new name, and the next record tries again.
absl::Status MetricsWriter::BeginFileIfFull() {
  if (size_ < limits_.file_bytes) return absl::OkStatus();
  const std::string path = MetricsPath();
  GANDEM_RETURN_IF_ERROR(RotateFile(path, limits_.older_files));
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(errno, "cannot open", path);
  close(std::exchange(fd_, fd));
  size_ = 0;
  return absl::OkStatus();
}

absl::Status MetricsWriter::WriteLine(const RoundMetrics& metrics) {
  const std::string line = ProtoJson(metrics) + "\n";
  const ssize_t written = pwrite(fd_, line.data(), line.size(), size_);
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += written;
    return BeginFileIfFull();
  }
  int error = written < 0 ? errno : ENOSPC;
  // Part of a line would damage the next line.
  if (ftruncate(fd_, size_) != 0) error = errno;
  return FileError(error, "cannot write", MetricsPath());
}

absl::Status MetricsWriter::WriteEvents(const RoundMetrics& metrics) {
  if (events_ == nullptr || !leading_.Leads(metrics)) return absl::OkStatus();
  if (events_->size() >= limits_.file_bytes) {
    GANDEM_RETURN_IF_ERROR(BeginEvents(std::nullopt));
  }
  const absl::Time time =
      absl::UnixEpoch() + absl::Seconds(metrics.unix_seconds());
  GANDEM_RETURN_IF_ERROR(
      events_->AddScalars(metrics.round(), time, Scalars(metrics)));
  const std::string& grid = metrics.sample_grid();
  if (grid.empty()) return absl::OkStatus();
  // The name comes from another process, so it is untrusted.
  if (grid.front() == '/' || absl::StrContains(grid, "..")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", grid, "' is not a file of the run folder"));
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string png,
                          ReadFile(run_dir_ + "/" + grid, kMaxGridBytes));
  return events_->AddImage(metrics.round(), time, "samples", png);
}

}  // namespace gandem
