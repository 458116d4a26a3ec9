// SPDX-License-Identifier: Apache-2.0
// The counting rules of the facts.
#include "model/import/chrome/chrome_facts.h"

#include "model/import/common/kernel_class.h"

#include <algorithm>

namespace fourwalls::importers {

void ChromeFacts::add(const ChromeEvent& event, Category category, std::optional<FineTime> ts,
                      std::optional<FineTime> dur)
{
    const char phase = event.phase();
    const auto index = static_cast<unsigned char>(phase); // char has a sign on some processors only
    if (index > 0 && index < m_phases.size())
        ++m_phases[index];
    else
        ++m_oddPhases[std::string(event[EventKey::Ph].text.substr(0, 16))];

    const std::string_view name = event[EventKey::Name].text;
    if (name == "[memory]") ++m_memory;
    if (name.substr(0, 12) == "ProfilerStep" && m_steps.size() < 100000) m_steps.emplace(name);
    if (phase == 'X') addSlice(event, category, ts, dur.value_or(FineTime{}));
}

void ChromeFacts::addSlice(const ChromeEvent& event, Category category, std::optional<FineTime> ts, FineTime dur)
{
    if (ts && category != Category::Span) m_span.add(*ts, *ts + dur);
    if (ts && isGpuWork(category)) m_gpuSpan.add(*ts, *ts + dur);
    switch (category) {
    case Category::Kernel: {
        ++m_kernels;
        m_kernelTime.add(dur);
        if (ts) m_busy.add(*ts, *ts + dur);
        if (m_ncclNames.find(event[EventKey::Name].text, isNcclName)) {
            ++m_nccl;
            m_ncclTime.add(dur);
        }
        const std::string_view device = event[ArgKey::Device].text, stream = event[ArgKey::Stream].text;
        if (!event[ArgKey::Device] || !event[ArgKey::Stream]) break;
        if (m_lastStream.first != device || m_lastStream.second != stream || m_streams.empty()) {
            m_lastStream = {std::string(device), std::string(stream)};
            if (m_streams.size() < 100000) m_streams.insert(m_lastStream);
        }
        break;
    }
    case Category::Memcpy:
        ++m_copies;
        m_copyTime.add(dur);
        break;
    case Category::Memset: ++m_sets; break;
    case Category::CpuOp:
        if (event[EventKey::Cat].text != "hpu_op") ++m_cpuOps;
        break;
    case Category::Runtime:
    case Category::Driver: ++m_runtime; break;
    case Category::OtherRuntime:
        if (event[EventKey::Cat].text == "mtia_runtime") ++m_runtime;
        break;
    case Category::PythonFunction: ++m_python; break;
    default: break;
    }
}

TraceFacts ChromeFacts::finish(std::int64_t baseNs, std::int64_t entries)
{
    TraceFacts facts;
    facts.eventsTotal = entries;
    facts.gpuKernelEvents = m_kernels;
    facts.gpuKernelTimeNs = m_kernelTime.rounded();
    facts.gpuKernelBusyNs = m_busy.total();
    facts.ncclKernels = m_nccl;
    facts.ncclTimeNs = m_ncclTime.rounded();
    facts.memcpyEvents = m_copies;
    facts.memcpyTimeNs = m_copyTime.rounded();
    facts.memsetEvents = m_sets;
    facts.spanNs = m_span.length();
    facts.gpuSpanNs = m_gpuSpan.length();
    if (m_span.begin) facts.firstEventNs = m_span.begin->rounded() + baseNs;
    facts.streams = static_cast<std::int64_t>(m_streams.size());
    facts.cpuOpEvents = m_cpuOps;
    facts.runtimeEvents = m_runtime;
    facts.pythonFunctionEvents = m_python;
    facts.memoryInstants = m_memory;
    facts.flowStart = m_phases['s'];
    facts.flowEnd = m_phases['f'];
    facts.profilerSteps = static_cast<std::int64_t>(m_steps.size());
    for (std::size_t phase = 0; phase < m_phases.size(); ++phase)
        if (m_phases[phase] > 0) facts.eventPhases[std::string(1, static_cast<char>(phase))] = m_phases[phase];
    for (const auto& [phase, count] : m_oddPhases) facts.eventPhases[phase] += count;
    return facts;
}

} // namespace fourwalls::importers
