// SPDX-License-Identifier: Apache-2.0
//
// A collective that records the submitted operations and forwards them.
//
// Owner: the test. Thread safety: as the forwarded collective.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/collective.h"

namespace gandem::testing {

class RecordingCollective : public Collective {
 public:
  explicit RecordingCollective(Collective* inner) : inner_(inner) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  absl::Status Wait(Ticket ticket, absl::Time deadline) override {
    return inner_->Wait(ticket, deadline);
  }
  void Close(absl::Status reason) override { inner_->Close(std::move(reason)); }

  // Returns the bytes of the sums, in order.
  const std::vector<size_t>& sums() const { return sums_; }
  const std::set<OperationKind>& kinds() const { return kinds_; }
  // Returns "kind type bytes" of all operations, in order.
  const std::vector<std::string>& operations() const { return operations_; }

 private:
  Ticket Submit(const Operation& operation) override {
    kinds_.insert(operation.kind);
    operations_.push_back(absl::StrCat(static_cast<int>(operation.kind), " ",
                                       static_cast<int>(operation.type), " ",
                                       operation.buffer.size()));
    switch (operation.kind) {
      case OperationKind::kAllReduce:
        sums_.push_back(operation.buffer.size());
        return inner_->AllReduce(operation.buffer, operation.type);
      case OperationKind::kBroadcast:
        return inner_->Broadcast(operation.buffer, operation.root);
      case OperationKind::kAllGather:
        return inner_->AllGather(operation.buffer);
      case OperationKind::kBarrier:
        break;
    }
    return inner_->Barrier();
  }

  Collective* const inner_;
  std::vector<size_t> sums_;
  std::set<OperationKind> kinds_;
  std::vector<std::string> operations_;
};

}  // namespace gandem::testing
