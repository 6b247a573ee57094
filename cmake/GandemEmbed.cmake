# SPDX-License-Identifier: Apache-2.0
# cmake -D INPUT=file -D OUTPUT=file.cc -D NAME=Symbol -P GandemEmbed.cmake
# Writes a source file with the bytes of INPUT as gandem::internal::Symbol.
file(READ ${INPUT} _hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," _bytes "${_hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
       "\\1\n" _bytes "${_bytes}")
file(WRITE ${OUTPUT} "// Made of ${NAME}'s input by GandemEmbed.cmake.
#include <span>

namespace gandem::internal {

extern const std::span<const unsigned char> ${NAME};

namespace {
constexpr unsigned char kBytes[] = {
${_bytes}
};
}  // namespace

constinit const std::span<const unsigned char> ${NAME}(kBytes);

}  // namespace gandem::internal
")
