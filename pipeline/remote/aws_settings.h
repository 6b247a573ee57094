// SPDX-License-Identifier: Apache-2.0
//
// Finds the address of S3 and credentials where other programs do. The first
// source with a value wins:
//
//   key       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; then
//             the profile's in ~/.aws/credentials, then in ~/.aws/config
//             (AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE override these).
//             None: requests are unsigned, as public buckets permit.
//   profile   AWS_PROFILE; "default"
//   region    AWS_REGION; AWS_DEFAULT_REGION; the profile's; us-east-1
//   endpoint  AWS_ENDPOINT_URL_S3; AWS_ENDPOINT_URL; the profile's
//             endpoint_url; Amazon's of the region
//
// Metadata services of instances and containers, credential_process and SSO are
// not supported; `aws configure export-credentials` exports variables.
//
// Owner: values. Thread safety: pure functions, except for reading files.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "pipeline/remote/http_client.h"
#include "pipeline/remote/url.h"

namespace gandem {

struct AwsSettings {
  AwsKey key = {};
  std::string region = {};
  std::string endpoint = {};  // empty: Amazon's; no trailing slash
};

// `variable` returns the value of an environment variable, or "".
//   INVALID_ARGUMENT  an incomplete key, an unknown profile or a bad endpoint.
absl::StatusOr<AwsSettings> ReadAwsSettings(
    absl::FunctionRef<std::string(const std::string& name)> variable);

// Reads the settings of this process, with files read anew each time.
absl::StatusOr<AwsSettings> ReadAwsSettings();

// Returns the https:// or http:// URL of an object, or of a bucket if the key
// is empty. Uses path style at custom endpoints and for buckets with a dot in
// their names, which Amazon's certificates do not cover.
std::string S3Address(const AwsSettings& settings, const Url& url);

}  // namespace gandem
