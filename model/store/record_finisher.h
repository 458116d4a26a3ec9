// SPDX-License-Identifier: Apache-2.0
// The smaller kinds of records: steps, counters, collectives, flows and events.
#pragma once

#include "model/store/finish_context.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

/// One bin of a counter.
struct CounterBin {
    std::int64_t index = 0;
    double min = 0, max = 0, last = 0;
};

void encodeCounterTile(std::string& out, std::int64_t tile, const std::vector<CounterBin>& bins);
/// Reads a tile; false if the BLOB is damaged (the readable part is in `bins`).
bool decodeCounterTile(std::string_view bytes, std::int64_t tile, std::vector<CounterBin>& bins);

/// Loads all steps into the context and puts step rows. Comes first: what is measured depends on them.
Status finishSteps(FinishContext& context);
/// Puts counter, counter_sample and counter_bin rows; keeps the samples of "reserved_bytes".
Status finishCounters(FinishContext& context);
/// Puts collective and collective_summary rows.
Status finishCollectives(FinishContext& context);
Status finishFlows(FinishContext& context);
Status finishEvents(FinishContext& context);

} // namespace fourwalls::store
