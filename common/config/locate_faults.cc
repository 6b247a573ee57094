// SPDX-License-Identifier: Apache-2.0
#include "common/config/locate_faults.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/text_proto.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

class NoErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

bool IsPartOfAPath(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
}

// Returns the field path at the start of `text`: "a.b[1].c".
absl::string_view PathOf(absl::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, IsPartOfAPath);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

// Part of a path: "b[1]" is the second element of "b", "b" the first.
struct Step {
  std::string name;
  int index = 0;
};

Step ToStep(absl::string_view part) {
  const size_t bracket = part.find('[');
  Step step = {.name = std::string(part.substr(0, bracket)), .index = 0};
  if (bracket == part.npos) return step;
  const absl::string_view index = part.substr(bracket + 1);
  if (!absl::SimpleAtoi(index.substr(0, index.find(']')), &step.index) ||
      step.index < 0) {
    step.name.clear();
  }
  return step;
}

// A long list with one bad element usually has many.
constexpr size_t kMostLines = 20;

// Returns the index of the statement that sets an element. Protobuf records one
// location per statement, so only the first is certain for lists in [].
int StatementOf(const TextFormat::ParseInfoTree& tree, const Message& message,
                const FieldDescriptor& field, int index) {
  if (!field.is_repeated()) return -1;
  const int size = message.GetReflection()->FieldSize(message, &field);
  const bool has_one_each = size > 0 &&
                            tree.GetLocation(&field, size - 1).line >= 0 &&
                            tree.GetLocation(&field, size).line < 0;
  return has_one_each && index < size ? index : 0;
}

// Returns the message in a field, or null if there is none.
const Message* Nested(const Message& message, const FieldDescriptor& field,
                      int index) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.message_type() == nullptr) return nullptr;
  if (!field.is_repeated()) return &reflection.GetMessage(message, &field);
  if (index >= reflection.FieldSize(message, &field)) return nullptr;
  return &reflection.GetRepeatedMessage(message, &field, index);
}

class Places {
 public:
  Places(absl::string_view text, const Message& like)
      : text_(WithoutByteOrderMark(text)), message_(like.New()) {
    NoErrors ignored;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&ignored);
    parser.WriteLocationsTo(&tree_);
    (void)parser.ParseFromString(text_, message_.get());
  }

  // Returns "line:column" of the innermost part of `path` in the text, or "".
  std::string Of(absl::string_view path) const {
    std::string place;
    const Message* message = message_.get();
    const TextFormat::ParseInfoTree* tree = &tree_;
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      if (message == nullptr || tree == nullptr) break;
      const Step step = ToStep(part);
      const FieldDescriptor* const field =
          message->GetDescriptor()->FindFieldByName(step.name);
      if (field == nullptr) break;
      const TextFormat::ParseLocation at = tree->GetLocation(
          field, StatementOf(*tree, *message, *field, step.index));
      if (at.line < 0) break;
      place = PlaceIn(text_, at.line, at.column);
      message = Nested(*message, *field, step.index);
      if (message != nullptr) {
        tree = tree->GetTreeForNested(field,
                                      field->is_repeated() ? step.index : -1);
      }
    }
    return place;
  }

 private:
  const std::string text_;
  const std::unique_ptr<Message> message_;
  TextFormat::ParseInfoTree tree_;
};

// Returns whether one of `sets` replaces `path` or a message around it.
bool IsSetBy(std::span<const std::string> sets, absl::string_view path) {
  return std::ranges::any_of(sets, [path](absl::string_view set) {
    const absl::string_view rest =
        absl::StripPrefix(path, PathOf(absl::StripAsciiWhitespace(set)));
    return rest.size() < path.size() &&
           (rest.empty() || rest.front() == '.' || rest.front() == '[');
  });
}

}  // namespace

absl::Status LocateFaults(const Faults& faults, absl::string_view text,
                          absl::string_view file,
                          std::span<const std::string> sets,
                          const Message& like) {
  if (faults.empty()) return absl::OkStatus();
  const Places places(text, like);
  const std::span<const std::string> all = faults.list();
  const auto told = all.first(std::min(all.size(), kMostLines));
  std::string lines = absl::StrJoin(
      told, "\n", [&](std::string* line, const std::string& fault) {
        const absl::string_view path = PathOf(fault);
        const std::string place = IsSetBy(sets, path) ? "" : places.Of(path);
        absl::StrAppend(line, file, place.empty() ? "" : ":", place, ": ",
                        fault);
      });
  if (told.size() < all.size()) {
    absl::StrAppend(&lines, "\n", file, ": and ", all.size() - told.size(),
                    " more");
  }
  return absl::InvalidArgumentError(lines);
}

}  // namespace gandem
