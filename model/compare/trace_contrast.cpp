// SPDX-License-Identifier: Apache-2.0
// See trace_contrast.h.
#include "model/compare/trace_contrast.h"

#include "model/spec/run_spec.h"

#include <map>
#include <string>

namespace fourwalls::compare {

namespace {

/// How many there are of each kind; empty where a rank does not say what it has.
std::map<std::string, std::int64_t> devicesOf(const TraceInfo& trace)
{
    std::map<std::string, std::int64_t> devices;
    for (const RankInfo& rank : trace.header.ranks) {
        if (rank.device.empty()) return {};
        devices[rank.device] += rank.multiplicity;
    }
    return devices;
}

} // namespace

TraceContrast contrastOf(const TraceInfo& a, const TraceInfo& b)
{
    TraceContrast contrast;
    contrast.clock = a.header.clock != b.header.clock;
    const auto devicesOfA = devicesOf(a), devicesOfB = devicesOf(b);
    contrast.devices = !devicesOfA.empty() && !devicesOfB.empty() && devicesOfA != devicesOfB;
    if (!a.header.spec || !b.header.spec) return contrast;
    const RunSpec &ofA = *a.header.spec, &ofB = *b.header.spec;
    contrast.network = ofA.model.name != ofB.model.name || parameterCount(ofA.model) != parameterCount(ofB.model);
    contrast.batch = ofA.training.batch != ofB.training.batch;
    contrast.plan = ofA.plan != ofB.plan;
    return contrast;
}

} // namespace fourwalls::compare
