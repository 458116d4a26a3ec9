// SPDX-License-Identifier: Apache-2.0
// See allocator_report.h.
#include "app/cli/allocator_report.h"

#include "model/base/format.h"

#include <fmt/format.h>

#include <optional>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

std::string bytesText(std::int64_t bytes)
{
    return formatBytes(static_cast<double>(bytes));
}

const char* momentWord(AllocatorMoment::Kind kind)
{
    switch (kind) {
    case AllocatorMoment::Kind::Peak: return "peak";
    case AllocatorMoment::Kind::End: return "end";
    case AllocatorMoment::Kind::OutOfMemory: break;
    }
    return "out_of_memory";
}

json bytesOrNull(const std::optional<std::int64_t>& bytes)
{
    return bytes ? json(*bytes) : json(nullptr);
}

std::string refusalText(const AllocatorMoment& moment)
{
    if (!moment.refused || !moment.refused->askedBytes) return {};
    const std::string asked = bytesText(*moment.refused->askedBytes);
    const AllocatorFigures& figures = moment.figures;
    switch (refusalOf(*moment.refused, figures)) {
    case Refusal::Fragmented:
        return fmt::format("; {} could not be served although {} were free: the largest hole was {}", asked,
                           bytesText(figures.freeBytes + moment.refused->freeBytes.value_or(0)),
                           bytesText(figures.largestFree));
    case Refusal::Full: return fmt::format("; {} could not be served: less was free altogether", asked);
    case Refusal::Unknown: break;
    }
    return fmt::format("; {} could not be served", asked);
}

} // namespace

json allocatorJson(const std::vector<AllocatorMoment>& moments)
{
    json list = json::array();
    for (const AllocatorMoment& moment : moments) {
        const AllocatorFigures& figures = moment.figures;
        json entry{{"rank", moment.rank.value},
                   {"moment", momentWord(moment.kind)},
                   {"at_ns", moment.at.ns},
                   {"segments", figures.segments},
                   {"reserved_bytes", figures.reservedBytes},
                   {"cut_bytes", figures.cutBytes},
                   {"requested_bytes", figures.requestedBytes},
                   {"awaited_bytes", figures.awaitedBytes},
                   {"free_bytes", figures.freeBytes},
                   {"largest_free_bytes", figures.largestFree},
                   {"fragmentation", fragmentation(figures)},
                   {"outside_bytes", figures.outsideBytes}};
        if (moment.refused) {
            const Refusal because = refusalOf(*moment.refused, figures);
            entry["asked_bytes"] = bytesOrNull(moment.refused->askedBytes);
            entry["device_free_bytes"] = bytesOrNull(moment.refused->freeBytes);
            entry["refused_because"] = because == Refusal::Fragmented ? json("fragmented")
                                       : because == Refusal::Full     ? json("full")
                                                                      : json(nullptr);
        }
        list.push_back(std::move(entry));
    }
    return list;
}

std::string allocatorText(const std::vector<AllocatorMoment>& moments)
{
    std::string text;
    for (const AllocatorMoment& moment : moments) {
        const AllocatorFigures& figures = moment.figures;
        const char* when = moment.kind == AllocatorMoment::Kind::Peak  ? "at the peak"
                           : moment.kind == AllocatorMoment::Kind::End ? "at the end"
                                                                       : "out of memory";
        text += fmt::format("{:<26}{} reserved in {} segments, {} free in them, largest hole {}{}\n",
                            fmt::format("rank {}, {}", moment.rank.value, when), bytesText(figures.reservedBytes),
                            figures.segments, bytesText(figures.freeBytes), bytesText(figures.largestFree),
                            refusalText(moment));
    }
    return text.empty() ? text : "allocator\n" + text;
}

} // namespace fourwalls::cli
