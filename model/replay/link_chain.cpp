// SPDX-License-Identifier: Apache-2.0
// See link_chain.h.
#include "model/replay/link_chain.h"

#include <algorithm>

namespace fourwalls::replay {

const Link* lastEnded(const LinkChain& chain, Instant at)
{
    auto behind =
        std::upper_bound(chain.begin(), chain.end(), at, [](Instant t, const Link& link) { return t < link.start; });
    while (behind != chain.begin()) {
        const Link& link = *--behind;
        if (link.holds && link.end <= at && (link.end > link.start || link.piece == kNone)) return &link;
    }
    return nullptr;
}

const Link* firstFrom(const LinkChain& chain, Instant at)
{
    auto link =
        std::lower_bound(chain.begin(), chain.end(), at, [](const Link& each, Instant t) { return each.start < t; });
    for (; link != chain.end(); ++link)
        if (link->end > link->start || (link->piece == kNone && link->start >= at)) return &*link;
    return nullptr;
}

const Link* behindGap(const LinkChain& chain, Instant end)
{
    const Link* next = firstFrom(chain, end);
    if (!next || next == chain.data()) return nullptr;
    const Link* before = next - 1;
    while (before != chain.data() && !before->holds) --before;
    return before->end < end ? next : nullptr;
}

} // namespace fourwalls::replay
