// SPDX-License-Identifier: Apache-2.0
// In what two traces are of different things: what changes from one to the other is then no gain or loss of one of them.
#pragma once

#include "model/trace/trace_query.h"

namespace fourwalls::compare {

/// What both traces say of themselves, each differently. What one of them does not say differs in nothing.
struct TraceContrast {
    bool network = false; ///< its name or its number of parameters
    bool batch = false;   ///< sequences or images of a step
    bool plan = false;
    bool devices = false; ///< their kinds or their number
    bool clock = false;

    bool any() const { return network || batch || plan || devices || clock; }
    /// The same work on the same machine: what takes longer got worse. Plans may differ, they are compared for that.
    bool isOfOneThing() const { return !network && !batch && !devices && !clock; }
};

TraceContrast contrastOf(const TraceInfo& a, const TraceInfo& b);

} // namespace fourwalls::compare
