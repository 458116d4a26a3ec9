// SPDX-License-Identifier: Apache-2.0
// What outlives a recording: names of NVTX domains, categories and threads, payload schemas, NCCL communicators. They
// are kept for the life of the process, and every recording writes those made so far before the events that name them.
#pragma once

#include "profiler/collect/module/event_queue.h"
#include "profiler/collect/module/spool_sink.h"

#include <cstddef>

namespace fourwalls::collect::module {

/// Keeps a copy of a definition. Lock-free; false if there is no memory. Texts as in EventQueue::push.
bool addDefinition(RecordKind kind, const void* structure, std::size_t structureBytes, const EventText* texts,
                   std::size_t textCount, const void* tail = nullptr, std::size_t tailBytes = 0);

/// Writes the definitions that this recording has not written yet, in the order in which they were made.
class DefinitionWriter {
public:
    void writeNew(SpoolSink& sink);

private:
    const void* m_seen = nullptr;
};

} // namespace fourwalls::collect::module
