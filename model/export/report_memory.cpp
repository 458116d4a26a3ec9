// SPDX-License-Identifier: Apache-2.0
// See report_memory.h.
#include "model/export/report_memory.h"

#include "model/base/format.h"
#include "model/export/svg_figures.h"
#include "model/trace/allocator_map.h"
#include "model/trace/saturating_sum.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fourwalls {

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr int kMemoryColumns = 600; ///< positions of the curve
constexpr int kMostShownSteps = 6;  ///< of the curve; of longer traces the step with the peak
constexpr std::size_t kMostBuffers = 2000, kMostReasons = 10, kMostRanks = 16, kMostMoments = 16;

class MemorySection {
public:
    MemorySection(TraceQuery& trace, const Redaction& redaction, const TraceMetrics& metrics,
                  const std::vector<StepUtilisation>& steps, ReportPage& page)
        : m_trace(trace)
        , m_info(trace.info())
        , m_redaction(redaction)
        , m_metrics(metrics)
        , m_steps(steps)
        , m_page(page)
    {}

    Status write()
    {
        m_page.section("Memory");
        const MemorySummary* const fullest = fullestRank();
        if (!fullest) {
            m_page.paragraph("The trace holds no buffers, so there is no memory curve.");
            return {};
        }
        const TimeRange range = memoryRange(fullest->peakAt);
        const double peak = static_cast<double>(fullest->peakBytes),
                     capacity = static_cast<double>(capacityOf(fullest->rank));
        std::string sentence = "Rank " + std::to_string(fullest->rank.value) +
                               " is the fullest one: " + formatBytes(peak) + " at its peak, " +
                               formatBytes(static_cast<double>(fullest->residentBytes)) + " stay after a step.";
        if (capacity > 0)
            sentence += " The device holds " + formatBytes(capacity) + ": the peak fills " +
                        formatPercent(peak / capacity) + " of it.";
        else
            sentence += " The device's capacity is not known.";
        m_page.paragraph(sentence);

        if (!range.empty()) FOURWALLS_TRY(memoryCurve(*fullest, range, capacity));
        Rows rows;
        for (int c = 0; c < kMemoryCategoryCount; ++c) {
            const auto i = static_cast<std::size_t>(c);
            if (fullest->categoryPeaks[i] == 0) continue;
            rows.push_back({spacedWords(name(static_cast<MemoryCategory>(c))),
                            formatBytes(static_cast<double>(fullest->atPeak[i])),
                            formatPercent(static_cast<double>(fullest->atPeak[i]) / peak),
                            formatBytes(static_cast<double>(fullest->categoryPeaks[i]))});
        }
        m_page.table({"category", "at the peak", "share", "own peak"}, rows);
        FOURWALLS_TRY(largestBuffers(*fullest));
        FOURWALLS_TRY(allocatorTable());
        ranksTable();
        return {};
    }

private:
    const MemorySummary* fullestRank() const
    {
        const auto most = std::max_element(m_metrics.memory.begin(), m_metrics.memory.end(),
                                           [](const auto& a, const auto& b) { return a.peakBytes < b.peakBytes; });
        return most == m_metrics.memory.end() || most->peakBytes <= 0 ? nullptr : &*most;
    }

    std::int64_t capacityOf(RankId rank) const
    {
        for (const RankInfo& info : m_info.header.ranks)
            if (info.rank == rank && info.memoryBytes > 0) return info.memoryBytes;
        return m_info.header.spec ? m_info.header.spec->cluster.deviceOfRank(rank.value).memoryBytes : 0;
    }

    /// What the curve shows: the whole trace, or of a long one the step with the peak.
    TimeRange memoryRange(Instant peak) const
    {
        if (m_info.stepCount > kMostShownSteps)
            for (const StepUtilisation& step : m_steps)
                if (step.range.begin <= peak && peak < step.range.end) return step.range;
        return m_info.range;
    }

    Status memoryCurve(const MemorySummary& summary, TimeRange range, double capacity)
    {
        FOURWALLS_TRY_ASSIGN(const MemoryWindow window, m_trace.memory(summary.rank, range, kMemoryColumns));
        StackedCurve curve;
        std::vector<std::pair<std::string, std::string>> key;
        for (int c = 0; c < kMemoryCategoryCount; ++c) {
            curve.styles.push_back('m' + std::to_string(c));
            if (summary.categoryPeaks[static_cast<std::size_t>(c)] > 0)
                key.emplace_back(curve.styles.back(), spacedWords(name(static_cast<MemoryCategory>(c))));
        }
        curve.end = range.length().seconds();
        for (const MemorySample& sample : window.samples) {
            std::vector<double> values;
            for (const std::int64_t bytes : sample.bytes) values.push_back(static_cast<double>(bytes));
            curve.samples.emplace_back((sample.at - range.begin).seconds(), std::move(values));
        }
        const double peak = static_cast<double>(summary.peakBytes);
        // A wall far above the curve would press it flat: the sentence above tells it instead.
        curve.top = 1.08 * (capacity > 0 && capacity <= 2 * peak ? std::max(peak, capacity) : peak);
        if (capacity > 0) curve.limit = capacity;
        if (range.begin <= summary.peakAt && summary.peakAt < range.end)
            curve.mark = (summary.peakAt - range.begin).seconds();
        for (const double tick : roundTicks(0, curve.top))
            curve.valueTicks.emplace_back(tick, tick > 0 ? formatBytes(tick) : "0");
        for (const double tick : roundTicks(0, curve.end, 6)) curve.positionTicks.emplace_back(tick, timeTick(tick));
        const bool wall = curve.limit && *curve.limit <= curve.top;
        m_page.figure(
            svgStackedCurve(curve, "live bytes by category over time"),
            std::string(range.length() == m_info.range.length() ? "The whole trace." : "The step with the peak.") +
                " The dashed line is the peak" + (wall ? ", the red one the device's capacity." : "."));
        m_page.key(key);
        return {};
    }

    /// By operator and category: thousands of buffers have a dozen reasons.
    Status largestBuffers(const MemorySummary& summary)
    {
        FOURWALLS_TRY_ASSIGN(const AllocationList alive, m_trace.aliveAt(summary.rank, summary.peakAt, kMostBuffers));
        struct Reason {
            std::int64_t bytes = 0, count = 0;
            std::set<std::int32_t> layers;
        };
        std::map<std::pair<std::string, std::string>, Reason> reasons;
        for (const AllocationView& buffer : alive.items) {
            std::string op = kReportDash;
            std::optional<LayerIndex> layer;
            if (buffer.op) {
                FOURWALLS_TRY_ASSIGN(const auto info, m_trace.op(*buffer.op));
                op = m_redaction.text(info->name);
                layer = info->layer;
            }
            Reason& reason = reasons[{op, spacedWords(name(buffer.category))}];
            addTo(reason.bytes, buffer.bytes);
            ++reason.count;
            if (layer) reason.layers.insert(layer->value);
        }
        std::vector<std::pair<std::pair<std::string, std::string>, Reason>> sorted(reasons.begin(), reasons.end());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& x, const auto& y) { return x.second.bytes > y.second.bytes; });
        if (sorted.size() > kMostReasons) sorted.resize(kMostReasons);
        if (sorted.empty()) return {};
        Rows rows;
        for (const auto& [words, reason] : sorted)
            rows.push_back({words.first, layersText(reason.layers), words.second, formatCount(reason.count),
                            formatBytes(static_cast<double>(reason.bytes))});
        const auto looked = static_cast<std::int64_t>(alive.items.size());
        m_page.paragraph("Who had asked for the " + formatCount(alive.totalCount) +
                         " buffers that were alive at the peak" +
                         (looked < alive.totalCount ? ", from the " + formatCount(looked) + " largest ones:" : ":"));
        m_page.table({"asked for by", "where", "category", "buffers", "together"}, rows);
        return {};
    }

    /// What a caching allocator held at the moments that matter.
    Status allocatorTable()
    {
        FOURWALLS_TRY_ASSIGN(const std::vector<AllocatorMoment> moments, allocatorMoments(m_trace));
        Rows rows;
        const auto bytes = [](std::int64_t count) { return formatBytes(static_cast<double>(count)); };
        for (const AllocatorMoment& moment : moments) {
            if (rows.size() == kMostMoments) break;
            const AllocatorFigures& figures = moment.figures;
            rows.push_back({"rank " + std::to_string(moment.rank.value), momentText(moment),
                            bytes(figures.reservedBytes), formatCount(figures.segments), bytes(figures.freeBytes),
                            bytes(figures.largestFree)});
        }
        if (rows.empty()) return {};
        m_page.paragraph("The caching allocator's segments, and what was free in them:");
        m_page.table({"", "moment", "reserved", "segments", "free in them", "largest hole"}, rows);
        m_page.more(moments.size(), rows.size(), "moments");
        return {};
    }

    /// "peak", or "out of memory: 2 GB wanted, free in pieces".
    static std::string momentText(const AllocatorMoment& moment)
    {
        if (moment.kind == AllocatorMoment::Kind::Peak) return "peak";
        if (moment.kind == AllocatorMoment::Kind::End) return "end";
        std::string text = "out of memory";
        if (!moment.refused || !moment.refused->askedBytes) return text;
        text += ": " + formatBytes(static_cast<double>(*moment.refused->askedBytes)) + " wanted";
        switch (refusalOf(*moment.refused, moment.figures)) {
        case Refusal::Fragmented: return text + ", free in pieces";
        case Refusal::Full: return text + ", less was free";
        case Refusal::Unknown: break;
        }
        return text;
    }

    void ranksTable()
    {
        if (m_metrics.memory.size() < 2) return;
        Rows rows;
        for (const MemorySummary& summary : m_metrics.memory) {
            if (rows.size() == kMostRanks) break;
            rows.push_back({"rank " + std::to_string(summary.rank.value),
                            formatBytes(static_cast<double>(summary.peakBytes)),
                            formatBytes(static_cast<double>(summary.residentBytes))});
        }
        m_page.table({"", "peak", "after a step"}, rows);
        m_page.more(m_metrics.memory.size(), rows.size(), "ranks");
    }

    TraceQuery& m_trace;
    const TraceInfo& m_info;
    const Redaction& m_redaction;
    const TraceMetrics& m_metrics;
    const std::vector<StepUtilisation>& m_steps;
    ReportPage& m_page;
};

} // namespace

Status addMemory(TraceQuery& trace, const Redaction& redaction, const TraceMetrics& metrics,
                 const std::vector<StepUtilisation>& steps, ReportPage& page)
{
    return MemorySection(trace, redaction, metrics, steps, page).write();
}

} // namespace fourwalls
