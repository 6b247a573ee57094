// SPDX-License-Identifier: Apache-2.0
//
// Fills in the texts of this folder that the build embeds
// (cmake/GandemEmbed.cmake): shell scripts and YAML in files of their own,
// which shellcheck, YAML parsers and editors read as they are.
//
//   __name__          the value of `name`, within a line
//   #@insert name     the lines of the value, as deep as this line
//   #@if name         the lines up to #@end, unless it is empty
//   #@end
//
// Values are inserted as they are: the caller quotes them for the shell or for
// YAML. What looks like a placeholder in a value stays.
//
// Thread safety: pure functions. Errors: a name without a value, or a #@if
// without its #@end, is a bug of ours, at which the process stops.
#pragma once

#include <map>
#include <span>
#include <string>

namespace gandem {

using TemplateValues = std::map<std::string, std::string>;

std::string FillIn(std::span<const unsigned char> text,
                   const TemplateValues& values);

}  // namespace gandem
