// SPDX-License-Identifier: Apache-2.0
// See expert_load.h.
#include "model/trace/expert_load.h"

#include "model/trace/collective_timing.h"
#include "model/trace/group_label.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace fourwalls {

namespace {

constexpr std::array kCapacityFactors{1.0, 1.25, 1.5, 2.0};
constexpr std::int64_t kMostExperts = 4096;     ///< in a layer; counters of more are no experts
constexpr std::size_t kMostExchanges = 200'000; ///< collectives of a rank that are looked at

/// The lowest rank of those that exchange tokens; of a rank that keeps its own, itself.
using Exchange = std::int32_t;
/// One pass through a layer: what the experts of one exchange do at once.
using PassOfLayer = std::tuple<Exchange, std::int32_t /* layer */, std::int32_t /* micro-batch */>;

/// A run of the layer's operator.
struct LayerRun {
    TimeRange range;
    std::int32_t layer = 0, microbatch = -1;
};

/// Of one rank in one pass, forward and backward.
struct RankLoad {
    double tokens = 0, products = 0; ///< [ns]
};

struct ExpertCounter {
    CounterId id;
    std::int64_t expert = 0;
};

std::map<RankId, std::vector<ExpertCounter>> expertCounters(const TraceInfo& info)
{
    std::map<RankId, std::vector<ExpertCounter>> counters;
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const CounterInfo& counter = info.counters[i];
        if (!counter.rank || !counter.name.starts_with(kExpertTokens)) continue;
        const char* begin = counter.name.data() + kExpertTokens.size();
        const char* end = counter.name.data() + counter.name.size();
        std::int64_t expert = -1;
        const auto [last, failure] = std::from_chars(begin, end, expert);
        if (failure != std::errc{} || last != end || expert < 0 || expert >= kMostExperts) continue;
        counters[*counter.rank].push_back({CounterId{static_cast<std::int32_t>(i)}, expert});
    }
    return counters;
}

struct Groups {
    std::map<RankId, Exchange> exchanges; ///< of ranks whose group has others
    std::set<RankId> repeats;             ///< see the same tokens as the first rank of their tensor group
};

Groups groupsOf(const TraceInfo& info)
{
    Groups groups;
    for (const ProcessGroupInfo& group : info.groups) {
        if (group.ranks.size() < 2) continue;
        const GroupPurpose purpose = purposeOfGroup(group.name);
        const RankId first = *std::min_element(group.ranks.begin(), group.ranks.end());
        for (const RankId rank : group.ranks) {
            if (purpose == GroupPurpose::Expert) groups.exchanges.emplace(rank, first.value);
            if (purpose == GroupPurpose::Tensor && rank != first) groups.repeats.insert(rank);
        }
    }
    return groups;
}

class ExpertCollector {
public:
    ExpertCollector(TraceQuery& trace, ExpertLoad& result, std::int64_t mostRows, std::stop_token stop)
        : m_trace(trace)
        , m_result(result)
        , m_groups(groupsOf(trace.info()))
        , m_mostRows(mostRows)
        , m_stop(std::move(stop))
    {}

    Status add(RankId rank, TimeRange step, const std::vector<ExpertCounter>& counters)
    {
        const auto group = m_groups.exchanges.find(rank);
        const bool exchanges = group != m_groups.exchanges.end();
        m_result.exchanged |= exchanges;
        const Exchange exchange = exchanges ? group->second : rank.value;
        ExpertRank own{rank, static_cast<std::int64_t>(counters.size()), 0, {}, {}};
        FOURWALLS_TRY(readOperators(rank, step, exchange, own));
        for (const ExpertCounter& counter : counters) {
            FOURWALLS_TRY_ASSIGN(const std::vector<CounterSample> samples,
                                 m_trace.counter(counter.id, step, std::numeric_limits<int>::max()));
            for (const CounterSample& sample : samples)
                if (step.contains(sample.at)) addTokens(exchange, counter.expert, sample, own);
        }
        if (exchanges) FOURWALLS_TRY(readWaiting(step, own));
        m_result.ranks.push_back(own);
        return {};
    }

    void finish()
    {
        std::map<std::int32_t, ExpertLayer> layers;
        std::array<double, kCapacityFactors.size()> dropped{};
        double all = 0;
        for (const auto& [pass, tokens] : m_tokens) {
            ExpertLayer& layer = layers[std::get<1>(pass)];
            layer.layer = std::get<1>(pass);
            if (layer.tokens.size() < tokens.size()) layer.tokens.resize(tokens.size(), 0.0);
            const double sum = std::accumulate(tokens.begin(), tokens.end(), 0.0);
            all += sum;
            for (std::size_t e = 0; e < tokens.size(); ++e) {
                layer.tokens[e] += tokens[e];
                for (std::size_t f = 0; f < kCapacityFactors.size(); ++f)
                    dropped[f] +=
                        std::max(0.0, tokens[e] - kCapacityFactors[f] * sum / static_cast<double>(tokens.size()));
            }
        }
        for (auto& [number, layer] : layers) m_result.layers.push_back(std::move(layer));
        if (all > 0)
            for (std::size_t f = 0; f < kCapacityFactors.size(); ++f)
                m_result.drops.push_back({kCapacityFactors[f], dropped[f] / all});
        std::map<Exchange, double> lost;
        for (const auto& [pass, loads] : m_loads) {
            double most = 0, sum = 0, time = 0;
            for (const auto& [rank, load] : loads) {
                most = std::max(most, load.tokens);
                sum += load.tokens;
                time += load.products;
            }
            if (sum > 0) lost[std::get<0>(pass)] += time * (most / sum - 1 / static_cast<double>(loads.size()));
        }
        for (const auto& [exchange, time] : lost)
            if (m_result.exchanged) m_result.lost = std::max(m_result.lost, Duration{std::llround(time)});
    }

private:
    /// Where the layer's passes begin and end, and how long the experts take.
    Status readOperators(RankId rank, TimeRange step, Exchange exchange, ExpertRank& own)
    {
        m_runs.clear();
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_trace.tracks())
            if (track.info.rank == rank && track.info.kind == TrackKind::Operators) tracks.push_back(track.id);
        FOURWALLS_TRY_ASSIGN(const BoundedSlices slices, boundedSlices(m_trace, tracks, step, m_mostRows, m_stop));
        m_result.shortest = std::max(m_result.shortest, slices.shortest);
        for (const LaneSlices& lane : slices.lanes)
            for (const SliceView& slice : lane.exact) {
                const OpInfo& op = *slices.ops.at(slice.op);
                if (!op.layer || slice.start < step.begin || slice.start >= step.end) continue;
                const std::int32_t microbatch = slice.microbatch ? slice.microbatch->value : -1;
                if (op.name == kExpertDispatch)
                    m_runs.push_back({{slice.start, slice.end()}, op.layer->value, microbatch});
                if (op.name != kExpertProducts) continue;
                own.products += slice.duration;
                m_loads[{exchange, op.layer->value, microbatch}][rank].products +=
                    static_cast<double>(slice.duration.ns);
            }
        std::sort(m_runs.begin(), m_runs.end(),
                  [](const LayerRun& a, const LayerRun& b) { return a.range.begin < b.range.begin; });
        return {};
    }

    void addTokens(Exchange exchange, std::int64_t expert, const CounterSample& sample, ExpertRank& own)
    {
        const auto after = std::upper_bound(m_runs.begin(), m_runs.end(), sample.at,
                                            [](Instant at, const LayerRun& run) { return at < run.range.begin; });
        if (after == m_runs.begin() || std::prev(after)->range.end < sample.at) return;
        const LayerRun& run = *std::prev(after);
        own.tokens += sample.last;
        m_loads[{exchange, run.layer, run.microbatch}][own.rank].tokens += sample.last;
        if (m_groups.repeats.contains(own.rank)) return;
        std::vector<double>& tokens = m_tokens[{exchange, run.layer, run.microbatch}];
        if (tokens.size() <= static_cast<std::size_t>(expert)) tokens.resize(static_cast<std::size_t>(expert) + 1, 0.0);
        tokens[static_cast<std::size_t>(expert)] += sample.last;
    }

    Status readWaiting(TimeRange step, ExpertRank& own)
    {
        const TraceInfo& info = m_trace.info();
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> rows,
                             m_trace.collectives(own.rank, step, kMostExchanges));
        for (const CollectiveView& row : rows) {
            const CollectiveRecord& record = row.record;
            const auto group = static_cast<std::size_t>(record.group.value);
            if (record.operation != CollectiveOp::AllToAll || group >= info.groups.size()) continue;
            if (purposeOfGroup(info.groups[group].name) != GroupPurpose::Expert) continue;
            if (collectiveTiming(info, record.group, record.operation) != CollectiveTiming::Separated) continue;
            own.waited += std::max(Duration{}, record.lastArrival - record.start);
        }
        return {};
    }

    TraceQuery& m_trace;
    ExpertLoad& m_result;
    Groups m_groups;
    std::int64_t m_mostRows;
    std::stop_token m_stop;
    std::vector<LayerRun> m_runs; ///< of the rank that is read, by time
    std::map<PassOfLayer, std::vector<double>> m_tokens;
    std::map<PassOfLayer, std::map<RankId, RankLoad>> m_loads;
};

} // namespace

double ExpertLayer::total() const
{
    return std::accumulate(tokens.begin(), tokens.end(), 0.0);
}

double ExpertLayer::mostOverMean() const
{
    const double all = total();
    if (all <= 0) return 0;
    return *std::max_element(tokens.begin(), tokens.end()) * static_cast<double>(tokens.size()) / all;
}

std::size_t ExpertLoad::expertCount() const
{
    std::size_t most = 0;
    for (const ExpertLayer& layer : layers) most = std::max(most, layer.tokens.size());
    return most;
}

double ExpertLoad::mostOverMean() const
{
    double most = 0;
    for (const ExpertLayer& layer : layers) most = std::max(most, layer.mostOverMean());
    return most;
}

Result<ExpertLoad> expertLoad(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop,
                              std::int64_t mostRows)
{
    ExpertLoad result;
    FOURWALLS_TRY_ASSIGN(result.window, stepWindow(trace, wanted));
    const std::map<RankId, std::vector<ExpertCounter>> counters = expertCounters(trace.info());
    const auto looked = static_cast<std::int64_t>(std::clamp<std::size_t>(counters.size(), 1, kMostRanksAnalysed));
    ExpertCollector collector(trace, result, std::max<std::int64_t>(1, mostRows / looked), stop);
    for (const auto& [rank, own] : counters) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        const auto step = result.window.ranks.find(rank);
        if (step == result.window.ranks.end()) continue;
        if (result.ranks.size() == kMostRanksAnalysed) {
            ++result.ranksLeftOut;
            continue;
        }
        FOURWALLS_TRY(collector.add(rank, step->second, own));
    }
    collector.finish();
    return result;
}

} // namespace fourwalls
