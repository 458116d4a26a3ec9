// SPDX-License-Identifier: Apache-2.0
// See lowered_clocks.h.
#include "model/trace/lowered_clocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::array<std::pair<std::uint64_t, const char*>, 5> kCostly{{{0x4, "power cap"},
                                                                        {0x8, "hardware slowdown"},
                                                                        {0x20, "temperature (software)"},
                                                                        {0x40, "temperature (hardware)"},
                                                                        {0x80, "power brake"}}};
constexpr int kMostSamples = 2000; // of a rank; more are put together

struct RankClocks {
    std::vector<CounterSample> reasons, clocks;
};

std::uint64_t reasonsAt(const CounterSample& sample)
{
    // Bits of several samples that were put together: the greatest value is one that came.
    return sample.max >= 1 && sample.max < 1e15 ? costlyClockReasons(static_cast<std::uint64_t>(sample.max)) : 0;
}

/// The clock in force at an instant; 0: none was sampled before it.
double clockAt(const std::vector<CounterSample>& clocks, Instant at)
{
    const auto after = std::upper_bound(clocks.begin(), clocks.end(), at,
                                        [](Instant time, const CounterSample& sample) { return time < sample.at; });
    return after == clocks.begin() ? 0 : std::prev(after)->last;
}

/// One rank's part of the sums.
struct RankShare {
    double sampled = 0, lowered = 0, saved = 0, clockTime = 0; // [ns]; the last: clock times time
    Duration longest;
    TimeRange stretch;
};

RankShare clockShareOf(const RankClocks& rank, double fullClock, std::uint64_t& reasons)
{
    RankShare share;
    TimeRange run;
    for (std::size_t i = 0; i + 1 < rank.reasons.size(); ++i) {
        const CounterSample &sample = rank.reasons[i], &next = rank.reasons[i + 1];
        const auto time = static_cast<double>((next.at - sample.at).ns);
        share.sampled += time;
        const std::uint64_t costly = reasonsAt(sample);
        if (costly == 0) {
            run = {};
            continue;
        }
        const double clock = std::min(clockAt(rank.clocks, sample.at), fullClock);
        reasons |= costly;
        share.lowered += time;
        share.clockTime += clock * time;
        share.saved += (clock > 0 ? 1 - clock / fullClock : 0) * time;
        run = {run.empty() ? sample.at : run.begin, next.at};
        if (run.length() > share.longest) {
            share.longest = run.length();
            share.stretch = run;
        }
    }
    return share;
}

} // namespace

std::uint64_t costlyClockReasons(std::uint64_t reasons)
{
    std::uint64_t costly = 0;
    for (const auto& [bit, name] : kCostly) costly |= reasons & bit;
    return costly;
}

std::string clockReasonsText(std::uint64_t reasons)
{
    std::string text;
    for (const auto& [bit, name] : kCostly)
        if (reasons & bit) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

Result<std::optional<LoweredClocks>> loweredClocks(TraceQuery& trace)
{
    const TraceInfo& info = trace.info();
    if (info.range.empty()) return std::optional<LoweredClocks>();
    std::map<RankId, RankClocks> ranks;
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const CounterInfo& counter = info.counters[i];
        const bool isClock = counter.name == kClockCounter;
        if (!counter.rank || (!isClock && counter.name != kClockReasonsCounter)) continue;
        FOURWALLS_TRY_ASSIGN(auto samples,
                             trace.counter(CounterId{static_cast<std::int32_t>(i)}, info.range, kMostSamples));
        RankClocks& rank = ranks[*counter.rank];
        (isClock ? rank.clocks : rank.reasons) = std::move(samples);
    }
    LoweredClocks found;
    for (const auto& [id, rank] : ranks)
        for (const CounterSample& sample : rank.clocks) found.fullClock = std::max(found.fullClock, sample.max);
    if (!(found.fullClock > 0) || !std::isfinite(found.fullClock)) return std::optional<LoweredClocks>();
    double lowered = 0, most = 0;
    int sampled = 0;
    for (const auto& [id, rank] : ranks) {
        const RankShare share = clockShareOf(rank, found.fullClock, found.reasons);
        if (!(share.sampled > 0)) continue;
        ++sampled;
        found.samples += static_cast<std::int64_t>(rank.reasons.size());
        found.share += share.lowered / share.sampled;
        found.gain += share.saved / share.sampled;
        found.clock += share.clockTime;
        lowered += share.lowered;
        if (share.lowered > 0) found.ranks.push_back(id);
        if (share.lowered <= most) continue;
        most = share.lowered;
        found.most = id;
        found.longest = share.stretch;
    }
    if (!(lowered > 0)) return std::optional<LoweredClocks>();
    found.share /= sampled;
    found.gain /= sampled;
    found.clock /= lowered;
    return std::optional(found);
}

} // namespace fourwalls
