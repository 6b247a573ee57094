// SPDX-License-Identifier: Apache-2.0
//
// A child process that executes its arguments in order:
//   exit=N        exits with code N
//   print=TEXT    prints a line on standard output
//   touch=FILE    creates the file
//   pid=FILE      writes its process id
//   ignore_term   ignores SIGTERM
//   signal=N      sends itself signal N
//   mask          prints whether SIGTERM is blocked
//   cores         prints the cores that it may use, and its niceness
//   descriptors   prints the number of its open files
//   wait          sleeps until a signal ends it
// Other arguments (--control ...) are printed. Exits after a minute.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "common/check.h"
#include "common/files/file.h"
#include "common/process/cores.h"

namespace {

int OpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - 3;  // ".", ".." and the folder itself
}

bool IsBlocked(int signal) {
  sigset_t set;
  sigprocmask(SIG_BLOCK, nullptr, &set);
  return sigismember(&set, signal) != 0;
}

void Do(const std::string& argument) {
  const size_t equals = argument.find('=');
  const std::string verb = argument.substr(0, equals);
  const std::string value =
      equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (verb == "exit") {
    exit(atoi(value.c_str()));
  } else if (verb == "touch") {
    GANDEM_CHECK_OK(gandem::WriteFile(value, ""));
  } else if (verb == "pid") {
    GANDEM_CHECK_OK(gandem::WriteFileDurably(value, std::to_string(getpid())));
  } else if (verb == "ignore_term") {
    signal(SIGTERM, SIG_IGN);
  } else if (verb == "signal") {
    kill(getpid(), atoi(value.c_str()));
  } else if (verb == "mask") {
    printf("SIGTERM is %s\n", IsBlocked(SIGTERM) ? "blocked" : "open");
  } else if (verb == "descriptors") {
    printf("%d open files\n", OpenFiles());
  } else if (verb == "cores") {
    printf("cores %s, niceness %d\n",
           gandem::CoresText(gandem::AllowedCores()).c_str(), nice(0));
  } else if (verb == "wait") {
    fflush(stdout);
    pause();
  } else {
    printf("%s\n", verb == "print" ? value.c_str() : argument.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);
  for (int i = 1; i < argc; ++i) Do(argv[i]);
  return 0;
}
