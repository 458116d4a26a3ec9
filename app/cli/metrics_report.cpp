// SPDX-License-Identifier: Apache-2.0
// Printing of TraceMetrics.
#include "app/cli/metrics_report.h"

#include "model/base/format.h"
#include "model/trace/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json byCategory(const std::array<std::int64_t, kMemoryCategoryCount>& bytes)
{
    json object = json::object();
    for (int c = 0; c < kMemoryCategoryCount; ++c)
        object[std::string(name(static_cast<MemoryCategory>(c)))] = bytes[static_cast<std::size_t>(c)];
    return object;
}

std::string orDash(const std::optional<double>& value, std::string (*text)(double))
{
    return value ? text(*value) : std::string("\xe2\x80\x93");
}

/// All ranks, or of more than fit a screen the one with the largest peak.
std::vector<const MemorySummary*> shownMemory(const std::vector<MemorySummary>& all)
{
    constexpr std::size_t kMostRanks = 4;
    std::vector<const MemorySummary*> shown;
    for (const MemorySummary& memory : all) shown.push_back(&memory);
    if (shown.size() <= kMostRanks) return shown;
    return {
        *std::max_element(shown.begin(), shown.end(), [](auto* a, auto* b) { return a->peakBytes < b->peakBytes; })};
}

std::string plain(double value)
{
    return formatFigure(value, 4);
}

/// What MFU is of, and how much of the time it knows.
std::string knownMfuNote(const TraceMetrics& metrics)
{
    std::string text;
    if (const std::string words = metrics.peak.peakWords(); !words.empty())
        text += fmt::format(" of {} ({})", formatRate(*metrics.peak.peak, "FLOP/s"), words);
    constexpr double kAll = 0.95;
    if (metrics.source == TraceSource::Imported && metrics.peak.flopsKnown && *metrics.peak.flopsKnown < kAll)
        text += fmt::format("; FLOPs known for {} of the compute time", formatPercent(*metrics.peak.flopsKnown));
    return text;
}

std::string noMfuText(const TraceMetrics& metrics)
{
    std::string text(name(metrics.mfuAbsent));
    const PeakFacts& peak = metrics.peak;
    if (metrics.mfuAbsent == NoMfu::UnknownDevice && !peak.device.empty()) text += ": " + peak.device;
    if (metrics.mfuAbsent == NoMfu::NoRate) text += fmt::format(": {} of {}", name(peak.arithmetic), peak.device);
    if (metrics.mfuAbsent == NoMfu::FewFlops && peak.matrixKnown)
        text += fmt::format(": {} of their time", formatPercent(*peak.matrixKnown));
    if (metrics.mfuAbsent == NoMfu::AboveRoof && peak.breach)
        text += fmt::format(": {} of the compute time, {} x in {}", formatPercent(peak.breach->share),
                            plain(peak.breach->times), peak.breach->op.substr(0, 60));
    return text;
}

std::string mfuNote(const TraceMetrics& metrics)
{
    return metrics.mfu ? knownMfuNote(metrics) : fmt::format(" ({})", noMfuText(metrics));
}

/// loss: of each recorded step; not empty.
std::string lossesText(const std::vector<std::optional<double>>& loss)
{
    const bool isKnown = std::ranges::any_of(loss, [](const auto& each) { return each.has_value(); });
    if (!isKnown || loss.size() == 1) return orDash(loss.front(), plain);
    return fmt::format("{} in the first step, {} in the last of {}", orDash(loss.front(), plain),
                       orDash(loss.back(), plain), loss.size());
}

} // namespace

json orNull(const std::optional<double>& value)
{
    return value ? json(*value) : json(nullptr);
}

json metricsJson(const TraceMetrics& metrics)
{
    json object;
    object["source"] = name(metrics.source);
    object["clock"] = name(metrics.clock);
    for (const FigureInfo& figure : figureTable())
        if (figure.use.json) object[figure.key] = orNull(figure.of(metrics));
    object["mfu_absent_because"] = metrics.mfuAbsent == NoMfu::None ? json(nullptr) : json(name(metrics.mfuAbsent));
    object["peak_of"] = metrics.peak.peak ? json(metrics.peak.peakWords()) : json(nullptr);
    object["above_roof"] = nullptr;
    if (const auto& breach = metrics.peak.breach)
        object["above_roof"] = {{"kernel", breach->op}, {"times", breach->times}, {"share_of_compute", breach->share}};
    object["host_only"] = metrics.hostOnly;
    object["loss"] = json::array();
    for (const auto& loss : metrics.loss) object["loss"].push_back(orNull(loss));
    const char* const peaks = infoOf(Figure::PeakBytes).key;
    object[peaks] = json::array();
    for (const MemorySummary& memory : metrics.memory) {
        json entry{{"rank", memory.rank.value},
                   {"total", memory.peakBytes},
                   {"at_ns", memory.peakAt.ns},
                   {"by_category", byCategory(memory.atPeak)},
                   {"category_peaks", byCategory(memory.categoryPeaks)},
                   {"resident", memory.residentBytes}};
        entry["reserved"] = memory.peakReservedBytes ? json(*memory.peakReservedBytes) : json(nullptr);
        object[peaks].push_back(std::move(entry));
    }
    object[infoOf(Figure::Bubble).key] = {{"mean", orNull(metrics.bubbleFraction)}, {"stages", metrics.bubbleByStage}};
    object["waterfall"] = json::object();
    for (const auto& [part, share] : metrics.waterfall.parts()) object["waterfall"][infoOf(part).key] = share;
    object["collectives"] = json::array();
    const auto gigabytes = [](const std::optional<double>& rate) { return rate ? json(*rate * 1e-9) : json(nullptr); };
    for (const CollectiveMetrics& collective : metrics.collectives) {
        const CollectiveSummary& summary = collective.summary;
        object["collectives"].push_back(
            {{"operation", name(summary.operation)},
             {"group", collective.group},
             {"count", summary.count},
             {"payload_bytes", summary.payloadBytes ? json(*summary.payloadBytes) : json(nullptr)},
             {"wire_bytes", summary.wireBytes ? json(*summary.wireBytes) : json(nullptr)},
             {"timing", name(collective.timing)},
             {"time_ms", collective.transfer ? json(collective.transfer->milliseconds()) : json(nullptr)},
             {"wait_ms", collective.wait ? json(collective.wait->milliseconds()) : json(nullptr)},
             {"algbw_gbps", gigabytes(collective.algorithmBytesPerSecond)},
             {"busbw_gbps", gigabytes(collective.busBytesPerSecond)}});
    }
    object["dropped"] = metrics.dropped;
    return object;
}

std::string metricsText(const TraceMetrics& metrics)
{
    std::string text;
    const auto line = [&text](std::string_view label, const std::string& value) {
        text += fmt::format("{:<26}{}\n", label, value);
    };
    line("source", fmt::format("{}, clock {}", name(metrics.source), name(metrics.clock)));
    for (std::size_t i = 0; i < kFigureCount; ++i) {
        const auto figure = static_cast<Figure>(i);
        const FigureInfo& info = infoOf(figure);
        if (!info.use.text || (figure == Figure::FlopsPerSecond && (metrics.mfu || !metrics.flopsPerSecond))) continue;
        const std::string value = figureText(info, info.of(metrics));
        line(info.words, figure == Figure::Mfu ? value + mfuNote(metrics) : value);
    }
    line("dropped records", formatCount(metrics.dropped));
    if (!metrics.loss.empty()) line("loss", lossesText(metrics.loss));
    if (!metrics.waterfall.empty())
        text += "\nwhere the step time goes\n";
    else if (metrics.hostOnly && metrics.stepTime)
        text += "\nwhere the step time goes: nothing in this trace is known to be work of a device, or of a job "
                "without one\n";
    for (const auto& [part, share] : metrics.waterfall.parts())
        text += fmt::format("  {:<24}{:>6.2f} %\n", infoOf(part).words, std::round(share * 1e4) / 100 + 0.0); // no -0
    for (const MemorySummary* memory : shownMemory(metrics.memory)) {
        text += fmt::format("\nmemory of rank {}{}\n  {:<24}{}\n  {:<24}{} at {}\n", memory->rank.value,
                            shownMemory(metrics.memory).size() < metrics.memory.size()
                                ? fmt::format(", the largest of {} in the trace", metrics.memory.size())
                                : "",
                            "resident after the step", formatBytes(static_cast<double>(memory->residentBytes)), "peak",
                            formatBytes(static_cast<double>(memory->peakBytes)),
                            formatTime({memory->peakAt.ns}) + " since the trace's origin: of it");
        for (int c = 0; c < kMemoryCategoryCount; ++c) {
            const std::int64_t bytes = memory->atPeak[static_cast<std::size_t>(c)];
            if (bytes == 0) continue;
            text += fmt::format("    {:<22}{}\n", name(static_cast<MemoryCategory>(c)),
                                formatBytes(static_cast<double>(bytes)));
        }
    }
    if (!metrics.collectives.empty()) text += "\ncollectives\n";
    std::map<std::pair<CollectiveOp, std::string>, std::pair<int, int>> alike; // groups of one label: told, and all
    const auto keyOf = [](const CollectiveMetrics& each) { return std::pair(each.summary.operation, each.group); };
    for (const CollectiveMetrics& each : metrics.collectives) ++alike[keyOf(each)].second;
    for (const CollectiveMetrics& collective : metrics.collectives) {
        auto& [told, all] = alike[keyOf(collective)];
        const std::string which = all > 1 ? fmt::format(" (group {} of {})", ++told, all) : std::string();
        const CollectiveSummary& summary = collective.summary;
        std::optional<double> payload;
        if (summary.payloadBytes) payload = static_cast<double>(*summary.payloadBytes);
        std::string time = "requests only, the transfers are not in the trace";
        if (collective.alone)
            time = "of one rank: nothing is sent";
        else if (collective.wait)
            time =
                fmt::format("{}, waiting {}, busbw {}", formatTime(*collective.transfer), formatTime(*collective.wait),
                            orDash(collective.busBytesPerSecond, [](double rate) { return formatRate(rate, "B/s"); }));
        else if (collective.transfer)
            time = fmt::format("{} (wait and transfer)", formatTime(*collective.transfer));
        text += fmt::format("  {} in {}{}: {} x, payload {}, {}\n", name(summary.operation), collective.group, which,
                            formatCount(summary.count),
                            orDash(payload, [](double bytes) { return formatBytes(bytes); }), time);
    }
    if (!text.empty()) text.pop_back(); // the console ends the last line
    return text;
}

} // namespace fourwalls::cli
