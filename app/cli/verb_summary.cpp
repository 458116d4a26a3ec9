// SPDX-License-Identifier: Apache-2.0
// `summary`: what ran, by name, kind, layer, stream, rank or phase, for the trace, some steps or a range of time.
#include "app/cli/open_input.h"
#include "app/cli/ranges.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/trace/range_statistics.h"
#include "model/trace/short_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

class SummaryVerb : public Verb {
public:
    const char* name() const override { return "summary"; }
    const char* summary() const override
    {
        return "what ran: counts, sums and spread of durations by name, kind, rank …";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli summary run.fourwalls --kind kernel\n"
               "  fourwalls-cli summary run.fourwalls --steps 2-4 --by layer\n"
               "  fourwalls-cli summary run.fourwalls --range 1.5s:1.6s --ranks 0 --by stream --json";
    }
    Arguments arguments() override
    {
        std::vector<std::string> groupings, kinds;
        for (int i = 0; i < kRangeGroupingCount; ++i)
            groupings.emplace_back(fourwalls::name(static_cast<RangeGrouping>(i)));
        for (int i = 0; i < kSliceKindCount; ++i) kinds.emplace_back(fourwalls::name(static_cast<SliceKind>(i)));
        return {Argument("FILE", &m_file, "a trace").required(),
                {"--steps", &m_steps, "A-B or one step, as the trace numbers them"},
                {"--range", &m_range, "A:B since the trace's origin, with ns (default), us, ms or s"},
                {"--ranks", &m_ranks, "ranks that count: 0,2-3 (default: all)"},
                Argument("--kind", &m_kind, "only what is of this kind").oneOf(kinds),
                Argument("--by", &m_by, "what makes a line").oneOf(groupings),
                {"--limit", &m_limit, "lines, those with the most own time first; 0: all"}};
    }

    int run(Console& console) override
    {
        if (!m_steps.empty() && !m_range.empty())
            return console.wrongUsage(wrongArgument("--steps", "excludes --range", "one of them"));
        if (m_limit < 0) return console.wrongUsage(wrongArgument("--limit", "must be 0 or more", "--limit 20"));
        std::optional<TimeRange> range;
        std::optional<std::pair<StepIndex, StepIndex>> steps;
        std::set<RankId> ranks;
        const Status options = readOptions(range, steps, ranks);
        if (!options.ok()) return console.wrongUsage(options.error());
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        auto found = read(**trace, range, steps, ranks);
        if (!found) return console.fail(found.error());
        if (!m_kind.empty()) keepKind(*found);
        for (int i = 0; i < kRangeGroupingCount; ++i)
            if (m_by == fourwalls::name(static_cast<RangeGrouping>(i))) m_grouping = static_cast<RangeGrouping>(i);
        std::vector<RangeRow> rows = groupRange(*found, (*trace)->tracks(), m_grouping);
        const std::size_t all = rows.size();
        if (m_limit > 0 && rows.size() > static_cast<std::size_t>(m_limit))
            rows.resize(static_cast<std::size_t>(m_limit));
        return console.json() ? console.answerJson(jsonOf(**trace, *found, rows, all))
                              : console.answerText(textOf(**trace, *found, rows, all));
    }

private:
    Status readOptions(std::optional<TimeRange>& range, std::optional<std::pair<StepIndex, StepIndex>>& steps,
                       std::set<RankId>& ranks) const
    {
        if (!m_range.empty()) {
            FOURWALLS_TRY_ASSIGN(range, readTimeRange(m_range));
        }
        if (!m_steps.empty()) {
            FOURWALLS_TRY_ASSIGN(steps, readStepRange(m_steps));
        }
        if (!m_ranks.empty()) {
            FOURWALLS_TRY_ASSIGN(const std::vector<RankId> list, readRanks(m_ranks));
            ranks.insert(list.begin(), list.end());
        }
        return {};
    }

    Result<RangeStatistics> read(TraceQuery& trace, std::optional<TimeRange> range,
                                 const std::optional<std::pair<StepIndex, StepIndex>>& steps,
                                 const std::set<RankId>& ranks) const
    {
        if (steps) {
            FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> all, trace.jobSteps());
            for (const JobStep& step : all) {
                if (step.step < steps->first || step.step > steps->second) continue;
                range = range
                            ? TimeRange{std::min(range->begin, step.range.begin), std::max(range->end, step.range.end)}
                            : step.range;
            }
            if (!range) return Error{ErrorCode::NotFound, "no such step", "--steps", "fourwalls-cli steps lists them"};
        }
        if (!range) range = TimeRange{trace.info().range.begin, trace.info().range.end + Duration{1}};
        std::vector<TrackId> tracks;
        std::set<RankId> known;
        for (const TrackView& track : trace.tracks()) {
            known.insert(track.info.rank);
            if (track.slices > 0 && (ranks.empty() || ranks.contains(track.info.rank))) tracks.push_back(track.id);
        }
        for (const RankId rank : ranks)
            if (!known.contains(rank))
                return Error{ErrorCode::NotFound, fmt::format("no rank {}", rank.value), "--ranks",
                             "fourwalls-cli info says which there are"};
        const StopSignals signals;
        Progress progress("reading");
        return rangeStatistics(
            trace, tracks, *range, nullptr,
            [&progress](const RangeStatistics& sofar) {
                progress(static_cast<double>(sofar.tracks) / static_cast<double>(sofar.askedTracks));
            },
            signals.token());
    }

    void keepKind(RangeStatistics& statistics) const
    {
        std::erase_if(statistics.entries, [&](const RangeEntry& entry) {
            return fourwalls::name(statistics.ops.at(entry.op)->kind) != m_kind;
        });
        statistics.count = 0;
        statistics.self = {};
        for (const RangeEntry& entry : statistics.entries) {
            statistics.count += entry.count;
            statistics.self += entry.self;
        }
    }

    std::string nameOf(const TraceQuery& trace, const RangeStatistics& statistics, const RangeRow& row) const
    {
        const OpInfo& op = *statistics.ops.at(row.op);
        switch (m_grouping) {
        case RangeGrouping::Name: return row.text;
        case RangeGrouping::Kind: return std::string(fourwalls::name(op.kind));
        case RangeGrouping::Phase: return std::string(fourwalls::name(op.phase));
        case RangeGrouping::Layer: return op.layer ? fmt::format("layer {}", op.layer->value) : "none";
        case RangeGrouping::Stream: return row.text;
        case RangeGrouping::Rank:
            return fmt::format("rank {}", trace.tracks()[static_cast<std::size_t>(row.track.value)].info.rank.value);
        }
        return {};
    }

    json jsonOf(const TraceQuery& trace, const RangeStatistics& statistics, const std::vector<RangeRow>& rows,
                std::size_t all) const
    {
        json object{{"begin_ns", statistics.range.begin.ns},
                    {"end_ns", statistics.range.end.ns},
                    {"by", fourwalls::name(m_grouping)},
                    {"slices", statistics.count},
                    {"self_ns", statistics.self.ns},
                    {"tracks", statistics.tracks},
                    {"busy_ns", m_kind.empty() ? json(statistics.busy.ns) : json(nullptr)},
                    {"lines", all},
                    {"rows", json::array()}};
        for (const RangeRow& row : rows)
            object["rows"].push_back({{"name", nameOf(trace, statistics, row)},
                                      {"kind", fourwalls::name(statistics.ops.at(row.op)->kind)},
                                      {"count", row.count},
                                      {"total_ns", row.total.ns},
                                      {"self_ns", row.self.ns},
                                      {"share", row.share},
                                      {"min_ns", row.spread.shortest.ns},
                                      {"p50_ns", row.spread.median.ns},
                                      {"p99_ns", row.spread.percentile99.ns},
                                      {"max_ns", row.spread.longest.ns},
                                      {"exact", row.exact}});
        return object;
    }

    std::string textOf(const TraceQuery& trace, const RangeStatistics& statistics, const std::vector<RangeRow>& rows,
                       std::size_t all) const
    {
        std::vector<std::string> names;
        names.reserve(rows.size());
        for (const RangeRow& row : rows) names.push_back(nameOf(trace, statistics, row));
        if (m_grouping == RangeGrouping::Name) names = shortNames(names);
        // An operator and its kernel may have one name. Names last, so that none is cut.
        const bool saysKind = m_grouping == RangeGrouping::Name && m_kind.empty();
        const auto kindOf = [&](std::string_view kind) { return saysKind ? fmt::format("{:<14}", kind) : ""; };
        std::string text =
            fmt::format("{} slices on {} tracks, {}\n\n{:>10}{:>12}{:>12}{:>8}{:>11}{:>11}{:>11}  {}{}\n",
                        statistics.count, statistics.tracks, formatTime(statistics.range.length()), "count", "total",
                        "self", "share", "min", "p50", "p99", kindOf("kind"), fourwalls::name(m_grouping));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const RangeRow& row = rows[i];
            text +=
                fmt::format("{:>10}{:>12}{:>12}{:>7.1f}%{:>11}{:>11}{:>11}  {}{}\n", row.count, formatTime(row.total),
                            formatTime(row.self), 100 * row.share, formatTime(row.spread.shortest),
                            formatTime(row.spread.median), formatTime(row.spread.percentile99),
                            kindOf(fourwalls::name(statistics.ops.at(row.op)->kind)), names[i]);
        }
        if (all > rows.size()) text += fmt::format("and {} more lines (--limit 0)\n", all - rows.size());
        text.pop_back(); // the console ends the last line
        return text;
    }

    std::string m_file, m_steps, m_range, m_ranks, m_kind, m_by = "name";
    int m_limit = 30;
    RangeGrouping m_grouping = RangeGrouping::Name;
};

} // namespace

std::unique_ptr<Verb> makeSummaryVerb()
{
    return std::make_unique<SummaryVerb>();
}

} // namespace fourwalls::cli
