// SPDX-License-Identifier: Apache-2.0
//
// The page of `gandem report --html`: one file with everything in it. The text
// of page.html, page.css and page.js beside this file is built into the
// program.
//
// Names of runs, recipes and figures are foreign text. They are in the page as
// JSON that ends no element, the script shows them as text only, and the
// page's policy lets a browser run this very script, apply this very style and
// load nothing: no network, no other script.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gandem {

// `runs`: an array of RunPageData.
std::string ReportPage(const nlohmann::ordered_json& runs);

}  // namespace gandem
