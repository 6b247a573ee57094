// SPDX-License-Identifier: Apache-2.0
//
// The page of `gandem report --html`: one file without external resources.
// page.html, page.css, page.js and chart.js are embedded in the program.
//
// Names of runs and recipes are untrusted. The page has them as escaped JSON,
// the script shows them only as text, and the page's policy allows only this
// script and this style, and no network.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gandem {

// `runs`: an array of RunPageData.
std::string ReportPage(const nlohmann::ordered_json& runs);

}  // namespace gandem
