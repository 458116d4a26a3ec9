// SPDX-License-Identifier: Apache-2.0
// Operations from names, states that can be trusted, and counters given to the groups that they are of.
#include "model/import/hang/flight_dump_builder.h"

#include "model/import/hang/flight_dump_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace fourwalls::importers {

namespace {

using diagnose::FlightDump;
using diagnose::FlightGroup;
using diagnose::FlightOp;
using diagnose::FlightRecord;
using diagnose::FlightState;

constexpr std::array<std::pair<std::string_view, FlightField>, 19> kFields{{
    {"record_id", FlightField::RecordId},
    {"pg_id", FlightField::GroupId},
    {"collective_seq_id", FlightField::CollectiveSequence},
    {"p2p_seq_id", FlightField::TransferSequence},
    {"seq_id", FlightField::OldSequence},
    {"op_id", FlightField::OperationId},
    {"profiling_name", FlightField::Name},
    {"input_sizes", FlightField::InputSizes},
    {"output_sizes", FlightField::OutputSizes},
    {"input_dtypes", FlightField::InputTypes},
    {"output_dtypes", FlightField::OutputTypes},
    {"state", FlightField::State},
    {"time_created_ns", FlightField::Created},
    {"time_discovered_completed_ns", FlightField::Completed},
    {"timeout_ms", FlightField::Timeout},
    {"retired", FlightField::Retired},
    {"is_p2p", FlightField::IsTransfer},
    {"frames", FlightField::Frames},
    {"process_group", FlightField::Group},
}};

/// What a name says, longer names first where one holds another.
constexpr std::array<std::pair<std::string_view, FlightOp>, 15> kOperations{{
    {"barrier", FlightOp::Barrier},
    {"reduce_scatter", FlightOp::ReduceScatter},
    {"all_reduce", FlightOp::AllReduce},
    {"allreduce", FlightOp::AllReduce},
    {"all_gather", FlightOp::AllGather},
    {"allgather", FlightOp::AllGather},
    {"all_to_all", FlightOp::AllToAll},
    {"alltoall", FlightOp::AllToAll},
    {"broadcast", FlightOp::Broadcast},
    {"reduce", FlightOp::Reduce},
    {"gather", FlightOp::Gather},
    {"scatter", FlightOp::Scatter},
    {"send", FlightOp::Send},
    {"recv", FlightOp::Receive},
    {"receive", FlightOp::Receive},
}};

FlightOp operationOf(std::string_view name)
{
    for (const auto& [part, op] : kOperations)
        if (name.find(part) != std::string_view::npos) return op;
    return FlightOp::Other;
}

std::optional<int> takeNumber(std::string_view& text)
{
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// "nccl:send 0->3", "nccl:recv 3<-0": from the sender to the receiver.
void readEnds(std::string_view name, FlightRecord& record)
{
    const auto space = name.rfind(' ');
    if (space == std::string_view::npos) return;
    std::string_view rest = name.substr(space + 1);
    const auto left = takeNumber(rest);
    const bool backward = rest.starts_with("<-");
    if (!left || (!backward && !rest.starts_with("->"))) return;
    rest.remove_prefix(2);
    const auto right = takeNumber(rest);
    if (!right) return;
    record.from = backward ? *right : *left;
    record.to = backward ? *left : *right;
}

std::vector<int> ranksOf(std::string_view list)
{
    constexpr std::size_t kMostRanks = std::size_t{1} << 20;
    std::vector<int> ranks;
    while (!list.empty() && ranks.size() < kMostRanks) {
        const auto number = takeNumber(list);
        if (number)
            ranks.push_back(*number);
        else
            list.remove_prefix(1);
    }
    return ranks;
}

std::int64_t integerOf(const FlightValue& value, std::int64_t otherwise = -1)
{
    const auto* number = std::get_if<std::int64_t>(&value);
    return number ? *number : otherwise;
}

bool isLibraryFrame(std::string_view file)
{
    return file.find("/torch/") != std::string_view::npos || file.starts_with("<");
}

} // namespace

FlightField flightField(std::string_view key)
{
    for (const auto& [name, field] : kFields)
        if (name.size() == key.size() && name == key) return field;
    return FlightField::None;
}

FlightDumpBuilder::FlightDumpBuilder(std::string file, int rank)
{
    m_dump.file = std::move(file);
    m_dump.rank = rank;
    textId("");
}

std::uint32_t FlightDumpBuilder::textId(std::string text)
{
    const auto [found, isNew] = m_texts.try_emplace(std::move(text), static_cast<std::uint32_t>(m_dump.texts.size()));
    if (isNew) m_dump.texts.push_back(found->first);
    return found->second;
}

std::int32_t FlightDumpBuilder::groupNamed(std::string_view name, std::string_view description)
{
    const auto [found, isNew] =
        m_groups.try_emplace(std::string(name), static_cast<std::int32_t>(m_dump.groups.size()));
    if (isNew) m_dump.groups.push_back({std::string(name), std::string(description), {}, {}, {}, {}});
    return found->second;
}

void FlightDumpBuilder::configure(std::string_view name, std::string_view description, std::string_view ranks)
{
    FlightGroup& group = m_dump.groups[static_cast<std::size_t>(groupNamed(name, description))];
    group.ranks = ranksOf(ranks);
}

void FlightDumpBuilder::status(std::string_view id, std::string_view key, const FlightValue& value)
{
    std::int64_t number = 0;
    if (std::from_chars(id.data(), id.data() + id.size(), number).ec != std::errc{}) return;
    std::optional<std::int64_t> count;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) count = *integer;
    if (const auto* text = std::get_if<std::string>(&value)) {
        std::int64_t read = 0;
        if (std::from_chars(text->data(), text->data() + text->size(), read).ec == std::errc{}) count = read;
    }
    FlightGroup& counters = m_status[number];
    if (key == "last_enqueued_collective") counters.enqueued = count;
    if (key == "last_started_collective") counters.started = count;
    if (key == "last_completed_collective") counters.completed = count;
}

void FlightDumpBuilder::beginRecord()
{
    m_record = {};
    m_groupId = m_collective = m_transfer = m_operation = -1;
    m_completedNs = m_timeoutMs = 0;
    m_isTransfer = m_hasId = m_isRetired = false;
    m_name.clear();
    m_state.clear();
    m_stack.clear();
    for (std::string& list : m_lists) list.clear();
}

void FlightDumpBuilder::field(FlightField field, FlightValue value)
{
    const std::int64_t number = integerOf(value);
    std::string* const text = std::get_if<std::string>(&value);
    switch (field) {
    case FlightField::RecordId:
        m_record.id = number;
        m_hasId = number >= 0;
        break;
    case FlightField::GroupId: m_groupId = number; break;
    case FlightField::OldSequence:
        if (m_collective < 0) m_collective = number;
        break;
    case FlightField::CollectiveSequence: m_collective = number; break;
    case FlightField::TransferSequence: m_transfer = number; break;
    case FlightField::OperationId: m_operation = number; break;
    case FlightField::Created: m_record.createdNs = std::max<std::int64_t>(0, number); break;
    case FlightField::Completed: m_completedNs = std::max<std::int64_t>(0, number); break;
    case FlightField::Timeout: m_timeoutMs = std::max<std::int64_t>(0, number); break;
    case FlightField::IsTransfer: m_isTransfer = number == 1; break;
    case FlightField::Retired: m_isRetired = number == 1; break;
    case FlightField::Name:
        if (text) m_name = std::move(*text);
        break;
    case FlightField::State:
        if (text) m_state = std::move(*text);
        break;
    default:
        if (text && isListField(field))
            m_lists[static_cast<std::size_t>(field) - static_cast<std::size_t>(FlightField::InputSizes)] =
                std::move(*text);
        break;
    }
}

void FlightDumpBuilder::group(std::string_view name, std::string_view description)
{
    m_record.group = groupNamed(name, description);
}

void FlightDumpBuilder::frame(std::string_view function, std::string_view file, const FlightValue& line)
{
    // Innermost first: the first frame outside of the framework is the user's.
    if (!m_stack.empty() || isLibraryFrame(file)) return;
    m_stack = std::string(function) + " (" + std::string(file) + ":" + std::to_string(integerOf(line, 0)) + ")";
}

void FlightDumpBuilder::endRecord()
{
    // Dumps of PyTorch 2.3 name a group by its number alone.
    if (m_record.group < 0 && m_groupId >= 0) m_record.group = groupNamed(std::to_string(m_groupId), "");
    m_record.op = operationOf(m_name);
    m_isTransfer = m_isTransfer || diagnose::isTransfer(m_record.op);
    const std::int64_t sequence = m_isTransfer && m_transfer > 0 ? m_transfer : m_collective;
    if (!m_hasId || m_record.group < 0 || m_name.empty() || sequence < 0) {
        ++m_dump.unreadable;
        return;
    }
    m_record.sequence = sequence;
    if (m_state == "started") m_record.state = FlightState::Started;
    // What was finished after the timeout was finished by the abort.
    const bool aborted = m_timeoutMs > 0 && m_completedNs > 0 && m_record.createdNs > 0 &&
                         m_completedNs - m_record.createdNs >= m_timeoutMs * 1'000'000;
    // Gloo has no events that would tell the state: what left its queue of work is over. Watchdogs of devices' libraries
    // ask for the state before they take an operation out, so there "scheduled" is true of those that were given up.
    const bool isOver = m_isRetired && m_name.starts_with("gloo:");
    if ((m_state == "completed" || isOver) && !aborted) m_record.state = FlightState::Completed;
    if (m_isTransfer) readEnds(m_name, m_record);
    if (m_groupId >= 0) m_groupOfId[m_groupId] = m_record.group;
    m_record.name = textId(m_name);
    m_record.sizes = textId(m_lists[0] + " -> " + m_lists[1]);
    m_record.types = textId(m_lists[2] + " -> " + m_lists[3]);
    m_record.stack = textId(m_stack);
    m_dump.records.push_back(m_record);
    m_operationIds.push_back(m_operation);
}

void FlightDumpBuilder::settleCoalesced()
{
    // Transfers that were issued together stay "scheduled" for ever: the record that closes them has their state.
    std::map<std::pair<std::int32_t, std::int64_t>, FlightState> closing;
    for (std::size_t i = 0; i < m_dump.records.size(); ++i)
        if (m_dump.records[i].op == FlightOp::Other &&
            m_dump.texts[m_dump.records[i].name].find("coalesced") != std::string::npos && m_operationIds[i] >= 0)
            closing[{m_dump.records[i].group, m_operationIds[i]}] = m_dump.records[i].state;
    if (closing.empty()) return;
    std::map<std::pair<std::int32_t, std::int64_t>, bool> hasParts;
    for (std::size_t i = 0; i < m_dump.records.size(); ++i) {
        FlightRecord& record = m_dump.records[i];
        if (record.op == FlightOp::Other) continue;
        const auto key = std::pair(record.group, m_operationIds[i]);
        const auto found = closing.find(key);
        if (found == closing.end()) continue;
        record.state = found->second;
        hasParts[key] = true;
    }
    // The closing record of open transfers leaves no gap, which would stand for something finished.
    std::size_t kept = 0;
    std::int64_t closed = 0;
    for (std::size_t i = 0; i < m_dump.records.size(); ++i) {
        FlightRecord record = m_dump.records[i];
        record.id -= closed;
        if (record.op == FlightOp::Other && hasParts.count({record.group, m_operationIds[i]}) > 0)
            closed += record.state != FlightState::Completed;
        else
            m_dump.records[kept++] = record;
    }
    m_dump.records.resize(kept);
}

void FlightDumpBuilder::settleStatus()
{
    // A process counts its groups for itself. Groups without a record are matched by order, where the counts agree and
    // the records do not contradict.
    const auto byNumber = [&](std::int32_t a, std::int32_t b) {
        const std::string& left = m_dump.groups[static_cast<std::size_t>(a)].name;
        const std::string& right = m_dump.groups[static_cast<std::size_t>(b)].name;
        return std::pair(left.size(), left) < std::pair(right.size(), right);
    };
    std::vector<std::int32_t> groups(m_dump.groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<std::int32_t>(i);
    std::sort(groups.begin(), groups.end(), byNumber);
    std::map<std::int64_t, std::int32_t> groupOfId = m_groupOfId;
    if (groups.size() == m_status.size()) {
        std::map<std::int64_t, std::int32_t> ordered;
        std::size_t next = 0;
        bool agrees = true;
        for (const auto& [id, counters] : m_status) {
            ordered[id] = groups[next++];
            const auto known = m_groupOfId.find(id);
            agrees = agrees && (known == m_groupOfId.end() || known->second == ordered[id]);
        }
        if (agrees) groupOfId = std::move(ordered);
    }
    for (const auto& [id, counters] : m_status) {
        const auto found = groupOfId.find(id);
        if (found == groupOfId.end()) continue;
        FlightGroup& group = m_dump.groups[static_cast<std::size_t>(found->second)];
        group.enqueued = counters.enqueued;
        group.started = counters.started;
        group.completed = counters.completed;
    }
}

void FlightDumpBuilder::leaveOldOut()
{
    std::size_t finished = 0;
    for (const FlightRecord& record : m_dump.records) finished += record.state == FlightState::Completed;
    if (finished <= kFinishedKept) return;
    std::size_t excess = finished - kFinishedKept;
    std::erase_if(m_dump.records, [&](const FlightRecord& record) {
        if (record.state != FlightState::Completed || excess == 0) return false;
        --excess;
        return true;
    });
}

void FlightDumpBuilder::sortRecords()
{
    std::vector<std::size_t> order(m_dump.records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return m_dump.records[a].id < m_dump.records[b].id; });
    std::vector<FlightRecord> records;
    std::vector<std::int64_t> operations;
    for (const std::size_t i : order) {
        records.push_back(m_dump.records[i]);
        operations.push_back(m_operationIds[i]);
    }
    m_dump.records = std::move(records);
    m_operationIds = std::move(operations);
}

FlightDump FlightDumpBuilder::finish()
{
    sortRecords();
    settleCoalesced();
    settleStatus();
    leaveOldOut();
    return std::move(m_dump);
}

} // namespace fourwalls::importers
