// SPDX-License-Identifier: Apache-2.0
// Records and texts into the spool, losses into counters.
#include "profiler/collect/module/spool_sink.h"

#include "profiler/collect/module/system.h"

#include <algorithm>
#include <cstring>

namespace fourwalls::collect::module {

std::uint32_t SpoolSink::define(const StringTable::Found& found, const char* text, std::size_t length)
{
    if (!found.added) {
        if (found.id == 0 && length > 0) lose(LossKind::StringsFull, 1, length);
        return found.id;
    }
    const auto kept = static_cast<std::uint32_t>(std::min<std::size_t>(length, kLongestTail));
    if (m_file.add(RecordKind::String, String{found.id, kept}, text, kept)) return found.id;
    m_strings.forgetLast();
    lose(LossKind::StringsFull, 1, length);
    return 0;
}

std::uint32_t SpoolSink::textAt(const char* address)
{
    if (address == nullptr || *address == '\0') return 0;
    const StringTable::Found found = m_strings.findByAddress(address);
    return found.id != 0 && !found.added ? found.id : define(found, address, std::strlen(address));
}

std::uint32_t SpoolSink::text(const char* text, std::size_t length)
{
    return define(m_strings.find(text, length), text, length);
}

void SpoolSink::addBytes(RecordKind kind, const void* structure, std::size_t structureBytes, const void* tail,
                         std::size_t tailBytes)
{
    if (!m_file.append(kind, structure, structureBytes, tail, tailBytes)) {
        lose(LossKind::WriteFailed, 1, structureBytes + tailBytes);
    }
}

void SpoolSink::addEvent(const QueuedEvent& event, const std::byte* body)
{
    alignas(8) std::byte structure[kLargestStructure];
    const std::size_t structureBytes = std::min<std::size_t>(event.structureBytes, sizeof structure);
    std::memcpy(structure, body, structureBytes);
    const std::byte* at = body + event.structureBytes;
    for (std::size_t i = 0; i < event.textCount; ++i) {
        const std::uint32_t id = text(reinterpret_cast<const char*>(at), event.lengths[i]);
        if (event.fields[i] + sizeof id <= structureBytes) std::memcpy(structure + event.fields[i], &id, sizeof id);
        at += event.lengths[i] + 1U;
    }
    const auto kind = static_cast<RecordKind>(event.kind);
    if (kind == RecordKind::NvtxSchema) {
        NvtxSchema schema{};
        std::memcpy(&schema, structure, sizeof schema);
        return addSchema(schema, at, event.tailBytes);
    }
    addBytes(kind, structure, structureBytes, at, event.tailBytes);
}

void SpoolSink::addSchema(const NvtxSchema& schema, const std::byte* tail, std::size_t tailBytes)
{
    constexpr std::size_t kMostEntries = 64;
    NvtxSchemaEntry entries[kMostEntries];
    const std::size_t count = std::min<std::size_t>({schema.entries, kMostEntries, tailBytes / sizeof *entries});
    std::memcpy(entries, tail, count * sizeof *entries);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = entries[i].name;
        entries[i].name = 0;
        if (place >= tailBytes) continue;
        const auto* name = reinterpret_cast<const char*>(tail + place);
        entries[i].name = text(name, strnlen(name, tailBytes - place));
    }
    NvtxSchema to = schema;
    to.entries = static_cast<std::uint32_t>(count);
    add(RecordKind::NvtxSchema, to, entries, count * sizeof *entries);
}

void SpoolSink::addMessage(MessageCode code, Severity severity, std::int64_t value, const char* text)
{
    Message message{};
    message.time = realtime();
    message.value = value;
    message.code = static_cast<std::uint32_t>(code);
    message.severity = static_cast<std::uint32_t>(severity);
    message.length = static_cast<std::uint32_t>(std::strlen(text));
    add(RecordKind::Message, message, text, message.length);
}

void SpoolSink::lose(LossKind kind, std::uint64_t count, std::uint64_t bytes)
{
    const auto index = static_cast<std::size_t>(kind) % kLossKinds;
    m_lostCount[index] += count;
    m_lostBytes[index] += bytes;
    m_lostEver[index] += count;
}

void SpoolSink::writeLosses()
{
    for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
        if (m_lostCount[kind] == 0) continue;
        Loss loss{};
        loss.time = realtime();
        loss.count = m_lostCount[kind];
        loss.size = m_lostBytes[kind];
        loss.kind = static_cast<std::uint32_t>(kind);
        if (!m_file.add(RecordKind::Loss, loss)) continue; // kept until it can be written
        m_lostCount[kind] = m_lostBytes[kind] = 0;
    }
}

} // namespace fourwalls::collect::module
