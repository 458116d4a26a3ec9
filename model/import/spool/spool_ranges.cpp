// SPDX-License-Identifier: Apache-2.0
// See spool_ranges.h.
#include "model/import/spool/spool_ranges.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

using collect::RecordKind;

/// The ranges that a thread pushes and pops in one domain.
std::uint64_t stackOf(std::uint32_t thread, std::uint32_t domain)
{
    return (static_cast<std::uint64_t>(domain & 0x7fffffff) << 32) | thread;
}

/// A range with an id of its own. The high bit keeps these apart from stacks of threads.
std::uint64_t rangeOf(std::uint64_t id, std::uint32_t domain)
{
    return ((id * 0x9E3779B97F4A7C15ULL) ^ domain) | (std::uint64_t{1} << 63);
}

} // namespace

SpoolRanges::SpoolRanges(SpoolTables& tables, SpoolNccl& nccl)
    : m_tables(tables)
    , m_nccl(nccl)
    , m_pairs([this](const DurationPairs::Slice& slice) {
        const Opened& opened = m_opened[static_cast<std::size_t>(slice.op.value)];
        if (opened.facts >= 0) m_ncclOf.emplace_back(m_tables.ranges.size(), slice.op.value);
        m_tables.ranges.push_back({slice.begin, slice.end, slice.lane, opened.name, opened.domain});
    })
{}

void SpoolRanges::begin(const collect::SpoolRecord& record)
{
    const auto event = record.as<collect::NvtxEvent>();
    const auto at = spoolTime(event.time);
    if (!at || *at == 0) {
        ++m_tables.badTimes;
        return;
    }
    m_tables.note(event.time);
    if (record.kind == RecordKind::NvtxMark) {
        m_tables.threadLane(event.thread);
        return;
    }
    Opened made{event.name, event.domain, event.thread, -1};
    const auto domain = m_tables.domains.find(event.domain);
    if (domain != m_tables.domains.end() && domain->second == "NCCL")
        made.facts = m_nccl.opened(event, record.tail(event.extendedBytes));
    m_opened.push_back(made);
    const auto index = OpId{static_cast<std::int32_t>(m_opened.size() - 1)};
    if (record.kind == RecordKind::NvtxPush)
        m_pairs.begin(stackOf(event.thread, event.domain), m_tables.threadLane(event.thread), *at, index);
    else
        m_pairs.begin(rangeOf(event.range, event.domain),
                      m_tables.lanes.find(LaneRole::Async, m_tables.pid(), "NVTX ranges" + m_tables.suffix), *at,
                      index);
}

void SpoolRanges::end(RecordKind kind, const collect::NvtxEnd& end)
{
    const auto at = spoolTime(end.time);
    if (!at || *at == 0) {
        ++m_tables.badTimes;
        return;
    }
    m_tables.note(end.time);
    m_pairs.end(kind == RecordKind::NvtxPop ? stackOf(end.thread, end.domain) : rangeOf(end.range, end.domain), *at);
}

void SpoolRanges::finish()
{
    m_pairs.finish(m_tables.lastNs);
    m_tables.rangesLeftOpen = m_pairs.beginsWithoutEnd();
    m_tables.endsWithoutBegin = m_pairs.endsWithoutBegin();
    // What ends while capture is off is not recorded: a range lasts to the end of its window at the longest.
    std::vector<std::int64_t> offs;
    for (const collect::Window& window : m_tables.windows)
        if (const auto at = spoolTime(window.time); at && window.on == 0) offs.push_back(*at);
    for (SpoolRange& range : m_tables.ranges) {
        const auto off = std::upper_bound(offs.begin(), offs.end(), range.begin);
        if (off != offs.end()) range.end = std::min(range.end, *off);
    }
    for (const auto& [index, opened] : m_ncclOf) {
        const Opened& made = m_opened[static_cast<std::size_t>(opened)];
        m_nccl.addCall(m_tables.ranges[index], made.thread, made.facts);
    }
}

} // namespace fourwalls::importers
