// SPDX-License-Identifier: Apache-2.0
// See flight_recorder.h. Source of the form: PyTorch, torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, dump_json.
#include "profiler/engine/comm/flight_recorder.h"

#include <algorithm>
#include <fstream>

namespace fourwalls::engine {

namespace {

std::int64_t unixNow()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool isMessage(CollectiveOp operation)
{
    return operation == CollectiveOp::Send || operation == CollectiveOp::Receive;
}

std::string listOf(const std::vector<RankId>& ranks)
{
    std::string text = "[";
    for (const RankId rank : ranks) text += (text.size() > 1 ? ", " : "") + std::to_string(rank.value);
    return text + ']';
}

std::string quoted(const std::string& text)
{
    return '"' + text + '"'; // names of groups and operations: letters, digits, brackets
}

std::string member(const char* key, const std::string& value)
{
    return quoted(key) + ": " + value;
}

std::string member(const char* key, std::int64_t value)
{
    return member(key, std::to_string(value));
}

} // namespace

int FlightRecorder::group(const std::string& name, const std::vector<RankId>& ranks)
{
    const std::lock_guard lock(m_mutex);
    m_groups.push_back({name, name + listOf(ranks), ranks, false, -1, -1, -1});
    return static_cast<int>(m_groups.size()) - 1;
}

void FlightRecorder::beginStep(std::int64_t step)
{
    const std::lock_guard lock(m_mutex);
    m_step = step;
    m_inStep = 0;
}

void FlightRecorder::hangAt(std::int64_t step, std::int64_t operation, std::function<void()> begins)
{
    const std::lock_guard lock(m_mutex);
    if (!m_hang || step < m_hang->step) m_hang = HangPoint{step, operation, std::move(begins)};
}

void FlightRecorder::release()
{
    const std::lock_guard lock(m_mutex);
    m_isReleased = true;
    m_released.notify_all();
}

bool FlightRecorder::isHangPoint()
{
    if (!m_hang || m_step < m_hang->step) return false;
    return m_step > m_hang->step || m_inStep >= m_hang->operation;
}

FlightRecorder::Record FlightRecorder::enter(int group, CollectiveOp operation, std::int64_t sequence,
                                             std::int64_t bytes, int from, int to)
{
    std::unique_lock lock(m_mutex);
    if (isHangPoint()) {
        if (m_hang->begins && !m_isReleased) m_hang->begins();
        m_released.wait(lock, [this] { return m_isReleased; });
    }
    ++m_inStep;
    if (m_isWritten) return kNoRecord;
    Group& of = m_groups[static_cast<std::size_t>(group)];
    if (isMessage(operation) && !of.hasMessages) {
        // From here on the group's counters are those of its messages.
        of.hasMessages = true;
        of.enqueued = of.started = of.completed = -1;
    }
    if (isMessage(operation))
        ++of.enqueued;
    else if (!of.hasMessages)
        of.enqueued = sequence;
    m_entries.push_back({m_next, group, from, to, operation, sequence, bytes, unixNow(), 0, 0,
                         std::chrono::steady_clock::now(), State::Scheduled});
    if (m_entries.size() > kKept) {
        const auto oldest = std::find_if(m_entries.begin(), m_entries.end(),
                                         [](const Entry& each) { return each.state == State::Completed; });
        if (oldest != m_entries.end()) m_entries.erase(oldest);
    }
    return m_next++;
}

FlightRecorder::Entry* FlightRecorder::find(Record record)
{
    const auto found = std::lower_bound(m_entries.begin(), m_entries.end(), record,
                                        [](const Entry& entry, Record id) { return entry.id < id; });
    return found != m_entries.end() && found->id == record ? &*found : nullptr;
}

void FlightRecorder::begin(Record record)
{
    const std::lock_guard lock(m_mutex);
    Entry* const entry = m_isWritten ? nullptr : find(record);
    if (!entry) return;
    entry->state = State::Started;
    entry->startedNs = unixNow();
    Group& of = m_groups[static_cast<std::size_t>(entry->group)];
    if (isMessage(entry->operation) == of.hasMessages) of.started = of.hasMessages ? of.started + 1 : entry->sequence;
}

void FlightRecorder::complete(Record record)
{
    const std::lock_guard lock(m_mutex);
    Entry* const entry = m_isWritten ? nullptr : find(record);
    if (!entry) return;
    entry->state = State::Completed;
    entry->completedNs = unixNow();
    Group& of = m_groups[static_cast<std::size_t>(entry->group)];
    if (isMessage(entry->operation) == of.hasMessages)
        of.completed = of.hasMessages ? of.completed + 1 : entry->sequence;
}

std::optional<std::string> FlightRecorder::openLongerThan(std::chrono::nanoseconds age) const
{
    const std::lock_guard lock(m_mutex);
    const auto now = std::chrono::steady_clock::now();
    for (const Entry& entry : m_entries) {
        if (now - entry.entered <= age) break; // the later ones are younger
        if (entry.state == State::Completed) continue;
        return nameOf(entry) + " #" + std::to_string(entry.sequence) + " of " +
               m_groups[static_cast<std::size_t>(entry.group)].unique;
    }
    return std::nullopt;
}

std::string FlightRecorder::nameOf(const Entry& entry) const
{
    if (entry.operation == CollectiveOp::Send)
        return "send " + std::to_string(entry.from) + "->" + std::to_string(entry.to);
    if (entry.operation == CollectiveOp::Receive)
        return "recv " + std::to_string(entry.to) + "<-" + std::to_string(entry.from);
    return std::string(name(entry.operation));
}

std::string FlightRecorder::text(std::chrono::milliseconds timeout) const
{
    std::string config, status, entries;
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        const Group& of = m_groups[g];
        if (of.ranks.size() < 2) continue;
        const std::string separator = config.empty() ? "\n" : ",\n";
        config += separator + "  " + quoted(of.unique) + ": {" + member("name", quoted(of.unique)) + ", " +
                  member("desc", quoted(of.name)) + ", " + member("ranks", quoted(listOf(of.ranks))) + "}";
        status += separator + "  " + quoted(std::to_string(g)) + ": {" +
                  member("last_enqueued_collective", of.enqueued) + ", " +
                  member("last_started_collective", of.started) + ", " +
                  member("last_completed_collective", of.completed) + "}";
    }
    constexpr const char* kStates[] = {"scheduled", "started", "completed"};
    for (const Entry& entry : m_entries) {
        const Group& of = m_groups[static_cast<std::size_t>(entry.group)];
        const bool message = isMessage(entry.operation);
        const std::string sizes = "[[" + std::to_string(entry.bytes) + "]]";
        entries += entries.empty() ? "\n  {" : ",\n  {";
        entries += member("record_id", entry.id) + ", " + member("pg_id", entry.group) + ", " +
                   member("process_group", "[" + quoted(of.unique) + ", " + quoted(of.name) + "]") + ", " +
                   member("collective_seq_id", message ? 0 : entry.sequence) + ", " +
                   member("p2p_seq_id", message ? entry.sequence : 0) + ", " + member("op_id", entry.id) + ", " +
                   member("profiling_name", quoted("gloo:" + nameOf(entry))) + ", " + member("input_sizes", sizes) +
                   ", " + member("output_sizes", sizes) + ", " + member("input_dtypes", "[\"Byte\"]") + ", " +
                   member("output_dtypes", "[\"Byte\"]") + ", " +
                   member("state", quoted(kStates[static_cast<int>(entry.state)])) + ", " +
                   member("time_created_ns", entry.createdNs) + ", " +
                   member("time_discovered_started_ns", entry.startedNs) + ", " +
                   member("time_discovered_completed_ns", entry.completedNs) + ", " +
                   member("timeout_ms", timeout.count()) + ", " + member("is_p2p", message ? "true" : "false") + "}";
    }
    return "{" + member("version", quoted("2.9")) + ",\n" + member("rank", m_rank.value) + ",\n" +
           member("time_dumped_ns", unixNow()) + ",\n" + member("pg_config", "{" + config + "}") + ",\n" +
           member("pg_status", "{" + status + "}") + ",\n" + member("entries", "[" + entries + "]") + "}\n";
}

Status FlightRecorder::write(const std::string& file, std::chrono::milliseconds timeout)
{
    const std::lock_guard lock(m_mutex);
    if (m_isWritten) return {};
    m_isWritten = true;
    std::ofstream out(file, std::ios::binary);
    out << text(timeout);
    out.flush();
    if (!out) return Error{ErrorCode::Io, "cannot be written", file, "check permissions and free space"};
    return {};
}

} // namespace fourwalls::engine
