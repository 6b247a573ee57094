// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/json_keys.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

// A pass of its own, because nlohmann's parser with a callback takes time in
// the square of the number of keys.
class KeyCheck : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit KeyCheck(size_t max_keys) : max_keys_(max_keys) {}

  bool key(std::string& key) override {
    std::set<std::string>& keys = keys_.back();
    if (keys.size() == max_keys_) {
      fault_ =
          absl::StrCat("more than ", max_keys_ - 1, " names in the header");
    } else if (!keys.insert(key).second) {
      fault_ = absl::StrCat("'", key, "' stands twice in the header");
    }
    return fault_.empty();
  }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    fault_ = "the header is not JSON";
    return false;
  }

  const std::string& fault() const { return fault_; }  // empty: none

 private:
  const size_t max_keys_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string fault_;
};

}  // namespace

std::string FindKeyFault(absl::string_view json, size_t max_keys) {
  KeyCheck check(max_keys);
  nlohmann::json::sax_parse(json.begin(), json.end(), &check);
  return check.fault();
}

}  // namespace gandem
