// SPDX-License-Identifier: Apache-2.0
// The writer's side of the spool: records in, with texts turned into string ids (defined just before their first use)
// and losses counted until they are written.
#pragma once

#include "profiler/collect/module/event_queue.h"
#include "profiler/collect/module/string_table.h"
#include "profiler/collect/spool_file.h"
#include "profiler/collect/spool_format.h"

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

class SpoolSink {
public:
    explicit SpoolSink(SpoolFile& file) : m_file(file) {}

    /// Ids of texts; 0 for none, and where the table is full (counted as a loss).
    std::uint32_t textAt(const char* address);
    std::uint32_t text(const char* text, std::size_t length);

    /// Writes a record; counts it as lost if it cannot be written.
    template <class T>
    void add(RecordKind kind, const T& structure, const void* tail = nullptr, std::size_t tailBytes = 0)
    {
        addBytes(kind, &structure, sizeof(T), tail, tailBytes);
    }
    void addBytes(RecordKind kind, const void* structure, std::size_t structureBytes, const void* tail,
                  std::size_t tailBytes);
    /// Writes an event as the queue or the list of definitions holds it.
    void addEvent(const QueuedEvent& event, const std::byte* body);
    void addMessage(MessageCode code, Severity severity, std::int64_t value, const char* text);

    void lose(LossKind kind, std::uint64_t count, std::uint64_t bytes = 0);
    /// Writes what was lost since the last time.
    void writeLosses();
    std::uint64_t lost(LossKind kind) const { return m_lostEver[static_cast<std::size_t>(kind)]; }

    SpoolFile& file() { return m_file; }

private:
    std::uint32_t define(const StringTable::Found& found, const char* text, std::size_t length);
    void addSchema(const NvtxSchema& schema, const std::byte* tail, std::size_t tailBytes);

    static constexpr std::size_t kLossKinds = 16;
    SpoolFile& m_file;
    StringTable m_strings;
    std::uint64_t m_lostCount[kLossKinds] = {};
    std::uint64_t m_lostBytes[kLossKinds] = {};
    std::uint64_t m_lostEver[kLossKinds] = {};
};

} // namespace fourwalls::collect::module
