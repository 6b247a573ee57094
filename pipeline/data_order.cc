// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_order.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"

namespace gandem {

class DataOrder::UnitOrder {
 public:
  UnitOrder(uint64_t seed, ImageUnits units)
      : seed_(seed),
        units_(std::move(units)),
        num_units_(std::ssize(units_.firsts)),
        windows_((units_.size + units_.window - 1) / units_.window) {
    GANDEM_CHECK(num_units_ >= 1 && units_.firsts.front() == 0);
    GANDEM_CHECK(units_.firsts.back() < units_.size);
    GANDEM_CHECK(std::ranges::adjacent_find(units_.firsts,
                                            std::ranges::greater_equal()) ==
                 units_.firsts.end());
  }

  int64_t Permute(int64_t epoch, int64_t place) const {
    const int64_t window = place / units_.window;
    const int64_t begin = window * units_.window;
    const KeyedPermutation within(seed_, Purpose::kWindowOrder,
                                  std::min(units_.window, units_.size - begin));
    const int64_t at =
        begin + within.At(epoch * windows_ + window, place - begin);
    const std::shared_ptr<const Row> row = RowOf(epoch);
    const auto unit = std::prev(std::ranges::upper_bound(row->begins, at));
    return units_.firsts[row->units[unit - row->begins.begin()]] + at - *unit;
  }

 private:
  // The units of one epoch in order.
  struct Row {
    int64_t epoch = 0;
    std::vector<int64_t> units = {};
    std::vector<int64_t> begins = {};  // place of each unit's first image
  };

  int64_t SizeOf(int64_t unit) const {
    const int64_t end =
        unit + 1 < num_units_ ? units_.firsts[unit + 1] : units_.size;
    return end - units_.firsts[unit];
  }

  std::shared_ptr<const Row> MakeRow(int64_t epoch) const {
    auto row = std::make_shared<Row>();
    row->epoch = epoch;
    const KeyedPermutation order(seed_, Purpose::kUnitOrder, num_units_);
    int64_t begin = 0;
    for (int64_t k = 0; k < num_units_; ++k) {
      row->units.push_back(order.At(epoch, k));
      row->begins.push_back(begin);
      begin += SizeOf(row->units.back());
    }
    return row;
  }

  std::shared_ptr<const Row> RowOf(int64_t epoch) const
      ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::MutexLock lock(&mu_);
    std::shared_ptr<const Row>& row = rows_[epoch % rows_.size()];
    if (row == nullptr || row->epoch != epoch) row = MakeRow(epoch);
    return row;
  }

  // Never change after construction.
  const uint64_t seed_;
  const ImageUnits units_;
  const int64_t num_units_;
  const int64_t windows_;

  mutable absl::Mutex mu_;
  // Two epochs, since read-ahead and training may be in different ones.
  mutable std::array<std::shared_ptr<const Row>, 2> rows_ ABSL_GUARDED_BY(mu_);
};

DataOrder::DataOrder(uint64_t seed, ImageUnits units)
    : size_(units.size),
      window_(units.window),
      global_(seed, Purpose::kDataOrder, units.size) {
  GANDEM_CHECK(units.window >= 0);
  if (units.window > 0) {
    units_ = std::make_shared<UnitOrder>(seed, std::move(units));
  }
}

int64_t DataOrder::Permute(int64_t epoch, int64_t place) const {
  GANDEM_CHECK(epoch >= 0 && place >= 0 && place < size_);
  return units_ == nullptr ? global_.At(epoch, place)
                           : units_->Permute(epoch, place);
}

}  // namespace gandem
