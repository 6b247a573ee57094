// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/pack_record.h"

#include <nlohmann/json.hpp>

namespace gandem {
namespace {

constexpr char kPackFormat[] = "gandem pack 1";
constexpr int64_t kMaxPackImages = int64_t{1} << 40;
constexpr int64_t kMaxPackShards = 1'000'000;

}  // namespace

std::string FormatPackRecord(const PackRecord& record) {
  const nlohmann::ordered_json json = {{"format", kPackFormat},
                                       {"settings", record.settings},
                                       {"images", record.images},
                                       {"shards", record.shards}};
  return json.dump(1) + "\n";
}

std::optional<PackRecord> ParsePackRecord(absl::string_view text) {
  using Type = nlohmann::json::value_t;
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto has = [&](const char* key, Type type) {
    const auto found = json.find(key);
    return found != json.end() && found->type() == type;
  };
  if (!has("format", Type::string) || json["format"] != kPackFormat ||
      !has("settings", Type::string) || !has("images", Type::number_unsigned) ||
      !has("shards", Type::number_unsigned)) {
    return std::nullopt;
  }
  const PackRecord record = {.settings = json["settings"].get<std::string>(),
                             .images = json["images"].get<int64_t>(),
                             .shards = json["shards"].get<int64_t>()};
  if (record.images < 1 || record.images > kMaxPackImages ||
      record.shards < 0 || record.shards > kMaxPackShards) {
    return std::nullopt;
  }
  return record;
}

}  // namespace gandem
