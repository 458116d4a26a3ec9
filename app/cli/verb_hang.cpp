// SPDX-License-Identifier: Apache-2.0
// `hang`: which ranks a hung job waits for, and why, from the dumps of its flight recorders.
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/diagnose/hang_report.h"
#include "model/import/hang/flight_dump_reader.h"

#include <fmt/format.h>

namespace fourwalls::cli {

namespace {

using diagnose::HangPlace;
using diagnose::HangReport;
using nlohmann::json;

json sequenceOf(const HangPlace& place)
{
    return place.sequence ? json(*place.sequence) : json(nullptr);
}

json groupOf(const HangPlace& place)
{
    return place.group.empty() ? json(nullptr) : json(place.group);
}

json textOrNull(const std::string& text)
{
    return text.empty() ? json(nullptr) : json(text);
}

json suspectsOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::HangSuspect& suspect : report.suspects)
        list.push_back({{"rank", suspect.rank},
                        {"group", groupOf(suspect.place)},
                        {"group_description", textOrNull(suspect.place.description)},
                        {"operation", textOrNull(suspect.place.operation)},
                        {"sequence", sequenceOf(suspect.place)},
                        {"reason", diagnose::name(suspect.reason)},
                        {"because", suspect.because},
                        {"confidence", diagnose::name(suspect.confidence)},
                        {"stack", textOrNull(suspect.stack)}});
    return list;
}

json oneOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::HangSet& set : report.sets)
        list.push_back({{"ranks", set.ranks},
                        {"group", groupOf(set.place)},
                        {"group_description", textOrNull(set.place.description)},
                        {"operation", textOrNull(set.place.operation)},
                        {"sequence", sequenceOf(set.place)},
                        {"because", set.because}});
    return list;
}

json groupsOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::HangDivergence& group : report.divergences)
        list.push_back({{"name", group.group},
                        {"description", group.description},
                        {"ranks", group.ranks},
                        {"first_divergence",
                         {{"sequence", group.sequence},
                          {"operation", textOrNull(group.operation)},
                          {"finished", group.finished},
                          {"entered", group.entered},
                          {"not_entered", group.notEntered},
                          {"unknown", group.unknown}}}});
    return list;
}

json chainOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::HangWaiting& waiting : report.chain) list.push_back(sentenceOf(waiting));
    return list;
}

json waitsOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::HangWaiting& waiting : report.chain)
        list.push_back({{"ranks", waiting.ranks},
                        {"waits_for", waiting.waitsFor},
                        {"group", groupOf(waiting.place)},
                        {"group_description", textOrNull(waiting.place.description)},
                        {"operation", textOrNull(waiting.place.operation)},
                        {"sequence", sequenceOf(waiting.place)}});
    return list;
}

json frontsOf(const HangReport& report)
{
    const auto numbers = [](const std::vector<std::optional<std::int64_t>>& values) {
        json list = json::array();
        for (const auto& value : values) list.push_back(value ? json(*value) : json(nullptr));
        return list;
    };
    json list = json::array();
    for (const diagnose::HangFront& front : report.fronts)
        list.push_back({{"group", front.group},
                        {"description", front.description},
                        {"counts_transfers", front.countsTransfers},
                        {"ranks", front.ranks},
                        {"entered", numbers(front.entered)},
                        {"started", numbers(front.started)},
                        {"completed", numbers(front.completed)}});
    return list;
}

json stacksOf(const HangReport& report)
{
    json stacks = json::object();
    for (const auto& [rank, stack] : report.stacks) stacks[std::to_string(rank)] = stack;
    return stacks;
}

json rasOf(const HangReport& report)
{
    json list = json::array();
    for (const diagnose::RasNote& note : report.ras)
        list.push_back(
            {{"communicator", textOrNull(note.communicator)}, {"ranks", note.ranks}, {"because", note.because}});
    return list;
}

std::string textOf(const HangReport& report)
{
    std::string text;
    for (const diagnose::HangSuspect& suspect : report.suspects) {
        text += fmt::format("rank {} ({}): {}\n", suspect.rank, diagnose::name(suspect.confidence), suspect.because);
        for (std::size_t at = 0; at < suspect.stack.size();) {
            const std::size_t end = std::min(suspect.stack.find('\n', at), suspect.stack.size());
            text += "    " + suspect.stack.substr(at, end - at) + "\n";
            at = end + 1;
        }
    }
    for (const diagnose::HangSet& set : report.sets)
        text += fmt::format("one or more of ranks {}: {}\n", diagnose::rankList(set.ranks), set.because);
    if (report.suspects.empty() && report.sets.empty() && (!report.ranks.empty() || report.ras.empty()))
        text += fmt::format("nobody is named: the dumps of {} ranks show no operation that waits for one of them\n",
                            report.ranks.size());
    for (const diagnose::HangWaiting& waiting : report.chain) text += "  " + sentenceOf(waiting) + "\n";
    for (const diagnose::RasNote& note : report.ras) text += "NCCL RAS: " + sentenceOf(note) + "\n";
    if (!report.unreadable.empty())
        text += fmt::format("not read (damaged): the dumps of ranks {}\n", diagnose::rankList(report.unreadable));
    if (report.unreadableRecords > 0)
        text +=
            fmt::format("left out: {} records that could not be understood\n", formatCount(report.unreadableRecords));
    if (report.contradictingGroups > 0)
        text += fmt::format("the dumps do not agree on the members of {} groups: are they of one job?\n",
                            formatCount(report.contradictingGroups));
    text.pop_back();
    return text;
}

class HangVerb : public Verb {
public:
    const char* name() const override { return "hang"; }
    const char* summary() const override { return "which ranks a hung job waits for, and why"; }
    const char* examples() const override
    {
        return "  fourwalls-cli hang dumps/\n"
               "  fourwalls-cli hang dumps/_dump_* --json | jq '.suspects'\n"
               "DUMPS are what PyTorch's flight recorder writes on a timeout (a pickle or JSON for each rank), or a\n"
               "folder of them. Stacks from py-spy or faulthandler beside them, named after the rank (stack_3.txt), "
               "are\n"
               "shown with it, as is what NCCL says of the job (ncclras > ras.txt). Nothing in a pickle is executed.";
    }
    Arguments arguments() override
    {
        return {Argument("DUMPS", &m_paths, "dumps of all ranks, or their folder").required()};
    }

    int run(Console& console) override
    {
        const StopSignals signals;
        Progress progress("reading dumps");
        const auto dumps = importers::readFlightDumps(
            m_paths, [&progress](double fraction) { progress(fraction); }, signals.token());
        auto ras = importers::readRasNotes(m_paths);
        if (!ras) return console.fail(ras.error());
        // Without dumps a report of RAS still says something.
        if (!dumps && (ras->empty() || dumps.error().code != ErrorCode::InvalidArgument))
            return console.fail(dumps.error());
        HangReport report = diagnose::analyseHang(dumps ? *dumps : std::vector<diagnose::FlightDump>());
        report.ras = std::move(*ras);
        if (!console.json()) return console.answerText(textOf(report));
        return console.answerJson({{"suspects", suspectsOf(report)},
                                   {"one_of", oneOf(report)},
                                   {"chain", chainOf(report)},
                                   {"waits", waitsOf(report)},
                                   {"groups", groupsOf(report)},
                                   {"fronts", frontsOf(report)},
                                   {"stacks", stacksOf(report)},
                                   {"ras", rasOf(report)},
                                   {"ranks", report.ranks},
                                   {"missing", report.missing},
                                   {"unreadable", report.unreadable},
                                   {"records", report.records},
                                   {"unreadable_records", report.unreadableRecords},
                                   {"contradicting_groups", report.contradictingGroups}});
    }

private:
    std::vector<std::string> m_paths;
};

} // namespace

std::unique_ptr<Verb> makeHangVerb()
{
    return std::make_unique<HangVerb>();
}

} // namespace fourwalls::cli
