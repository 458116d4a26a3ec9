// SPDX-License-Identifier: Apache-2.0
// See collective_log.h.
#include "profiler/engine/gpu/collective_log.h"

#include "profiler/engine/comm/operation_run.h"

#include <algorithm>

namespace fourwalls::engine {

void ArrivalBoard::tell(int group, std::int64_t sequence, Instant arrival)
{
    const std::lock_guard lock(m_mutex);
    Entry& entry = m_entries[{group, sequence}];
    entry.latest = entry.told == 0 ? arrival : std::max(entry.latest, arrival);
    ++entry.told;
}

std::optional<Instant> ArrivalBoard::last(int group, std::int64_t sequence, int members)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_entries.find({group, sequence});
    if (found == m_entries.end() || found->second.told < members) return std::nullopt;
    const Instant latest = found->second.latest;
    if (++found->second.taken == members) m_entries.erase(found);
    return latest;
}

Instant ArrivalBoard::latest(int group, std::int64_t sequence) const
{
    const std::lock_guard lock(m_mutex);
    return m_entries.at({group, sequence}).latest;
}

CollectiveLog::CollectiveLog(Recorder& rank, GpuStream& compute, GpuStream* beside, const WorldOptions& options,
                             ArrivalBoard& board)
    : m_rank(rank)
    , m_compute(compute)
    , m_beside(beside)
    , m_originNs(options.origin.monotonicNs)
    , m_board(board)
    , m_blocking(options.sink, rank.rank(), options.origin)
    , m_started(options.sink, rank.rank(), options.origin, Recorder::Role::CommunicationThread)
{
    rank.alsoSettle([this](const Recorder::MarkTimes& times) { settle(times); });
}

void CollectiveLog::settle(const Recorder::MarkTimes& computeTimes)
{
    const bool anyStarted = std::ranges::any_of(m_asked, &Operation::started);
    if (anyStarted) m_beside->resolveMarks(m_marks);
    const auto at = [&](const Operation& operation, std::uint32_t mark) {
        return operation.started ? Instant{m_marks.at(mark) - m_originNs} : computeTimes(mark);
    };
    for (Operation& operation : m_asked) {
        operation.record.start = at(operation, operation.from);
        operation.record.end = at(operation, operation.to);
        m_board.tell(operation.group.number, operation.record.sequence, operation.record.start);
        m_timed.push_back(std::move(operation));
    }
    m_asked.clear();
    std::erase_if(m_timed, [this](Operation& operation) {
        const auto last = m_board.last(operation.group.number, operation.record.sequence, operation.group.members);
        if (last) record(operation, *last);
        return last.has_value();
    });
}

void CollectiveLog::record(Operation& operation, Instant lastArrival)
{
    Recorder& recorder = operation.started ? m_started : m_blocking;
    CollectiveRecord& record = operation.record;
    record.track = recorder.communicationTrack();
    // Clocks of two GPUs are read within microseconds of each other.
    record.lastArrival = std::clamp(lastArrival, record.start, record.end);
    recorder.setPlace(operation.place);
    recordCollective(recorder, record, operation.group.acrossStages);
}

void CollectiveLog::close()
{
    for (Operation& operation : m_timed)
        record(operation, m_board.latest(operation.group.number, operation.record.sequence));
    m_timed.clear();
    m_blocking.close();
    m_started.close();
}

} // namespace fourwalls::engine
