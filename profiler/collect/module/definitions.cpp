// SPDX-License-Identifier: Apache-2.0
// A list that only grows, newest first; each definition is laid out as the queue lays out an event.
#include "profiler/collect/module/definitions.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace fourwalls::collect::module {

namespace {

struct Node {
    Node* older;
    QueuedEvent event;
    // followed by structure, texts and tail
    std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* body() const { return reinterpret_cast<const std::byte*>(this + 1); }
};

std::atomic<Node*> g_newest{nullptr};

/// Writes from the oldest unseen to the newest. A loop over a reversed copy would need memory; definitions are few, so
/// each is looked for from the newest.
void writeOlderFirst(const Node* newest, const void* seen, SpoolSink& sink)
{
    const Node* end = static_cast<const Node*>(seen);
    while (newest != end) {
        const Node* oldest = newest;
        while (oldest->older != end) oldest = oldest->older;
        sink.addEvent(oldest->event, oldest->body());
        end = oldest;
    }
}

} // namespace

bool addDefinition(RecordKind kind, const void* structure, std::size_t structureBytes, const EventText* texts,
                   std::size_t textCount, const void* tail, std::size_t tailBytes)
{
    QueuedEvent event{};
    event.kind = static_cast<std::uint16_t>(kind);
    event.structureBytes = static_cast<std::uint16_t>(structureBytes);
    event.textCount = static_cast<std::uint16_t>(std::min(textCount, kMostTexts));
    event.tailBytes = static_cast<std::uint16_t>(std::min<std::size_t>(tailBytes, kLongestTail));
    std::size_t bytes = structureBytes + event.tailBytes;
    for (std::size_t i = 0; i < event.textCount; ++i) {
        event.fields[i] = static_cast<std::uint16_t>(texts[i].field);
        event.lengths[i] =
            static_cast<std::uint16_t>(texts[i].text == nullptr ? 0 : strnlen(texts[i].text, kLongestText));
        bytes += event.lengths[i] + 1U;
    }
    event.bytes = static_cast<std::uint32_t>(bytes);
    auto* node = static_cast<Node*>(std::malloc(sizeof(Node) + bytes));
    if (node == nullptr) return false;
    node->event = event;
    std::byte* to = node->body();
    std::memcpy(to, structure, structureBytes);
    to += structureBytes;
    for (std::size_t i = 0; i < event.textCount; ++i) {
        if (event.lengths[i] > 0) std::memcpy(to, texts[i].text, event.lengths[i]);
        to[event.lengths[i]] = std::byte{0};
        to += event.lengths[i] + 1U;
    }
    if (event.tailBytes > 0) std::memcpy(to, tail, event.tailBytes);
    node->older = g_newest.load(std::memory_order_relaxed);
    while (!g_newest.compare_exchange_weak(node->older, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
}

void DefinitionWriter::writeNew(SpoolSink& sink)
{
    const Node* const newest = g_newest.load(std::memory_order_acquire);
    writeOlderFirst(newest, m_seen, sink);
    m_seen = newest;
}

} // namespace fourwalls::collect::module
