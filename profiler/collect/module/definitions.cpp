// SPDX-License-Identifier: Apache-2.0
// A list that only grows, newest first; each definition is laid out as the queue lays out an event.
#include "profiler/collect/module/definitions.h"

#include <atomic>
#include <cstdlib>

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
    const QueuedEvent event = measured(kind, structureBytes, texts, textCount, tailBytes);
    auto* node = static_cast<Node*>(std::malloc(sizeof(Node) + event.bytes));
    if (node == nullptr) return false;
    node->event = event;
    copyBody(event, structure, texts, tail, node->body());
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
