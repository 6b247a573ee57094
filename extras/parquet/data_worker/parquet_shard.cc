// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker/parquet_shard.h"

#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "extras/parquet/data_worker/arrow_status.h"

namespace gandem {
namespace {

// Chosen: more classes than data sets have, and equal to gandem's limit.
constexpr int64_t kMostTextLabels = int64_t{1} << 20;

using AddImage = std::function<void(absl::string_view bytes)>;

// A column of images is binary, or a struct of which only `bytes` was read. A
// null image has no bytes.
absl::Status AddChunk(const arrow::Array& chunk, const AddImage& add) {
  const arrow::Array* bytes = &chunk;
  std::shared_ptr<arrow::Array> field;
  if (chunk.type_id() == arrow::Type::STRUCT) {
    // field() applies the struct's slice to the field.
    field = static_cast<const arrow::StructArray&>(chunk).field(0);
    bytes = field.get();
  }
  const auto plain = arrow::compute::Cast(*bytes, arrow::large_binary());
  if (!plain.ok()) return FromArrow(plain.status());
  const auto& values = static_cast<const arrow::LargeBinaryArray&>(**plain);
  for (int64_t i = 0; i < values.length(); ++i) {
    const bool is_null = values.IsNull(i) || chunk.IsNull(i);
    const auto view = is_null ? std::string_view("") : values.GetView(i);
    add({view.data(), view.size()});
  }
  return absl::OkStatus();
}

absl::Status NoLabelInRow(int64_t row, const std::string& column) {
  return absl::DataLossError(absl::StrCat(
      "row ", row, " has no '", column,
      "' (null or empty): give every image one, or remove the column"));
}

// Reads a column of texts, which may be dictionary-encoded.
absl::Status TakeTextLabels(const arrow::ChunkedArray& column,
                            const std::string& name, OpenedShard& shard) {
  std::vector<std::string> texts;
  for (const auto& chunk : column.chunks()) {
    const auto plain = arrow::compute::Cast(*chunk, arrow::large_binary());
    if (!plain.ok()) return FromArrow(plain.status());
    const auto& values = static_cast<const arrow::LargeBinaryArray&>(**plain);
    for (int64_t i = 0; i < values.length(); ++i) {
      if (values.IsNull(i) || values.value_length(i) == 0) {
        return NoLabelInRow(std::ssize(texts), name);
      }
      texts.push_back(values.GetString(i));
    }
  }
  shard.class_names = texts;
  std::ranges::sort(shard.class_names);
  shard.class_names.erase(
      std::unique(shard.class_names.begin(), shard.class_names.end()),
      shard.class_names.end());
  if (std::ssize(shard.class_names) > kMostTextLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' has ", shard.class_names.size(),
                     " different texts; the limit is ", kMostTextLabels));
  }
  shard.labels_are_texts = true;
  for (const std::string& text : texts) {
    shard.labels.push_back(std::ranges::lower_bound(shard.class_names, text) -
                           shard.class_names.begin());
  }
  return absl::OkStatus();
}

absl::Status Encrypted() {
  return absl::InvalidArgumentError(
      "it is encrypted, and gandem has no keys: write it without encryption");
}

// A file with an encrypted footer ends with a different magic.
absl::Status CheckMagic(arrow::io::RandomAccessFile& file) {
  constexpr int64_t kMagicBytes = 4;
  const int64_t size = file.GetSize().ValueOr(0);
  if (size < kMagicBytes)
    return absl::DataLossError("it is not a Parquet file");
  const auto magic = file.ReadAt(size - kMagicBytes, kMagicBytes);
  if (!magic.ok()) return FromArrow(magic.status());
  return (*magic)->ToString() == "PARE" ? Encrypted() : absl::OkStatus();
}

// Negative labels mean "unknown" (the hub's test splits). If all are negative,
// there are no labels.
absl::Status CheckKnown(const ImageColumns& columns,
                        std::vector<int64_t>& labels) {
  const auto unknown =
      std::ranges::count_if(labels, [](int64_t label) { return label < 0; });
  if (unknown == 0) return absl::OkStatus();
  if (unknown == std::ssize(labels)) {
    labels.clear();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", columns.label, "' is negative in ", unknown,
      " rows: give every image a label from 0 on, or remove the column"));
}

absl::Status CheckNames(const ImageColumns& columns,
                        const std::vector<int64_t>& labels) {
  if (columns.class_names.empty()) return absl::OkStatus();
  const auto bad = std::ranges::find_if(labels, [&](int64_t label) {
    return label >= std::ssize(columns.class_names);
  });
  if (bad == labels.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "row ", bad - labels.begin(), " has '", columns.label, "' ", *bad,
      ", but the file names ", columns.class_names.size(), " classes"));
}

absl::Status TakeIntegerLabels(const ImageColumns& columns,
                               const arrow::ChunkedArray& column,
                               OpenedShard& shard) {
  for (const auto& chunk : column.chunks()) {
    const auto plain = arrow::compute::Cast(*chunk, arrow::int64());
    if (!plain.ok()) return FromArrow(plain.status());
    const auto& values = static_cast<const arrow::Int64Array&>(**plain);
    for (int64_t i = 0; i < values.length(); ++i) {
      if (values.IsNull(i)) {
        return NoLabelInRow(std::ssize(shard.labels), columns.label);
      }
      shard.labels.push_back(values.Value(i));
    }
  }
  if (absl::Status known = CheckKnown(columns, shard.labels); !known.ok()) {
    return known;
  }
  return CheckNames(columns, shard.labels);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParquetShard>> ParquetShard::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file) {
  if (absl::Status plain = CheckMagic(*file); !plain.ok()) return plain;
  arrow::MemoryPool* const pool = arrow::system_memory_pool();
  std::unique_ptr<parquet::ParquetFileReader> parquet_reader =
      parquet::ParquetFileReader::Open(std::move(file),
                                       parquet::ReaderProperties(pool));
  if (parquet_reader->metadata()->is_encryption_algorithm_set()) {
    return Encrypted();
  }
  // There is only one socket, so one thread reads column by column.
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  auto reader = parquet::arrow::FileReader::Make(
      pool, std::move(parquet_reader), properties);
  if (!reader.ok()) return FromArrow(reader.status());
  absl::StatusOr<ImageColumns> columns =
      FindImageColumns((*reader)->manifest());
  if (!columns.ok()) return columns.status();
  return std::unique_ptr<ParquetShard>(
      new ParquetShard(*std::move(reader), *std::move(columns)));
}

absl::StatusOr<OpenedShard> ParquetShard::Describe() const {
  OpenedShard shard = {.image_column = columns_.image,
                       .label_column = columns_.label,
                       .unused_labels = columns_.unused_labels,
                       .class_names = columns_.class_names};
  const auto metadata = reader_->parquet_reader()->metadata();
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const auto group = metadata->RowGroup(i);
    const auto column = group->ColumnChunk(columns_.image_leaf);
    shard.row_groups.push_back(
        {.rows = group->num_rows(), .bytes = column->total_compressed_size()});
  }
  if (absl::Status added = AddLabels(shard); !added.ok()) return added;
  if (absl::Status added = AddPaths(shard); !added.ok()) return added;
  return shard;
}

absl::Status ParquetShard::AddLabels(OpenedShard& shard) const {
  if (columns_.label_leaf < 0) return absl::OkStatus();
  const auto table = reader_->ReadTable({columns_.label_leaf});
  if (!table.ok()) return FromArrow(table.status());
  const arrow::ChunkedArray& column = *(*table)->column(0);
  const absl::Status taken = columns_.label_is_text
                                 ? TakeTextLabels(column, columns_.label, shard)
                                 : TakeIntegerLabels(columns_, column, shard);
  if (taken.ok()) return taken;
  // A recipe without classes does not need labels.
  shard.unused_labels = std::string(taken.message());
  shard.labels_are_texts = false;
  shard.labels.clear();
  shard.class_names.clear();
  return absl::OkStatus();
}

// Paths are only for messages, so null becomes "".
absl::Status ParquetShard::AddPaths(OpenedShard& shard) const {
  if (columns_.path_leaf < 0) return absl::OkStatus();
  const auto table = reader_->ReadTable({columns_.path_leaf});
  if (!table.ok()) return FromArrow(table.status());
  for (const auto& chunk : (*table)->column(0)->chunks()) {
    const auto paths = static_cast<const arrow::StructArray&>(*chunk).field(0);
    const auto& texts = static_cast<const arrow::StringArray&>(*paths);
    for (int64_t i = 0; i < texts.length(); ++i) {
      shard.paths.push_back(texts.IsNull(i) ? "" : texts.GetString(i));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ParquetShard::ReadImages(int64_t row_group) const {
  const auto metadata = reader_->parquet_reader()->metadata();
  if (row_group >= metadata->num_row_groups()) {
    return absl::DataLossError("the row group no longer exists");
  }
  const auto number = static_cast<int>(row_group);
  const int64_t size = metadata->RowGroup(number)
                           ->ColumnChunk(columns_.image_leaf)
                           ->total_uncompressed_size();
  if (size > kMaxPayloadBytes / 2) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "its images have ", size, " bytes, and ", kMaxPayloadBytes / 2,
        " are read at a time: write the file with smaller row groups, as with "
        "pyarrow's row_group_size=1000"));
  }
  const auto table = reader_->ReadRowGroup(number, {columns_.image_leaf});
  if (!table.ok()) return FromArrow(table.status());
  std::vector<int64_t> sizes;
  std::string images;
  images.reserve(static_cast<size_t>(size));
  const AddImage add = [&](absl::string_view bytes) {
    sizes.push_back(std::ssize(bytes));
    images.append(bytes.data(), bytes.size());
  };
  for (const auto& chunk : (*table)->column(0)->chunks()) {
    if (absl::Status added = AddChunk(*chunk, add); !added.ok()) return added;
  }
  return EncodeImageIndex(sizes) + images;
}

}  // namespace gandem
