// SPDX-License-Identifier: GPL-3.0-or-later
// See known_spec.h.
#include "views/whatif/known_spec.h"

#include "model/base/format.h"
#include "model/spec/names.h"

namespace fourwalls::views {

namespace {

/// Ranks on one processor exchange buffers by copying them: every byte is read and written.
constexpr double kCopiesPerByte = 2;
constexpr double kSharedLatency = 2e-6;

void assume(KnownSpec& known, const char* field, std::string value, Confidence confidence, std::string why)
{
    known.assumed.push_back({field, std::move(value), confidence, std::move(why)});
}

/// Rates that a description of "this machine" leaves open, from what the recorder measured.
void completeDevice(const TraceInfo& info, KnownSpec& known)
{
    RunSpec& spec = *known.spec;
    DeviceSpec& device = spec.cluster.device;
    const TraceClosing& closing = info.closing;
    if (!device.peak(spec.training.precision) && closing.peakFlopsPerDevice) {
        device.peakFlops[spec.training.precision] = *closing.peakFlopsPerDevice;
        assume(known, "peak", formatRate(*closing.peakFlopsPerDevice, "FLOP/s"), Confidence::High,
               "measured when the recording began: " + closing.peakSource);
    }
    if (!(device.memoryBytesPerSecond > 0) && closing.memoryBytesPerSecond) {
        device.memoryBytesPerSecond = *closing.memoryBytesPerSecond;
        assume(known, "memory bandwidth", formatRate(device.memoryBytesPerSecond, "B/s"), Confidence::High,
               "measured when the recording began");
    }
    if (device.memoryBytes == 0 && !info.header.ranks.empty()) device.memoryBytes = info.header.ranks.front().memoryBytes;
    LinkSpec& link = spec.cluster.nodeLink;
    if (!(link.bytesPerSecond > 0) && spec.cluster.fabric == NodeFabric::Shared && device.memoryBytesPerSecond > 0) {
        link = {device.memoryBytesPerSecond / kCopiesPerByte, kSharedLatency};
        assume(known, "link", formatRate(link.bytesPerSecond, "B/s"), Confidence::Medium,
               "ranks share one memory: a copy reads and writes every byte");
    }
    // Ranks of one process are as many as the plan wants, whatever the machine has.
    if (spec.cluster.fabric == NodeFabric::Shared && spec.cluster.devicesPerNode < spec.plan.worldSize())
        spec.cluster.devicesPerNode = spec.plan.worldSize();
}

} // namespace

KnownSpec knownSpec(const TraceInfo& info)
{
    KnownSpec known;
    known.spec = info.header.spec;
    if (known.spec) completeDevice(info, known);
    return known;
}

} // namespace fourwalls::views
