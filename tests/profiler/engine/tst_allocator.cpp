// SPDX-License-Identifier: Apache-2.0
// The tracked caching allocator: alignment, reuse, joining, categories, peaks, limits, and what it reports.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/base/random.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/tensor.h"
#include "tests/support/test_program.h"

#include <cstring>
#include <map>

namespace tst_allocator {

using namespace fourwalls;
using namespace fourwalls::engine;

class AllocatorTest : public QObject {
    Q_OBJECT

    static constexpr std::int64_t kMiB = 1 << 20;

private slots:
    void alignsAndCounts()
    {
        Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
        Allocator allocator(silent, 0);
        std::vector<Allocator::Block*> blocks;
        std::int64_t total = 0;
        for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{63}, std::int64_t{64},
                                         std::int64_t{1000}, kMiB, 3 * kMiB, 40 * kMiB}) {
            blocks.push_back(allocator.allocate(bytes, MemoryCategory::Activations));
            total += bytes;
            QCOMPARE(reinterpret_cast<std::uintptr_t>(Allocator::address(blocks.back())) % Allocator::kAlignment,
                     std::uintptr_t{0});
            std::memset(Allocator::address(blocks.back()), 0xab, static_cast<std::size_t>(bytes));
            QCOMPARE(allocator.statistics().allocated, total);
        }
        const MemoryStatistics& s = allocator.statistics();
        QCOMPARE(s.current[static_cast<std::size_t>(MemoryCategory::Activations)], total);
        QVERIFY(s.reserved >= total);
        for (auto* block : blocks) allocator.free(block);
        QCOMPARE(s.allocated, 0);
        QCOMPARE(s.liveBuffers, 0);
        QCOMPARE(s.peakAllocated, total);
        QVERIFY(s.reserved >= total); // kept for reuse
        allocator.trim();
        QCOMPARE(s.reserved, 0);
        QCOMPARE(s.peakReserved >= total, true);
    }

    void reusesAndJoins()
    {
        Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
        Allocator allocator(silent, 0);
        auto* a = allocator.allocate(10 * kMiB, MemoryCategory::Temporaries);
        auto* b = allocator.allocate(10 * kMiB, MemoryCategory::Temporaries);
        auto* c = allocator.allocate(10 * kMiB, MemoryCategory::Temporaries);
        const std::int64_t reserved = allocator.statistics().reserved;
        QCOMPARE(reserved, Allocator::kLargeSegment);
        allocator.free(a);
        allocator.free(b);
        auto* joined = allocator.allocate(20 * kMiB, MemoryCategory::Temporaries); // only fits if a and b became one
        QCOMPARE(allocator.statistics().reserved, reserved);
        allocator.free(c);
        allocator.free(joined);
        auto* whole = allocator.allocate(32 * kMiB, MemoryCategory::Temporaries);
        QCOMPARE(allocator.statistics().reserved, reserved);
        allocator.free(whole);
    }

    void buffersNeverOverlap()
    {
        Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
        Allocator allocator(silent, 0);
        const RandomStream random(3, 1);
        std::map<char*, std::pair<Allocator::Block*, std::int64_t>> live;
        std::uint64_t draw = 0;
        for (int i = 0; i < 4000; ++i) {
            if (live.size() > 40 || (!live.empty() && random.below(draw++, 3) == 0)) {
                auto victim = live.begin();
                std::advance(victim, static_cast<long>(random.below(draw++, live.size())));
                allocator.free(victim->second.first);
                live.erase(victim);
                continue;
            }
            const auto bytes = static_cast<std::int64_t>(1 + random.below(draw, 1 << (6 + random.below(draw + 1, 18))));
            draw += 2;
            auto* block = allocator.allocate(bytes, MemoryCategory::Other);
            char* data = static_cast<char*>(Allocator::address(block));
            const auto next = live.lower_bound(data);
            if (next != live.end()) QVERIFY(data + bytes <= next->first);
            if (next != live.begin()) QVERIFY(std::prev(next)->first + std::prev(next)->second.second <= data);
            live.emplace(data, std::pair{block, bytes});
        }
        for (auto& [data, entry] : live) allocator.free(entry.first);
        QCOMPARE(allocator.statistics().allocated, 0);
        allocator.trim();
        QCOMPARE(allocator.statistics().reserved, 0); // everything was joined again
    }

    void peaksPerCategoryAreTheirOwn()
    {
        Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
        Allocator allocator(silent, 0);
        auto* a = allocator.allocate(1000, MemoryCategory::Weights);
        allocator.free(a);
        auto* b = allocator.allocate(600, MemoryCategory::Activations);
        const MemoryStatistics& s = allocator.statistics();
        QCOMPARE(s.peakAllocated, 1000);
        QCOMPARE(s.categoryPeaks[static_cast<std::size_t>(MemoryCategory::Weights)], 1000);
        QCOMPARE(s.categoryPeaks[static_cast<std::size_t>(MemoryCategory::Activations)], 600);
        allocator.resetPeaks();
        QCOMPARE(s.peakAllocated, 600);
        QCOMPARE(s.categoryPeaks[static_cast<std::size_t>(MemoryCategory::Weights)], 0);
        allocator.free(b);
    }

    void refusesBeyondTheLimit()
    {
        Recorder silent(nullptr, RankId{0}, ClockOrigin::now());
        Allocator allocator(silent, 64 * kMiB);
        auto* a = allocator.allocate(40 * kMiB, MemoryCategory::Weights);
        try {
            allocator.allocate(60 * kMiB, MemoryCategory::Activations);
            QFAIL("was given more than the limit");
        } catch (const EngineError& error) {
            QVERIFY(error.error().what.find("activations") != std::string::npos);
            QVERIFY(!error.error().hint.empty());
        }
        allocator.free(a);
        allocator.free(allocator.allocate(60 * kMiB, MemoryCategory::Activations)); // cached segments make room
    }

    void reportsWhoAsked()
    {
        const ClockOrigin origin = ClockOrigin::now();
        TraceHeader header;
        header.ranks.push_back({});
        InMemoryTrace trace(header);
        {
            Recorder recorder(&trace, RankId{0}, origin);
            Allocator allocator(recorder, 0);
            recorder.setMicrobatch(Microbatch{3});
            const Scope layer(recorder, SliceKind::Layer, "decoder layer", Phase::Forward, 5);
            const Scope op(recorder, SliceKind::Operator, "mlp.up");
            const Tensor kept = Tensor::make(allocator, {10, 10}, DType::F32, MemoryCategory::Activations);
            {
                const Scope kernel(recorder, "matmul", 100.0, 10);
                const Tensor scratch = Tensor::make(allocator, {7}, DType::F32, MemoryCategory::Workspace);
                const Tensor sharedScratch = scratch; // copies share the buffer: one free
            }
            recorder.close(); // `kept` is alive at the end of the trace
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        std::vector<double> reserved;
        QVERIFY(query
                    .scanCounters([&](const CounterRecord& c) {
                        if (query.info().counters[static_cast<std::size_t>(c.counter.value)].name == "reserved_bytes")
                            reserved.push_back(c.value);
                        return true;
                    })
                    .ok());
        QCOMPARE(reserved, std::vector<double>{static_cast<double>(Allocator::kSmallSegment)});
        int seen = 0;
        QVERIFY(query
                    .scanAllocations([&](const AllocationView& a) {
                        const OpInfo op = **query.op(*a.op);
                        const bool scratch = a.category == MemoryCategory::Workspace;
                        ++seen;
                        return a.bytes == (scratch ? 28 : 400) && op.name == (scratch ? "matmul" : "mlp.up") &&
                               op.layer == LayerIndex{5} && op.phase == Phase::Forward &&
                               a.microbatch == Microbatch{3} && a.end.has_value() == scratch;
                    })
                    .ok());
        QCOMPARE(seen, 2);
    }
};

FOURWALLS_TEST(AllocatorTest, QCoreApplication)

} // namespace tst_allocator

#include "tst_allocator.moc"
