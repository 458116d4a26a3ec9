// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of a recording's BLOBs.
#include "model/store/record_batch.h"

#include "model/store/slice_coding.h"

namespace fourwalls::store {
namespace {

void putTime(BatchEncoder& out, std::int64_t at)
{
    putSigned(out.bytes, wrappingSub(at, out.previous));
    out.previous = at;
}

/// 0 is absent; a value is its zigzag form plus one.
void putOptional(std::string& out, std::int64_t value)
{
    if (value == kAbsent)
        putVarint(out, 0);
    else
        putVarint(out, zigzag(value) + 1);
}

void putOptional(std::string& out, const std::optional<double>& value)
{
    putVarint(out, value ? 1 : 0);
    if (value) putReal(out, *value);
}

} // namespace

void encode(BatchEncoder& out, const SliceRow& row)
{
    putSlice(out.bytes, out.previous, row);
    ++out.count;
}

void encode(BatchEncoder& out, const AllocationEvent& row)
{
    putTime(out, row.at);
    putVarint(out.bytes, row.free ? 1 : 0);
    putSigned(out.bytes, row.buffer);
    ++out.count;
    if (row.free) return;
    putSigned(out.bytes, row.bytes);
    putSigned(out.bytes, row.address);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.category));
    putOptional(out.bytes, row.op);
    putOptional(out.bytes, row.microbatch);
}

void encode(BatchEncoder& out, const CounterRow& row)
{
    putTime(out, row.at);
    putReal(out.bytes, row.value);
    ++out.count;
}

void encode(BatchEncoder& out, const CollectiveRow& row)
{
    putTime(out, row.start);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.track));
    putSigned(out.bytes, wrappingSub(row.lastArrival, row.start));
    putSigned(out.bytes, wrappingSub(row.end, row.start));
    putVarint(out.bytes, row.operation);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.group));
    putSigned(out.bytes, row.sequence);
    putSigned(out.bytes, row.payloadBytes);
    putSigned(out.bytes, row.wireBytes);
    putOptional(out.bytes, row.peer);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.algorithm));
    putVarint(out.bytes, static_cast<std::uint64_t>(row.protocol));
    ++out.count;
}

void encode(BatchEncoder& out, const FlowRow& row)
{
    putTime(out, row.from);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.kind));
    putVarint(out.bytes, static_cast<std::uint64_t>(row.fromTrack));
    putVarint(out.bytes, static_cast<std::uint64_t>(row.toTrack));
    putSigned(out.bytes, wrappingSub(row.to, row.from));
    ++out.count;
}

void encode(BatchEncoder& out, const StepRecord& row)
{
    putTime(out, row.range.begin.ns);
    putSigned(out.bytes, wrappingSub(row.range.end.ns, row.range.begin.ns));
    putSigned(out.bytes, row.step.value);
    putOptional(out.bytes, row.loss);
    putOptional(out.bytes, row.learningRate);
    putOptional(out.bytes, row.gradientNorm);
    putSigned(out.bytes, row.samples);
    putSigned(out.bytes, row.tokens);
    putVarint(out.bytes, static_cast<std::uint64_t>(row.state));
    ++out.count;
}

void encode(BatchEncoder& out, const EventRow& row)
{
    putTime(out, row.at);
    putVarint(out.bytes, row.kind);
    putOptional(out.bytes, row.rank);
    putVarint(out.bytes, row.text.size());
    out.bytes += row.text;
    ++out.count;
}

std::int64_t BatchDecoder::time()
{
    return m_previous = wrappingAdd(m_previous, m_in.signedVarint());
}

std::int64_t BatchDecoder::optional()
{
    const std::uint64_t value = m_in.varint();
    return value == 0 ? kAbsent : unzigzag(value - 1);
}

namespace {

std::optional<double> optionalReal(Decoder& in)
{
    if (in.bounded(1) == 0) return std::nullopt;
    return in.real();
}

} // namespace

bool BatchDecoder::next(SliceRow& row)
{
    takeSlice(m_in, m_previous, row);
    return m_in.ok();
}

bool BatchDecoder::next(AllocationEvent& row)
{
    row = {};
    row.at = time();
    row.free = m_in.bounded(1) == 1;
    row.buffer = m_in.signedVarint();
    if (row.free) return m_in.ok();
    row.bytes = m_in.signedVarint();
    row.address = m_in.signedVarint();
    row.category = static_cast<MemoryCategory>(m_in.bounded(kMemoryCategoryCount - 1));
    row.op = optional();
    row.microbatch = optional();
    return m_in.ok();
}

bool BatchDecoder::next(CounterRow& row)
{
    row.at = time();
    row.value = m_in.real();
    return m_in.ok();
}

bool BatchDecoder::next(CollectiveRow& row)
{
    row.start = time();
    row.track = static_cast<std::int32_t>(m_in.bounded(kLargestId));
    row.lastArrival = wrappingAdd(row.start, m_in.signedVarint());
    row.end = wrappingAdd(row.start, m_in.signedVarint());
    row.operation = static_cast<std::uint8_t>(m_in.bounded(255));
    row.group = static_cast<std::int32_t>(m_in.bounded(kLargestId));
    row.sequence = m_in.signedVarint();
    row.payloadBytes = m_in.signedVarint();
    row.wireBytes = m_in.signedVarint();
    row.peer = optional();
    row.algorithm = m_in.bounded(kLargestId);
    row.protocol = m_in.bounded(kLargestId);
    return m_in.ok();
}

bool BatchDecoder::next(FlowRow& row)
{
    row.from = time();
    row.kind = m_in.bounded(kLargestId);
    row.fromTrack = static_cast<std::int32_t>(m_in.bounded(kLargestId));
    row.toTrack = static_cast<std::int32_t>(m_in.bounded(kLargestId));
    row.to = wrappingAdd(row.from, m_in.signedVarint());
    return m_in.ok();
}

bool BatchDecoder::next(StepRecord& row)
{
    row.range.begin.ns = time();
    row.range.end.ns = wrappingAdd(row.range.begin.ns, m_in.signedVarint());
    const std::int64_t step = m_in.signedVarint();
    row.step = StepIndex(static_cast<std::int32_t>(step));
    row.loss = optionalReal(m_in);
    row.learningRate = optionalReal(m_in);
    row.gradientNorm = optionalReal(m_in);
    row.samples = m_in.signedVarint();
    row.tokens = m_in.signedVarint();
    row.state = static_cast<StepState>(m_in.bounded(kStepStateCount - 1));
    return m_in.ok();
}

bool BatchDecoder::next(EventRow& row)
{
    row.at = time();
    row.kind = static_cast<std::uint8_t>(m_in.bounded(255));
    row.rank = optional();
    const std::int64_t length = m_in.bounded(kLargestId);
    row.text.clear();
    for (std::int64_t i = 0; i < length && m_in.ok(); ++i) row.text.push_back(static_cast<char>(m_in.byte()));
    return m_in.ok();
}

} // namespace fourwalls::store
