// SPDX-License-Identifier: Apache-2.0
// From the audit.
#include "app/cli/trace_clocks_report.h"

#include "model/base/format.h"
#include "model/trace/audit_counter.h"

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
    for (const AuditRecord& record : info.audit) {
        const bool offset = isCounter(record, AuditCounter::ClockOffset);
        if (!offset && !isCounter(record, AuditCounter::ClockResidual)) continue;
        const std::string_view of = memberOf(record);
        int rank = -1;
        std::from_chars(of.data(), of.data() + of.size(), rank);
        if (rank < 0) continue;
        if (offset)
            clocks[rank].offsetNs = record.count;
        else
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
