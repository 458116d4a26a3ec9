// SPDX-License-Identifier: Apache-2.0
// A trace whose allocator's segments are few enough to be worked out by hand.
#pragma once

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <memory>
#include <optional>

namespace fourwalls::test::allocator {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kBegin = 0x7000'0000'0000;

inline AllocatorSegment segment(std::int64_t offset, std::int64_t bytes, std::int64_t start,
                                std::optional<std::int64_t> end)
{
    AllocatorSegment made;
    made.rank = RankId{0};
    made.address = kBegin + offset;
    made.bytes = bytes;
    made.start = Instant{start};
    if (end) made.end = Instant{*end};
    return made;
}

/// One segment of 20 MiB throughout; one of 2 MiB beside it from 10 to 30; two parts of an expandable range at 100 MiB, of
/// which the second comes at 20. Buffers: 4 MiB at 0, 1 MiB at 8 MiB with 512 KiB more cut out for it, let go at 25; 700
/// bytes in the small one; 3 MiB across both parts of the range from 20; one that lies nowhere.
inline std::shared_ptr<const InMemoryTraceData> example()
{
    TraceHeader header;
    header.source = TraceSource::Imported;
    header.ranks.push_back({RankId{0}, "", "", 0, 0, 1});
    InMemoryTrace trace(header);
    auto producer = trace.openProducer();
    const auto buffer = [&](std::int64_t id, std::int64_t offset, std::int64_t bytes, std::int64_t start,
                            std::optional<std::int64_t> end) {
        AllocationRecord record;
        record.id = AllocationId{id};
        record.at = Instant{start};
        record.bytes = bytes;
        record.address = kBegin + offset;
        producer->allocated(RankId{0}, record);
        if (end) producer->freed(RankId{0}, record.id, Instant{*end});
    };
    buffer(1, 0, 4 * kMiB, 0, std::nullopt);
    buffer(2, 8 * kMiB, kMiB, 0, 30);
    buffer(3, 20 * kMiB, 700, 12, 28);
    buffer(4, 101 * kMiB, 3 * kMiB, 20, std::nullopt);
    buffer(5, 500 * kMiB, 64, 0, std::nullopt);
    producer->event({EventKind::OutOfMemory, RankId{0}, Instant{26},
                     "out of memory: 16777216 bytes wanted, 1048576 bytes free on the device"});
    producer.reset();
    TraceClosing closing;
    closing.segments.push_back(segment(0, 20 * kMiB, 0, std::nullopt));
    closing.segments.push_back(segment(20 * kMiB, 2 * kMiB, 10, 30));
    closing.segments.push_back(segment(100 * kMiB, 2 * kMiB, 0, std::nullopt));
    closing.segments.push_back(segment(102 * kMiB, 2 * kMiB, 20, std::nullopt));
    closing.segments[1].small = true;
    closing.segments[2].expandable = closing.segments[3].expandable = true;
    closing.blocks.push_back({RankId{0}, AllocationId{2}, kMiB + kMiB / 2, Instant{25}});
    if (!trace.finish(closing).ok()) return nullptr;
    return trace.data();
}

} // namespace fourwalls::test::allocator
