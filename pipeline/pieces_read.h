// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a read of a source fetched a piece of a file, such as a block
// or row group, or found all pieces cached:
//
//   const ScopedPiecesRead pieces;
//   auto bytes = store.Fetch(index);
//   const bool at_hand = pieces.were_at_hand();
//
// Owner: the reading function. Thread safety: a scope belongs to the thread
// that made it. Caches report to the scope of their thread.
#pragma once

namespace gandem {

class ScopedPiecesRead {
 public:
  ScopedPiecesRead() : outer_(current_) { current_ = this; }
  ScopedPiecesRead(const ScopedPiecesRead&) = delete;
  ScopedPiecesRead& operator=(const ScopedPiecesRead&) = delete;
  ~ScopedPiecesRead() { current_ = outer_; }

  // Returns whether every piece was cached or fetched by another read.
  bool were_at_hand() const { return found_ && !brought_; }

  // Record that the calling thread's read fetched or found a piece.
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
