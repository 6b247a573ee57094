// SPDX-License-Identifier: Apache-2.0
//
// Fills in the templates of this folder, which the build embeds
// (cmake/GandemEmbed.cmake). A template is also valid shell code or YAML.
//
//   __name__          the value of `name`, within a line
//   #@insert name     the lines of the value, indented like this line
//   #@if name         omits the lines up to #@end if the value is empty
//   #@end
//
// Values are inserted unchanged, so the caller quotes them for the shell or
// YAML. Placeholders in values are not replaced.
//
// Thread safety: pure functions. Errors: none. A missing value or #@end is a
// bug, which ends the process.
#pragma once

#include <map>
#include <span>
#include <string>

namespace gandem {

using TemplateValues = std::map<std::string, std::string>;

std::string FillIn(std::span<const unsigned char> text,
                   const TemplateValues& values);

}  // namespace gandem
