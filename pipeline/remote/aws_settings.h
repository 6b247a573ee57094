// SPDX-License-Identifier: Apache-2.0
//
// Address of S3 and credentials, from the places that other programs use. The
// first place that has a value is used:
//
//   key       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; then
//             the profile's in ~/.aws/credentials, then in ~/.aws/config
//             (AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name others).
//             None: requests are not signed, which public buckets accept.
//   profile   AWS_PROFILE; "default"
//   region    AWS_REGION; AWS_DEFAULT_REGION; the profile's; us-east-1
//   endpoint  AWS_ENDPOINT_URL_S3; AWS_ENDPOINT_URL; the profile's
//             endpoint_url; Amazon's of the region
//
// Metadata services of instances and containers, credential_process and SSO are
// not asked: `aws configure export-credentials` makes variables of them.
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
  std::string endpoint = {};  // empty: Amazon's; without a slash at its end
};

// `variable` gives the value of an environment variable, "" if there is none.
//   INVALID_ARGUMENT  half a key; a profile or an endpoint that is none.
absl::StatusOr<AwsSettings> ReadAwsSettings(
    absl::FunctionRef<std::string(const std::string& name)> variable);

// Settings of this process. Files are read again each time.
absl::StatusOr<AwsSettings> ReadAwsSettings();

// The https:// or http:// URL of an object, or of a bucket where the key is
// empty: path style at endpoints of others and for buckets with a point, whose
// names would not fit Amazon's certificates.
std::string S3Address(const AwsSettings& settings, const Url& url);

}  // namespace gandem
