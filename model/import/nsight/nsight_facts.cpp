// SPDX-License-Identifier: Apache-2.0
// See nsight_facts.h.
#include "model/import/nsight/nsight_facts.h"

#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"

namespace fourwalls::importers {

void NsightFacts::add(NsightTables& tables, const NsightWork& work)
{
    using WorkKind = NsightWork::Kind;
    if (work.kind != WorkKind::Kernel && work.kind != WorkKind::Copy && work.kind != WorkKind::Set) return;
    const FineTime length{work.end - work.start, 0};
    m_span.add({work.start, 0}, {work.end, 0});
    m_gpuSpan.add({work.start, 0}, {work.end, 0});
    if (work.kind == WorkKind::Copy) {
        ++m_copies;
        m_copyTime.add(length);
    } else if (work.kind == WorkKind::Set) {
        ++m_sets;
    } else {
        ++m_kernels;
        m_kernelTime.add(length);
        m_busy.try_emplace(work.device, m_scratchFolder).first->second.add(work.start, work.end);
        m_streams.insert({work.device, work.stream});
        if (isNcclName(tables.string(work.name)) || isNcclName(tables.string(work.shortName))) {
            ++m_nccl;
            m_ncclTime.add(length);
        }
    }
}

void NsightFacts::add(const NsightCall& call)
{
    ++m_calls;
    m_span.add({call.start, 0}, {call.end, 0});
}

void NsightFacts::add(const NsightRange& range)
{
    if (range.isCall || !isNvtxRange(range.type) || !range.end) return;
    ++m_ranges;
    m_span.add({range.start, 0}, {*range.end, 0});
}

TraceFacts NsightFacts::finish()
{
    TraceFacts facts;
    facts.gpuKernelEvents = m_kernels;
    facts.gpuKernelTimeNs = m_kernelTime.rounded();
    facts.gpuKernelBusyNs = 0;
    for (auto& [device, busy] : m_busy) {
        const auto total = busy.total();
        if (facts.gpuKernelBusyNs && total)
            *facts.gpuKernelBusyNs += *total;
        else
            facts.gpuKernelBusyNs.reset();
    }
    facts.ncclKernels = m_nccl;
    facts.ncclTimeNs = m_ncclTime.rounded();
    facts.memcpyEvents = m_copies;
    facts.memcpyTimeNs = m_copyTime.rounded();
    facts.memsetEvents = m_sets;
    facts.spanNs = m_span.length();
    facts.gpuSpanNs = m_gpuSpan.length();
    if (m_span.begin) facts.firstEventNs = m_span.begin->ns;
    facts.streams = static_cast<std::int64_t>(m_streams.size());
    facts.runtimeEvents = m_calls;
    facts.nvtxRanges = m_ranges;
    return facts;
}

Result<TraceFacts> nsightFacts(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(NsightTables tables, NsightTables::open(path));
    NsightFacts facts(options.scratchFolder);
    FOURWALLS_TRY(tables.eachWork([&](const NsightWork& work) { facts.add(tables, work); }, options.stop));
    FOURWALLS_TRY(tables.eachCall([&](const NsightCall& call) { facts.add(call); }, options.stop));
    FOURWALLS_TRY(tables.eachRange([&](const NsightRange& range) { facts.add(range); }, options.stop));
    return facts.finish();
}

} // namespace fourwalls::importers
