// SPDX-License-Identifier: Apache-2.0
// Part of a sample: uses that mean something else behind declares.cpp.
#include "cost/words.h"

namespace fourwalls::cost {

/* In a comment: total(1). */
int uses(int kind)
{
    Status status;
    const char* text = word(kind) + 0;
    const char* quoted = R"(First total(1))"
                         "First";
    Bytes* bytes = nullptr;
    ::close(kind);
    close(kind);
    half<int>(kind);
    marked();
    const int Back = 1;
    if (There || (kind > kLeast)) return Back;
    return COST_LIMIT + COST_PASSING + First + Safe::Third + status.total(1) + other::count(2);
}

} // namespace fourwalls::cost
