// SPDX-License-Identifier: Apache-2.0
// See known_spec.h.
#include "model/trace/known_spec.h"

#include "model/base/format.h"
#include "model/spec/names.h"
#include "model/trace/spec_guess.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace fourwalls {

namespace {

/// Ranks on one processor exchange buffers by copying them: every byte is read and written.
constexpr double kCopiesPerByte = 2;
constexpr double kSharedLatency = 2e-6;

void assume(KnownSpec& known, const char* field, std::string value, Confidence confidence, std::string why)
{
    known.assumed.push_back({field, std::move(value), confidence, std::move(why)});
}

/// Without the words that say how much of a device a rank has: "AMD EPYC, one core" is a part of an "AMD EPYC".
std::string_view wholeDevice(std::string_view name)
{
    return name.substr(0, name.find(", "));
}

/// Whether a rank's device may be the one that the specification names. Data sheets and drivers write names a little
/// differently ("NVIDIA H100-SXM5-80GB", "NVIDIA H100 80GB HBM3"): the same generation counts as the same.
bool isDeviceOf(const ClusterSpec& cluster, std::string_view device)
{
    const std::string_view own = wholeDevice(device), named = wholeDevice(cluster.device.name);
    if (own == named || own.find(named) != std::string_view::npos || named.find(own) != std::string_view::npos)
        return true;
    const std::string_view generation = deviceGeneration(own);
    return !generation.empty() && generation == deviceGeneration(named);
}

/// A recording for machines of another kind: its operators ran, and were timed, on the devices of its ranks. On the
/// clock of modelled links the exchanges are those of the named machines, else of the machine that recorded.
void replaceDevice(const TraceInfo& info, KnownSpec& known)
{
    RunSpec& spec = *known.spec;
    if (info.header.source != TraceSource::Recorded || info.header.ranks.empty()) return;
    const RankInfo& rank = info.header.ranks.front();
    if (rank.device.empty() || isDeviceOf(spec.cluster, rank.device)) return;
    const bool isProcessor = spec.training.device == DeviceKind::Cpu && deviceGeneration(rank.device).empty();
    if (isProcessor && spec.cluster.device.family == "cpu") return;
    const std::string named = spec.cluster.name, instead = spec.cluster.device.name;
    DeviceSpec device;
    bool isKnown = false;
    if (isProcessor) {
        if (const auto machine = loadCluster("this-machine")) device = machine->device;
    } else if (const auto cluster = clusterWithDevice(rank.device, isKnown)) {
        device = cluster->device;
    }
    device.name = rank.device;
    device.memoryBytes = rank.memoryBytes;
    const bool isOneHost = std::all_of(info.header.ranks.begin(), info.header.ranks.end(),
                                       [&](const RankInfo& each) { return each.host == rank.host; });
    const bool ownLinks = info.header.clock == ClockKind::Wall && isProcessor && isOneHost;
    if (ownLinks) {
        ClusterSpec machine;
        if (auto preset = loadCluster("this-machine")) machine = std::move(*preset);
        spec.cluster = std::move(machine);
    } else {
        device.hostBytesPerSecond = spec.cluster.device.hostBytesPerSecond; // a link, as the others
        spec.cluster.name = (named.empty() ? "machines" : named) + (isProcessor ? " (CPU)" : " (" + device.name + ")");
    }
    spec.cluster.device = std::move(device);
    assume(known, "device", spec.cluster.device.name, Confidence::High,
           "the ranks computed on it, not on the " + (instead.empty() ? std::string("device") : instead) + " of " +
               (named.empty() ? "the cluster" : named) +
               (ownLinks ? "; the links are this machine's too" : "; only the links are the cluster's"));
}

/// Rates that a description of "this machine" leaves open, from what the recorder measured.
void completeDevice(const TraceInfo& info, KnownSpec& known)
{
    RunSpec& spec = *known.spec;
    DeviceSpec& device = spec.cluster.device;
    const TraceClosing& closing = info.closing;
    // A file keeps the fabric only with its link: processors of one machine share their memory.
    if (device.family == "cpu" && !(spec.cluster.nodeLink.bytesPerSecond > 0)) spec.cluster.fabric = NodeFabric::Shared;
    if (!device.peak(spec.training.precision) && closing.peakFlopsPerDevice) {
        device.peakFlops[spec.training.precision] = *closing.peakFlopsPerDevice;
        assume(known, "peak", fourwalls::formatRate(*closing.peakFlopsPerDevice, "FLOP/s"), Confidence::High,
               "measured when the recording began: " + closing.peakSource);
    }
    if (!(device.memoryBytesPerSecond > 0) && closing.memoryBytesPerSecond) {
        device.memoryBytesPerSecond = *closing.memoryBytesPerSecond;
        assume(known, "memory bandwidth", fourwalls::formatRate(device.memoryBytesPerSecond, "B/s"), Confidence::High,
               "measured when the recording began");
    }
    if (device.memoryBytes == 0 && !info.header.ranks.empty())
        device.memoryBytes = info.header.ranks.front().memoryBytes;
    LinkSpec& link = spec.cluster.nodeLink;
    if (!(link.bytesPerSecond > 0) && spec.cluster.fabric == NodeFabric::Shared && device.memoryBytesPerSecond > 0) {
        link = {device.memoryBytesPerSecond / kCopiesPerByte, kSharedLatency};
        assume(known, "link", fourwalls::formatRate(link.bytesPerSecond, "B/s"), Confidence::Medium,
               "ranks share one memory: a copy reads and writes every byte");
    }
    spec.cluster.holdRanks(spec.plan.worldSize());
}

/// The value of a guessed field, as far as the screen names it.
std::string assumedText(const RunSpec& spec, const std::string& field)
{
    const ParallelPlan& plan = spec.plan;
    const TransformerSpec* t = spec.model.transformer();
    const std::pair<const char*, std::int64_t> numbers[] = {{"dp", plan.dp},
                                                            {"tp", plan.tp},
                                                            {"pp", plan.pp},
                                                            {"cp", plan.cp},
                                                            {"ep", plan.ep},
                                                            {"zero", plan.zero},
                                                            {"microbatches", plan.microbatches},
                                                            {"batch", spec.training.batch},
                                                            {"sequence", spec.training.sequence},
                                                            {"layers", t ? t->layers : 0},
                                                            {"hidden", t ? t->hidden : 0},
                                                            {"heads", t ? t->heads : 0},
                                                            {"kv_heads", t ? t->kvHeads : 0},
                                                            {"ffn_hidden", t ? t->ffnHidden : 0},
                                                            {"vocabulary", t ? t->vocabulary : 0}};
    for (const auto& [known, number] : numbers)
        if (field == known) return std::to_string(number);
    if (field == "device") return spec.cluster.device.name;
    if (field == "cluster") return spec.cluster.name;
    if (field == "precision") return std::string(name(spec.training.precision));
    if (field == "schedule") return std::string(name(plan.schedule));
    if (field == "recompute") return recomputeText(plan);
    if (field == "framework") return spec.framework;
    return "the usual";
}

} // namespace

KnownSpec knownSpec(const TraceInfo& info)
{
    KnownSpec known;
    known.spec = info.header.spec;
    if (!known.spec) {
        std::optional<SpecGuess> guess = guessSpec(info);
        if (!guess) return known;
        known.spec = std::move(guess->spec);
        known.isGuess = true;
        known.assumed = std::move(guess->evidence);
        for (const std::string& field : guess->assumed)
            known.assumed.push_back(
                {field, assumedText(*known.spec, field), Confidence::Low, "nothing in the trace says it"});
    }
    replaceDevice(info, known);
    completeDevice(info, known);
    return known;
}

} // namespace fourwalls
