// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/aws_settings.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxAwsFileBytes = 1 << 20;

using Profile = std::map<std::string, std::string>;
using Variable = absl::FunctionRef<std::string(const std::string& name)>;

// Parses one section of an INI file, without indented (nested) settings.
Profile SectionOf(absl::string_view text, absl::string_view section) {
  Profile profile;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || absl::ascii_isspace(line.front())) continue;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const size_t end = line.find(']');
      inside = absl::StripAsciiWhitespace(line.substr(1, end - 1)) == section;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == absl::string_view::npos) continue;
    profile[absl::AsciiStrToLower(
        absl::StripAsciiWhitespace(line.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return profile;
}

// Returns an empty profile if the file does not exist.
absl::StatusOr<Profile> ReadProfile(const std::string& path,
                                    absl::string_view section) {
  if (path.empty() || !PathExists(path)) return Profile();
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxAwsFileBytes));
  return SectionOf(text, section);
}

std::string FirstOf(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

std::string FileNamed(Variable variable, const std::string& name,
                      const char* in_home) {
  const std::string named = variable(name);
  if (!named.empty()) return named;
  const std::string home = variable("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.aws/", in_home);
}

std::string ValueOf(const Profile& profile, const char* name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

AwsKey KeyOf(const Profile& profile) {
  return {.id = ValueOf(profile, "aws_access_key_id"),
          .secret = ValueOf(profile, "aws_secret_access_key"),
          .token = ValueOf(profile, "aws_session_token")};
}

absl::Status CheckAwsKey(const AwsKey& key, absl::string_view where) {
  if (key.id.empty() == key.secret.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": an access key needs both its id and its secret: set both"));
}

struct Profiles {
  std::string name = {};
  Profile credentials = {};
  Profile config = {};
};

absl::StatusOr<Profiles> ReadProfiles(Variable variable) {
  const std::string named = variable("AWS_PROFILE");
  Profiles profiles = {.name = named.empty() ? "default" : named};
  GANDEM_ASSIGN_OR_RETURN(
      profiles.credentials,
      ReadProfile(
          FileNamed(variable, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
          profiles.name));
  GANDEM_ASSIGN_OR_RETURN(
      profiles.config,
      ReadProfile(FileNamed(variable, "AWS_CONFIG_FILE", "config"),
                  profiles.name == "default"
                      ? profiles.name
                      : absl::StrCat("profile ", profiles.name)));
  if (!named.empty() && profiles.credentials.empty() &&
      profiles.config.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "AWS_PROFILE is '", named,
        "', and neither ~/.aws/credentials nor ~/.aws/config has it"));
  }
  return profiles;
}

absl::StatusOr<AwsKey> FindKey(Variable variable, const Profiles& profiles) {
  const AwsKey environment = {.id = variable("AWS_ACCESS_KEY_ID"),
                              .secret = variable("AWS_SECRET_ACCESS_KEY"),
                              .token = variable("AWS_SESSION_TOKEN")};
  GANDEM_RETURN_IF_ERROR(
      CheckAwsKey(environment, "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"));
  if (!environment.empty()) return environment;
  for (const Profile* const profile :
       {&profiles.credentials, &profiles.config}) {
    const AwsKey key = KeyOf(*profile);
    GANDEM_RETURN_IF_ERROR(
        CheckAwsKey(key, absl::StrCat("profile ", profiles.name)));
    if (!key.empty()) return key;
  }
  return AwsKey();
}

}  // namespace

absl::StatusOr<AwsSettings> ReadAwsSettings(Variable variable) {
  GANDEM_ASSIGN_OR_RETURN(const Profiles profiles, ReadProfiles(variable));
  AwsSettings settings;
  GANDEM_ASSIGN_OR_RETURN(settings.key, FindKey(variable, profiles));
  settings.region =
      FirstOf({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"),
               ValueOf(profiles.config, "region"), "us-east-1"});
  settings.endpoint =
      FirstOf({variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"),
               ValueOf(profiles.config, "endpoint_url")});
  while (absl::EndsWith(settings.endpoint, "/")) settings.endpoint.pop_back();
  if (settings.endpoint.empty()) return settings;
  const absl::StatusOr<Url> parsed = ParseUrl(settings.endpoint);
  if (!parsed.ok() || parsed->scheme == UrlScheme::kS3 ||
      !parsed->query.empty()) {
    return absl::InvalidArgumentError(
        "AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL, endpoint_url of the "
        "profile) is no address such as http://localhost:9000: correct it");
  }
  return settings;
}

absl::StatusOr<AwsSettings> ReadAwsSettings() {
  return ReadAwsSettings([](const std::string& name) -> std::string {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  });
}

std::string S3Address(const AwsSettings& settings, const Url& url) {
  const std::string path = PercentEncode(url.path, /*keep_slash=*/true);
  const bool in_path =
      !settings.endpoint.empty() || absl::StrContains(url.host, '.');
  const std::string amazon =
      absl::StrCat("s3.", settings.region, ".amazonaws.com");
  if (!in_path) return absl::StrCat("https://", url.host, ".", amazon, path);
  return absl::StrCat(settings.endpoint.empty()
                          ? absl::StrCat("https://", amazon)
                          : settings.endpoint,
                      "/", url.host, path);
}

}  // namespace gandem
