// SPDX-License-Identifier: Apache-2.0
// See lane_writer.h.
#include "model/import/common/lane_writer.h"

#include "model/import/common/kernel_class.h"
#include "model/trace/audit_counter.h"

#include <utility>

namespace fourwalls::importers {

bool LaneWriter::inRange(std::int64_t time) const
{
    return time >= -kLargestTimeNs && time <= kLargestTimeNs && time + m_shiftNs >= -kLargestTimeNs &&
           time + m_shiftNs <= kLargestTimeNs;
}

bool LaneWriter::slice(TrackId track, OpId op, std::int64_t start, std::int64_t end,
                       std::optional<std::int64_t> correlation)
{
    if (!inRange(start) || !inRange(end) || end - start > kLargestTimeNs) {
        ++m_outOfRange;
        return false;
    }
    SliceRecord record;
    record.track = track;
    record.op = op;
    record.start = at(start);
    record.duration = Duration{end - start};
    if (correlation) record.correlation = CorrelationId{*correlation};
    m_producer->slice(record);
    ++m_slices;
    return true;
}

void LaneWriter::arrow(const std::optional<Launch>& launch, const std::vector<TrackId>& tracks, TrackId track,
                       std::int64_t start)
{
    if (launch && inRange(launch->at) && static_cast<std::size_t>(launch->lane) < tracks.size())
        m_producer->flow({"launch", tracks[static_cast<std::size_t>(launch->lane)], at(launch->at), track, at(start)});
    else
        ++m_withoutLaunch;
}

void LaneWriter::collective(RankId rank, TrackId track, std::int64_t start, std::int64_t end, std::string_view name,
                            const CollectiveDetail& detail, CollectiveOp operation)
{
    CollectiveMember member;
    member.rank = rank;
    member.groupKey = m_collectives.group(detail, name);
    CollectiveRecord& record = member.record;
    record.track = track;
    record.start = record.lastArrival = at(start);
    record.end = at(end);
    record.operation = operation;
    record.payloadBytes = payloadOf(detail, operation);
    if (record.payloadBytes) record.wireBytes = wireBytes(operation, *record.payloadBytes, detail.groupSize);
    if (detail.peer) record.peer = RankId{*detail.peer};
    record.algorithm = std::string(algorithmOf(name));
    record.protocol = std::string(protocolOf(name));
    if (detail.sequence) {
        record.sequence = *detail.sequence;
        member.hasSequence = true;
    }
    m_collectives.add(std::move(member));
}

void LaneWriter::auditLanes()
{
    auditCount(m_sink, AuditCounter::ImportSlices, m_slices);
    auditCount(m_sink, AuditCounter::WorkWithoutLaunch, m_withoutLaunch);
    auditCount(m_sink, AuditCounter::DetailsLeftOut, m_names.droppedDetails());
    auditCount(m_sink, AuditCounter::NamesWithoutNumbers, m_names.shortenedNames());
    auditCount(m_sink, AuditCounter::TimeOutOfRange, m_outOfRange, "rows whose times or sizes cannot be");
}

} // namespace fourwalls::importers
