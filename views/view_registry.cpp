// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views, in the order of the rail.
#include "views/view_registry.h"

namespace fourwalls::views {

const std::vector<ViewEntry>& viewRegistry()
{
    static const std::vector<ViewEntry> entries{
    };
    return entries;
}

} // namespace fourwalls::views
