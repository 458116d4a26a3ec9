// SPDX-License-Identifier: Apache-2.0
// The sweeps over allocation events.
#include "model/trace/memory_curve.h"

#include <algorithm>

namespace fourwalls {

std::vector<MemoryEvent> memoryEvents(std::span<const AllocationView> allocations)
{
    std::vector<MemoryEvent> events;
    events.reserve(allocations.size() * 2);
    for (const AllocationView& allocation : allocations) {
        if (allocation.end && *allocation.end <= allocation.start) continue;
        events.push_back({allocation.start, allocation.bytes, allocation.category});
        if (allocation.end) events.push_back({*allocation.end, -allocation.bytes, allocation.category});
    }
    std::sort(events.begin(), events.end(), memoryEventOrder);
    return events;
}

std::vector<MemorySample> memoryCurve(std::span<const MemoryEvent> events)
{
    std::vector<MemorySample> curve;
    MemorySample now;
    for (std::size_t i = 0; i < events.size();) {
        now.at = events[i].at;
        for (; i < events.size() && events[i].at == now.at; ++i)
            now.bytes[static_cast<std::size_t>(events[i].category)] += events[i].delta;
        curve.push_back(now);
    }
    return curve;
}

std::vector<MemorySample> reduceMemory(std::span<const MemorySample> curve, TimeRange range, int pixels)
{
    std::vector<MemorySample> reduced;
    if (range.empty() || pixels < 1) return reduced;
    const auto isAfter = [](Instant at, const MemorySample& sample) { return at < sample.at; };
    auto next = std::upper_bound(curve.begin(), curve.end(), range.begin, isAfter);
    MemorySample first;
    if (next != curve.begin()) first = *(next - 1);
    first.at = range.begin;
    reduced.push_back(first);
    const double width = static_cast<double>(range.length().ns) / pixels;
    const auto columnOf = [&](Instant at) {
        return static_cast<std::int64_t>(static_cast<double>((at - range.begin).ns) / width);
    };
    while (next != curve.end() && next->at < range.end) {
        const std::int64_t column = columnOf(next->at);
        auto largest = next;
        auto last = next;
        for (; next != curve.end() && next->at < range.end && columnOf(next->at) == column; ++next) {
            if (next->total() > largest->total()) largest = next;
            last = next;
        }
        reduced.push_back(*largest);
        if (last != largest) reduced.push_back(*last);
    }
    return reduced;
}

MemorySummarizer::MemorySummarizer(RankId rank, std::span<const StepRecord> steps)
{
    std::vector<StepRecord> sorted(steps.begin(), steps.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const StepRecord& a, const StepRecord& b) { return a.range.begin < b.range.begin; });
    Window whole;
    whole.summary.rank = rank;
    whole.range = {Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
    bool measured = false;
    for (const StepRecord& step : sorted) {
        if (!step.measured()) continue;
        if (!measured) whole.range = step.range;
        whole.range.end = std::max(whole.range.end, step.range.end);
        measured = true;
    }
    m_windows.push_back(whole);
    for (const StepRecord& step : sorted) {
        Window window;
        window.range = step.range;
        window.summary.rank = rank;
        window.summary.step = step.step;
        m_windows.push_back(window);
    }
    for (std::size_t i = 0; i < m_windows.size(); ++i) m_waiting.push_back(i);
    std::stable_sort(m_waiting.begin(), m_waiting.end(), [this](std::size_t a, std::size_t b) {
        return m_windows[a].range.begin > m_windows[b].range.begin;
    });
}

void MemorySummarizer::observe(Window& window, Instant at) const
{
    if (at >= window.range.end) return;
    MemorySummary& summary = window.summary;
    if (!window.started || m_total > summary.peakBytes) {
        summary.peakBytes = m_total;
        summary.peakAt = at;
        summary.atPeak = m_live;
    }
    for (std::size_t c = 0; c < m_live.size(); ++c) {
        summary.categoryPeaks[c] = window.started ? std::max(summary.categoryPeaks[c], m_live[c]) : m_live[c];
    }
    window.started = true;
}

/// Windows that begin before `before` see what is live at their begin.
void MemorySummarizer::startWindows(Instant before)
{
    while (!m_waiting.empty() && m_windows[m_waiting.back()].range.begin < before) {
        Window& window = m_windows[m_waiting.back()];
        // The window over everything has no begin of its own: nothing is live before the first event.
        const bool unbounded = window.range.begin.ns == -kLargestTimeNs;
        if (!unbounded) observe(window, window.range.begin);
        m_active.push_back(m_waiting.back());
        m_waiting.pop_back();
    }
}

/// Windows that are over before `next` is applied keep what is live now as their resident part. Frees at a window's
/// very end still belong to it, allocations there do not.
void MemorySummarizer::endWindows(const MemoryEvent& next)
{
    std::erase_if(m_active, [&](std::size_t index) {
        Window& window = m_windows[index];
        const bool over = window.range.end < next.at || (window.range.end == next.at && next.delta > 0);
        if (over) window.summary.residentBytes = m_total;
        return over;
    });
}

void MemorySummarizer::closeInstant()
{
    if (!m_changed) return;
    m_changed = false;
    for (const std::size_t index : m_active) observe(m_windows[index], m_now);
}

void MemorySummarizer::add(const MemoryEvent& event)
{
    if (event.at > m_now) {
        closeInstant();
        startWindows(event.at);
    }
    endWindows(event);
    m_now = event.at;
    // Windows that begin at this very instant see it after all its events, like those that are already open.
    while (!m_waiting.empty() && m_windows[m_waiting.back()].range.begin == event.at) {
        m_active.push_back(m_waiting.back());
        m_waiting.pop_back();
    }
    m_live[static_cast<std::size_t>(event.category)] += event.delta;
    m_total += event.delta;
    m_changed = true;
}

std::vector<MemorySummary> MemorySummarizer::finish()
{
    closeInstant();
    startWindows(Instant{kLargestTimeNs});
    for (const std::size_t index : m_active) m_windows[index].summary.residentBytes = m_total;
    m_active.clear();
    summarizeReserved();
    std::vector<MemorySummary> summaries;
    summaries.reserve(m_windows.size());
    for (const Window& window : m_windows) summaries.push_back(window.summary);
    return summaries;
}

void MemorySummarizer::summarizeReserved()
{
    std::stable_sort(m_reserved.begin(), m_reserved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto behind = [this](Instant at) {
        return std::upper_bound(m_reserved.begin(), m_reserved.end(), at,
                                [](Instant t, const auto& sample) { return t < sample.first; });
    };
    for (Window& window : m_windows) {
        auto sample = behind(window.range.begin);
        if (sample != m_reserved.begin()) --sample; // holds when the window begins
        auto& peak = window.summary.peakReservedBytes;
        for (; sample != m_reserved.end() && sample->first < window.range.end; ++sample)
            peak = std::max(peak.value_or(sample->second), sample->second);
    }
}

} // namespace fourwalls
