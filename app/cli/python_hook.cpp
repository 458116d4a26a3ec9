// SPDX-License-Identifier: Apache-2.0
// Puts resources/python/sitecustomize.py into the program as it is; the build says where the file lies.
#include "app/cli/python_hook.h"

__asm__(".section .rodata\n"
        ".global fourwallsPythonHook\n"
        "fourwallsPythonHook:\n"
        ".incbin \"" FOURWALLS_PYTHON_HOOK "\"\n"
        ".global fourwallsPythonHookEnd\n"
        "fourwallsPythonHookEnd:\n"
        ".byte 0\n"
        ".previous\n");

extern "C" {
extern const char fourwallsPythonHook[];
extern const char fourwallsPythonHookEnd[];
}

namespace fourwalls::cli {

std::string_view pythonHook()
{
    return {fourwallsPythonHook, static_cast<std::size_t>(fourwallsPythonHookEnd - fourwallsPythonHook)};
}

} // namespace fourwalls::cli
