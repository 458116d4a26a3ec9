// SPDX-License-Identifier: Apache-2.0
// See peak_facts.h.
#include "model/trace/peak_facts.h"

#include "model/trace/audit_counter.h"
#include "model/trace/collective_timing.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/summary_builder.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::size_t kMostPeakOperators = 20'000;

/// Imported traces get a peak from the data sheet by what their kernels are; a measured one is kept.
bool isByDatasheet(const TraceInfo& info)
{
    const TraceClosing& closing = info.closing;
    const bool measured =
        closing.peakFlopsPerDevice && !closing.peakSource.empty() && closing.peakSource != "datasheet";
    return info.header.source == TraceSource::Imported && !measured && !info.header.spec;
}

/// The data sheet that all ranks share, and the device's name.
void settleDevice(PeakFacts& facts, const TraceHeader& header)
{
    std::set<std::string> names;
    for (const RankInfo& rank : header.ranks) names.insert(rank.device);
    if (names.size() > 1) {
        facts.absent = NoMfu::DifferentDevices;
        return;
    }
    if (names.empty()) return;
    facts.device = *names.begin();
    facts.sheet = deviceDatasheet(facts.device);
}

/// Whether an importer met operators with FLOPs and found no kernel that they launched.
bool hasUnlinkedFlops(const TraceInfo& info)
{
    return std::ranges::any_of(info.audit, [](const AuditRecord& record) {
        return isCounter(record, AuditCounter::FlopsUnassigned) && record.count > 0;
    });
}

struct PeakSums {
    double compute = 0, known = 0, matrix = 0, matrixKnown = 0, nothing = 0, above = 0, worst = 0;
    std::array<double, kArithmeticCount> flops{};
};

} // namespace

std::string_view name(NoMfu reason)
{
    switch (reason) {
    case NoMfu::None: return "";
    case NoMfu::NoStep: return "no measured step";
    case NoMfu::NoFlops: return "no FLOPs";
    case NoMfu::NotLinked: return "FLOPs of no kernel";
    case NoMfu::FewFlops: return "FLOPs of too few matrix products";
    case NoMfu::NoDevice: return "no device was recorded";
    case NoMfu::UnknownDevice: return "unknown device";
    case NoMfu::DifferentDevices: return "different devices";
    case NoMfu::UnknownArithmetic: return "unknown arithmetic";
    case NoMfu::NoRate: return "no rate for this arithmetic";
    case NoMfu::AboveRoof: return "kernels above their roof";
    }
    return "";
}

std::optional<double> PeakFacts::roofOf(const OpInfo& op) const
{
    if (!sheet) return absent == NoMfu::UnknownDevice || absent == NoMfu::DifferentDevices ? std::nullopt : peak;
    const KernelArithmetic kernel = arithmeticOf(op.name, op.detail);
    const std::optional<double> roof = sheet->peak(kernel.type);
    return roof && kernel.sparse ? std::optional(2 * *roof) : roof;
}

std::string PeakFacts::peakWords() const
{
    if (!peak) return {};
    std::string words(arithmetic == Arithmetic::Unknown ? std::string_view() : name(arithmetic));
    for (const std::string& part : {device, source})
        if (!part.empty()) words += (words.empty() ? "" : ", ") + part;
    return words;
}

PeakFacts peakFacts(const TraceInfo& info, const std::vector<OpSummary>& summaries,
                    const std::vector<std::shared_ptr<const OpInfo>>& ops)
{
    PeakFacts facts;
    const bool byDatasheet = isByDatasheet(info);
    if (byDatasheet) {
        settleDevice(facts, info.header);
        if (facts.sheet) facts.source = "datasheet";
    } else {
        facts.peak = devicePeakFlops(info.header, info.closing);
        facts.source = info.closing.peakFlopsPerDevice ? info.closing.peakSource : facts.peak ? "datasheet" : "";
        if (!info.header.ranks.empty()) facts.device = info.header.ranks.front().device;
        if (info.header.spec) {
            static constexpr std::array<std::pair<Precision, Arithmetic>, 7> kPrecisions{
                {{Precision::F32, Arithmetic::F32},
                 {Precision::Tf32, Arithmetic::Tf32},
                 {Precision::F16, Arithmetic::F16},
                 {Precision::Bf16, Arithmetic::Bf16},
                 {Precision::Fp8, Arithmetic::Fp8},
                 {Precision::Mxfp8, Arithmetic::Fp8},
                 {Precision::Fp4, Arithmetic::Fp4}}};
            for (const auto& [precision, arithmetic] : kPrecisions)
                if (precision == info.header.spec->training.precision) facts.arithmetic = arithmetic;
        }
    }
    PeakSums sums;
    for (std::size_t i = 0; i < summaries.size() && i < ops.size(); ++i) {
        const OpSummary& summary = summaries[i];
        if (!ops[i] || ops[i]->activity != Activity::Compute) continue;
        const OpInfo& op = *ops[i];
        const double time = static_cast<double>(summary.total.ns);
        const double flops = op.flops * static_cast<double>(summary.count);
        sums.compute += time;
        const bool known = flops > 0 || isPartOfProduct(op.detail);
        if (!known && op.bytes <= 0) sums.nothing += time;
        if (known || isMatrixKernel(op.name)) sums.matrix += time;
        if (!known) continue;
        sums.known += time;
        sums.matrixKnown += time;
        if (flops <= 0) continue;
        if (byDatasheet)
            sums.flops[static_cast<std::size_t>(arithmeticOf(op.name, op.detail).type) % kArithmeticCount] += flops;
        if (info.header.source == TraceSource::Predicted || time <= 0 || countsDirectFlops(op.name)) continue;
        const std::optional<double> roof = facts.roofOf(op);
        if (!roof || flops / (time * 1e-9) <= kRoofTolerance * *roof) continue;
        sums.above += time;
        if (time <= sums.worst) continue;
        sums.worst = time;
        facts.breach = RoofBreach{op.name, flops / (time * 1e-9) / *roof, 0};
    }
    if (sums.compute > 0) {
        facts.flopsKnown = sums.known / sums.compute;
        facts.nothingKnown = sums.nothing / sums.compute;
        if (facts.breach) facts.breach->share = sums.above / sums.compute;
    }
    if (sums.matrix > 0) facts.matrixKnown = sums.matrixKnown / sums.matrix;
    const bool breached = facts.breach && facts.breach->share >= kToleratedBreach;
    if (byDatasheet) {
        const auto most = std::max_element(sums.flops.begin(), sums.flops.end());
        if (*most > 0) facts.arithmetic = static_cast<Arithmetic>(most - sums.flops.begin());
        if (facts.sheet) facts.peak = facts.sheet->peak(facts.arithmetic);
        if (facts.arithmetic == Arithmetic::AnyF32 && facts.peak) facts.arithmetic = Arithmetic::F32;
        if (sums.known <= 0)
            facts.absent = hasUnlinkedFlops(info) ? NoMfu::NotLinked : NoMfu::NoFlops;
        else if (facts.absent == NoMfu::DifferentDevices)
            facts.absent = NoMfu::DifferentDevices;
        else if (!facts.sheet)
            facts.absent = NoMfu::UnknownDevice;
        else if (facts.arithmetic == Arithmetic::Unknown || facts.arithmetic == Arithmetic::AnyF32)
            facts.absent = NoMfu::UnknownArithmetic;
        else if (!facts.peak)
            facts.absent = NoMfu::NoRate;
        else if (breached)
            facts.absent = NoMfu::AboveRoof;
        else if (facts.matrixKnown && *facts.matrixKnown < kLeastFlopsKnown)
            facts.absent = NoMfu::FewFlops;
    } else if (!facts.peak) {
        facts.absent = NoMfu::UnknownDevice;
    } else if (breached) {
        facts.absent = NoMfu::AboveRoof;
    }
    if (!facts.peak) facts.source.clear();
    return facts;
}

Result<PeakFacts> peakFacts(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(std::vector<OpSummary> summaries, trace.opSummaries(kMostPeakOperators + 1));
    const bool limited = summaries.size() > kMostPeakOperators;
    if (limited) summaries.resize(kMostPeakOperators);
    std::vector<std::shared_ptr<const OpInfo>> ops;
    ops.reserve(summaries.size());
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        ops.push_back(std::move(op));
    }
    PeakFacts facts = peakFacts(trace.info(), summaries, ops);
    facts.limited = limited;
    if (facts.sheet && isHostOnly(trace)) {
        // A device that did nothing is no measure of what the processor did.
        facts.sheet.reset();
        facts.peak.reset();
        facts.breach.reset();
        facts.source.clear();
    }
    if (isHostOnly(trace) && isByDatasheet(trace.info()) && facts.absent != NoMfu::NoFlops)
        facts.absent = NoMfu::NoDevice;
    return facts;
}

bool hasLaunchesOnly(const TraceQuery& trace)
{
    const TraceInfo& info = trace.info();
    if (!isHostOnly(trace) || !isByDatasheet(info)) return false;
    const bool namesDevice = std::any_of(info.header.ranks.begin(), info.header.ranks.end(), [](const RankInfo& rank) {
        return !rank.device.empty() && rank.device.find("CPU") == std::string::npos;
    });
    // Transfers that are known by their requests only were a device's.
    return namesDevice || std::any_of(info.groups.begin(), info.groups.end(),
                                      [](const ProcessGroupInfo& group) { return group.transport == kRequestsOnly; });
}

std::optional<double> roofOf(const TraceInfo& info, RankId rank, const OpInfo& op)
{
    if (!isByDatasheet(info)) return devicePeakFlops(info.header, info.closing);
    PeakFacts facts;
    for (const RankInfo& each : info.header.ranks)
        if (each.rank == rank) facts.sheet = deviceDatasheet(each.device);
    return facts.sheet ? facts.roofOf(op) : std::nullopt;
}

bool isHostOnly(const TraceQuery& trace)
{
    if (trace.info().header.source != TraceSource::Imported) return false;
    bool slices = false;
    for (const TrackView& track : trace.tracks()) {
        const TrackKind kind = track.info.kind;
        if (kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream)
            return false;
        slices = slices || track.slices > 0;
    }
    return slices;
}

} // namespace fourwalls
