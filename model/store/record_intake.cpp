// SPDX-License-Identifier: Apache-2.0
// One case per kind of record.
#include "model/store/record_intake.h"

namespace fourwalls::store {

bool RecordIntake::keepSpan(std::int64_t start, std::int64_t duration)
{
    if (!validSpan(start, duration)) {
        ++m_invalid;
        return false;
    }
    m_batch.cover(start, start + duration);
    return true;
}

bool RecordIntake::keepTime(std::int64_t at)
{
    return keepSpan(at, 0);
}

void RecordIntake::take(const WordHead& head, WordQueue::Reader& in)
{
    switch (head.kind) {
    case WordKind::Slice: return takeSlice(head, in);
    case WordKind::Allocation: return takeAllocation(head, in);
    case WordKind::Free: return takeFree(head, in);
    case WordKind::Counter: return takeCounter(head, in);
    case WordKind::Collective: return takeCollective(head, in);
    case WordKind::Flow: return takeFlow(head, in);
    case WordKind::Step: return takeStep(head, in);
    case WordKind::Event: return takeEvent(head, in);
    }
}

void RecordIntake::takeSlice(const WordHead& head, WordQueue::Reader& in)
{
    SliceRow row;
    const auto [op, microbatch] = takePair(in);
    row.op = op;
    if (head.flags & 1) row.microbatch = microbatch;
    row.start = takeInteger(in);
    row.duration = takeInteger(in);
    if (head.flags & 2) row.correlation = takeInteger(in);
    if (op < 0)
        ++m_invalid;
    else if (keepSpan(row.start, row.duration))
        m_batch.add(BatchKind::Slices, head.id, row);
}

void RecordIntake::takeAllocation(const WordHead& head, WordQueue::Reader& in)
{
    AllocationEvent row;
    row.buffer = takeInteger(in);
    row.at = takeInteger(in);
    row.bytes = takeInteger(in);
    row.address = takeInteger(in);
    const auto [op, microbatch] = takePair(in);
    if (head.flags & 1) row.op = op;
    if (head.flags & 2) row.microbatch = microbatch;
    row.category = static_cast<MemoryCategory>(head.small);
    if (head.small >= kMemoryCategoryCount)
        ++m_invalid;
    else if (keepTime(row.at))
        m_batch.add(BatchKind::Allocations, head.id, row);
}

void RecordIntake::takeFree(const WordHead& head, WordQueue::Reader& in)
{
    AllocationEvent row;
    row.free = true;
    row.buffer = takeInteger(in);
    row.at = takeInteger(in);
    if (keepTime(row.at)) m_batch.add(BatchKind::Allocations, head.id, row);
}

void RecordIntake::takeCounter(const WordHead& head, WordQueue::Reader& in)
{
    CounterRow row;
    row.at = takeInteger(in);
    row.value = takeReal(in);
    if (keepTime(row.at)) m_batch.add(BatchKind::Counters, head.id, row);
}

void RecordIntake::takeCollective(const WordHead& head, WordQueue::Reader& in)
{
    CollectiveRow row;
    row.track = head.id;
    row.operation = head.small;
    row.start = takeInteger(in);
    row.lastArrival = takeInteger(in);
    row.end = takeInteger(in);
    const auto [group, peer] = takePair(in);
    row.group = group;
    if (head.flags & 1) row.peer = peer;
    row.sequence = takeInteger(in);
    row.payloadBytes = takeInteger(in);
    row.wireBytes = takeInteger(in);
    const auto [algorithm, protocol] = takePair(in);
    row.algorithm = algorithm;
    row.protocol = protocol;
    if (group < 0 || row.track < 0 || !validTime(row.end) || !validTime(row.lastArrival))
        ++m_invalid;
    else if (keepSpan(row.start, row.end - row.start))
        m_batch.add(BatchKind::Collectives, head.id, row);
}

void RecordIntake::takeFlow(const WordHead& head, WordQueue::Reader& in)
{
    FlowRow row;
    row.fromTrack = head.id;
    const auto [kind, toTrack] = takePair(in);
    row.kind = kind;
    row.toTrack = toTrack;
    row.from = takeInteger(in);
    row.to = takeInteger(in);
    if (row.fromTrack < 0 || toTrack < 0 || !validTime(row.from) || !validTime(row.to))
        ++m_invalid;
    else
        m_batch.add(BatchKind::Flows, 0, row);
}

void RecordIntake::takeStep(const WordHead& head, WordQueue::Reader& in)
{
    StepRecord row;
    row.step = StepIndex(static_cast<std::int32_t>(takeInteger(in)));
    row.range.begin.ns = takeInteger(in);
    row.range.end.ns = takeInteger(in);
    const double loss = takeReal(in), rate = takeReal(in), norm = takeReal(in);
    if (head.flags & 1) row.loss = loss;
    if (head.flags & 2) row.learningRate = rate;
    if (head.flags & 4) row.gradientNorm = norm;
    row.state = static_cast<StepState>((head.flags >> 3) & 7);
    row.samples = takeInteger(in);
    row.tokens = takeInteger(in);
    if (!validTime(row.range.begin.ns) || !validTime(row.range.end.ns))
        ++m_invalid;
    else if (keepSpan(row.range.begin.ns, row.range.length().ns))
        m_batch.add(BatchKind::Steps, head.id, row);
}

void RecordIntake::takeEvent(const WordHead& head, WordQueue::Reader& in)
{
    EventRow row;
    row.kind = head.small;
    if (head.flags & 1) row.rank = head.id;
    row.at = takeInteger(in);
    const std::int64_t text = takeInteger(in);
    row.text = m_textOf(text);
    if (keepTime(row.at)) m_batch.add(BatchKind::Events, 0, row);
}

} // namespace fourwalls::store
