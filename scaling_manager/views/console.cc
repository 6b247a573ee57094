// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/views/console.h"

#include <sys/ioctl.h>

#include <string>

namespace gandem {
namespace {

constexpr absl::Duration kTerminalInterval = absl::Milliseconds(200);
constexpr absl::Duration kLineInterval = absl::Seconds(5);
constexpr int kUsualColumns = 80;

}  // namespace

Console::~Console() { ClearProgress(); }

// Lines that stay are printed where the progress was; the next one is drawn
// below them.
void Console::ClearProgress() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  drawn_ = false;
}

int Console::Columns() const {
  winsize size = {};
  if (ioctl(fileno(out_), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kUsualColumns;
  }
  return size.ws_col;
}

void Console::PrintLine(absl::string_view line) {
  ClearProgress();
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fputc('\n', out_);
  std::fflush(out_);
}

void Console::ShowProgress(const ProgressView& view, absl::Time now,
                           bool at_once) {
  const absl::Duration interval = terminal_ ? kTerminalInterval : kLineInterval;
  if (!at_once && now - last_shown_ < interval) return;
  last_shown_ = now;
  if (!terminal_) {
    PrintLine(ProgressLine(view));
    return;
  }
  // A line that fills the last column would wrap on some terminals.
  const std::string bar = ProgressBar(view, Columns() - 1);
  std::fprintf(out_, "\r%s\x1b[K", bar.c_str());
  std::fflush(out_);
  drawn_ = true;
}

}  // namespace gandem
