// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/config_differences.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string ValueText(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  if (!field.is_repeated()) {
    if (field.message_type() != nullptr &&
        !reflection.HasField(message, &field)) {
      return "none";
    }
    printer.PrintFieldValueToString(message, &field, -1, &text);
    absl::StripTrailingAsciiWhitespace(&text);
    return text;
  }
  text = "[";
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    std::string value;
    printer.PrintFieldValueToString(message, &field, i, &value);
    absl::StrAppend(&text, i == 0 ? "" : ", ", value);
  }
  return text + "]";
}

// Returns whether to compare a message field by field. An absent message has
// default values, unless it is a member of a oneof.
bool IsEntered(const Message& a, const Message& b,
               const FieldDescriptor& field) {
  if (field.message_type() == nullptr || field.is_repeated()) return false;
  return field.containing_oneof() == nullptr ||
         a.GetReflection()->HasField(a, &field) ==
             b.GetReflection()->HasField(b, &field);
}

void Compare(const Message& a, const Message& b, const std::string& prefix,
             std::vector<std::string>& differences) {
  for (int i = 0; i < a.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *a.GetDescriptor()->field(i);
    if (field.options().GetExtension(may_change)) continue;
    const std::string path = prefix + field.name();
    if (IsEntered(a, b, field)) {
      Compare(a.GetReflection()->GetMessage(a, &field),
              b.GetReflection()->GetMessage(b, &field), path + ".",
              differences);
      continue;
    }
    const std::string before = ValueText(a, field);
    const std::string after = ValueText(b, field);
    if (before != after) {
      differences.push_back(absl::StrCat(path, ": ", before, ", now ", after));
    }
  }
}

// Returns "--set ...=400", which keeps the old end of the decay, or "".
std::string OldEndOfDecay(const std::string& role, const RoleConfig& before,
                          const RoleConfig& after) {
  const auto end = [](const RoleConfig& config) {
    return config.optimizer().rate_schedule().decay_until_round();
  };
  if (end(before) == end(after) || end(before) == 0) return "";
  return absl::StrCat(
      " --set ", role,
      ".optimizer.rate_schedule.decay_until_round=", end(before));
}

}  // namespace

std::vector<std::string> ConfigDifferences(const RunConfig& old_config,
                                           const RunConfig& new_config) {
  std::vector<std::string> differences;
  Compare(old_config, new_config, "", differences);
  return differences;
}

std::string DecayHint(const RunConfig& old_config,
                      const RunConfig& new_config) {
  const std::string flags =
      OldEndOfDecay("generator", old_config.generator(),
                    new_config.generator()) +
      OldEndOfDecay("discriminator", old_config.discriminator(),
                    new_config.discriminator());
  if (flags.empty()) return "";
  return absl::StrCat(
      "a learning rate that decays to the end of the run (decay_until_round: "
      "0) ends where the run first was to end; to go on with it, at "
      "final_factor after that, add",
      flags);
}

std::string WorkersDifference(const RunConfig& old_config,
                              const RunConfig& new_config) {
  const int old_generators = old_config.generator().workers();
  const int old_discriminators = old_config.discriminator().workers();
  const int generators = new_config.generator().workers();
  const int discriminators = new_config.discriminator().workers();
  if (old_generators == generators && old_discriminators == discriminators) {
    return "";
  }
  return absl::StrCat("resuming a run of ", old_generators, " generator and ",
                      old_discriminators, " discriminator workers with ",
                      generators, " and ", discriminators,
                      ": bits differ from what the old shape would give");
}

}  // namespace gandem
