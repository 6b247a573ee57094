// SPDX-License-Identifier: Apache-2.0
//
// Whether a read of a source had to bring a piece of a file, such as a block or
// a row group, or found all of its pieces at hand:
//
//   const ScopedPiecesRead pieces;
//   auto bytes = store.Fetch(index);
//   const bool at_hand = pieces.were_at_hand();
//
// Owner: the function that reads. Thread safety: a scope belongs to the thread
// that made it; what keeps pieces tells it.
#pragma once

namespace gandem {

class ScopedPiecesRead {
 public:
  ScopedPiecesRead() : outer_(current_) { current_ = this; }
  ScopedPiecesRead(const ScopedPiecesRead&) = delete;
  ScopedPiecesRead& operator=(const ScopedPiecesRead&) = delete;
  ~ScopedPiecesRead() { current_ = outer_; }

  // Every piece was there, or another read brought it.
  bool were_at_hand() const { return found_ && !brought_; }

  // The calling thread's read has brought a piece, or found one.
  static void Brought() {
    if (current_ != nullptr) current_->brought_ = true;
  }
  static void Found() {
    if (current_ != nullptr) current_->found_ = true;
  }

 private:
  inline static thread_local ScopedPiecesRead* current_ = nullptr;
  ScopedPiecesRead* const outer_;
  bool found_ = false;
  bool brought_ = false;
};

}  // namespace gandem
