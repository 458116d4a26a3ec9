// SPDX-License-Identifier: Apache-2.0
// Reads the audit records clock_offset_ns_rank_N and clock_residual_ns_rank_N.
#include "app/cli/trace_clocks_report.h"

#include "model/base/format.h"

#include <charconv>
#include <map>
#include <optional>

namespace fourwalls::cli {

namespace {

struct RankClock {
    std::int64_t offsetNs = 0;
    std::optional<std::int64_t> residualNs;
};

std::map<int, RankClock> clocksOf(const TraceInfo& info)
{
    std::map<int, RankClock> clocks;
    const auto rankAfter = [](const std::string& name, std::string_view prefix) {
        int rank = -1;
        if (name.compare(0, prefix.size(), prefix) == 0)
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), rank);
        return rank;
    };
    for (const AuditRecord& record : info.audit) {
        if (const int rank = rankAfter(record.name, "clock_offset_ns_rank_"); rank >= 0)
            clocks[rank].offsetNs = record.count;
        if (const int rank = rankAfter(record.name, "clock_residual_ns_rank_"); rank >= 0)
            clocks[rank].residualNs = record.count;
    }
    return clocks;
}

} // namespace

nlohmann::json clocksJson(const TraceInfo& info)
{
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [rank, clock] : clocksOf(info))
        list.push_back(
            {{"rank", rank},
             {"offset_ns", clock.offsetNs},
             {"residual_ns", clock.residualNs ? nlohmann::json(*clock.residualNs) : nlohmann::json(nullptr)}});
    return list;
}

std::vector<std::string> clocksText(const TraceInfo& info)
{
    std::vector<std::string> lines;
    for (const auto& [rank, clock] : clocksOf(info)) {
        std::string line = "rank " + std::to_string(rank) + ": ";
        line += clock.offsetNs == 0 ? "the run's own" : formatTime(Duration{clock.offsetNs}) + " added";
        if (clock.residualNs) line += ", residual " + formatTime(Duration{*clock.residualNs});
        lines.push_back(std::move(line));
    }
    return lines;
}

} // namespace fourwalls::cli
