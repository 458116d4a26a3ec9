// SPDX-License-Identifier: Apache-2.0
// Puts resources/text/tom_sawyer.txt into the program as it is; the build says where the file lies.
#include "profiler/engine/train/builtin_text.h"

__asm__(".section .rodata\n"
        ".global fourwallsBuiltinText\n"
        "fourwallsBuiltinText:\n"
        ".incbin \"" FOURWALLS_TEXT_FILE "\"\n"
        ".global fourwallsBuiltinTextEnd\n"
        "fourwallsBuiltinTextEnd:\n"
        ".byte 0\n"
        ".previous\n");

extern "C" {
extern const char fourwallsBuiltinText[];
extern const char fourwallsBuiltinTextEnd[];
}

namespace fourwalls::engine {

std::string_view builtinText()
{
    return {fourwallsBuiltinText, static_cast<std::size_t>(fourwallsBuiltinTextEnd - fourwallsBuiltinText)};
}

} // namespace fourwalls::engine
