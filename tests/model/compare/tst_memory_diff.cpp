// SPDX-License-Identifier: Apache-2.0
// Who holds memory in two traces: against a count of every buffer, one by one.
#include <QtTest>

#include "model/compare/memory_diff.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace tst_memory_diff {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

constexpr std::int64_t kEnd = 1'000'000'000;

/// Buffers of two ranks with random lives, sizes, makers and kinds; the second rank holds more.
std::unique_ptr<TraceQuery> randomTrace(unsigned seed)
{
    std::mt19937 random(seed);
    const auto below = [&random](unsigned n) { return static_cast<int>(random() % n); };
    TraceHeader header;
    for (int rank = 0; rank < 2; ++rank) header.ranks.push_back({RankId{rank}, "device", "host", 0, 0, 2});
    InMemoryTrace trace(header);
    std::vector<OpId> makers;
    for (const char* name : {"model.py:1 forward", "model.py:2 forward", "optimizer.py:9 step"}) {
        OpInfo op;
        op.name = name;
        op.kind = SliceKind::Operator;
        makers.push_back(trace.defineOp(op));
    }
    {
        const auto producer = trace.openProducer();
        StepRecord step;
        step.step = StepIndex{0};
        step.range = {Instant{0}, Instant{kEnd}};
        for (int rank = 0; rank < 2; ++rank) producer->step(RankId{rank}, step);
        struct Event {
            std::int64_t at;
            int rank;
            AllocationId id;
            bool frees;
            AllocationRecord record;
        };
        std::vector<Event> events;
        for (int i = 0; i < 400; ++i) {
            AllocationRecord record;
            record.id = AllocationId{i};
            record.at = Instant{static_cast<std::int64_t>(random() % kEnd)};
            record.bytes = (1 + below(1000)) * (i % 2 == 0 ? 512 : 4096);
            record.category = below(2) == 0 ? MemoryCategory::Activations : MemoryCategory::Weights;
            const int maker = below(4);
            if (maker < 3) record.op = makers[static_cast<std::size_t>(maker)];
            events.push_back({record.at.ns, i % 2, record.id, false, record});
            if (below(3) > 0) events.push_back({record.at.ns + 1 + below(300'000'000), i % 2, record.id, true, {}});
        }
        std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
        for (const Event& event : events) {
            if (event.frees)
                producer->freed(RankId{event.rank}, event.id, Instant{event.at});
            else
                producer->allocated(RankId{event.rank}, event.record);
        }
    }
    if (!trace.finish({}).ok()) return nullptr;
    return std::make_unique<InMemoryTraceQuery>(trace.data());
}

using Key = std::pair<std::string, MemoryCategory>;

std::map<Key, std::pair<std::int64_t, std::int64_t>> counted(TraceQuery& trace, RankId rank, Instant at)
{
    std::map<Key, std::pair<std::int64_t, std::int64_t>> held;
    const Status read = trace.scanAllocations([&](const AllocationView& buffer) {
        if (buffer.rank != rank || buffer.start > at || (buffer.end && *buffer.end <= at)) return true;
        const std::string name = buffer.op ? (*trace.op(*buffer.op))->name : std::string();
        auto& [bytes, count] = held[{name, buffer.category}];
        bytes += buffer.bytes;
        ++count;
        return true;
    });
    return read.ok() ? held : decltype(held)();
}

} // namespace

class MemoryDiffTest : public QObject {
    Q_OBJECT

private slots:
    void momentsAreWords();
    void equalsACountOfBuffers();
    void withoutBuffersThereIsNone();
};

void MemoryDiffTest::momentsAreWords()
{
    QCOMPARE(MemoryMoment::parse("peak")->kind, MemoryMoment::Kind::Peak);
    QCOMPARE(MemoryMoment::parse("end")->kind, MemoryMoment::Kind::End);
    QCOMPARE(MemoryMoment::parse("2.5")->after.ns, std::int64_t(2'500'000));
    for (const char* text : {"", "Peak", "-1", "5 ms", "nan", "inf", "1e300"})
        QVERIFY2(!MemoryMoment::parse(text).ok(), text);
}

void MemoryDiffTest::equalsACountOfBuffers()
{
    for (unsigned seed = 1; seed <= 5; ++seed) {
        const auto a = randomTrace(seed), b = randomTrace(seed + 100);
        QVERIFY(a && b);
        const MemoryMoment late{MemoryMoment::Kind::At, Duration{kEnd / 2}}, end{MemoryMoment::Kind::End, {}};
        for (const auto& [atA, atB] : {std::pair(MemoryMoment{}, MemoryMoment{}), std::pair(late, end)}) {
            const auto found = compareMemory(*a, *b, atA, atB);
            QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
            QVERIFY(found->has_value());
            const MemoryDifference& memory = **found;
            QCOMPARE(memory.a.rank, RankId{1}); // which holds more
            auto ofA = counted(*a, memory.a.rank, memory.a.at), ofB = counted(*b, memory.b.rank, memory.b.at);
            std::int64_t sumA = 0, sumB = 0, before = std::numeric_limits<std::int64_t>::max();
            for (const ComparedMaker& maker : memory.makers) {
                const Key key{maker.name, maker.category};
                QCOMPARE(maker.aBytes, ofA[key].first);
                QCOMPARE(maker.aCount, ofA[key].second);
                QCOMPARE(maker.bBytes, ofB[key].first);
                QCOMPARE(maker.bCount, ofB[key].second);
                QVERIFY(std::abs(maker.difference()) <= before);
                before = std::abs(maker.difference());
                sumA += maker.aBytes;
                sumB += maker.bBytes;
            }
            QCOMPARE(memory.makers.size(), std::max(ofA.size(), ofB.size())); // the look-ups above have added the rest
            QCOMPARE(sumA, memory.a.bytes);
            QCOMPARE(sumB, memory.b.bytes);
            QCOMPARE(memory.a.notLookedAt, std::int64_t(0));
        }
        // The peak is the peak: at no buffer's beginning is more alive.
        const auto peak = compareMemory(*a, *a);
        for (const ComparedMaker& maker : (*peak)->makers) QCOMPARE(maker.difference(), std::int64_t(0));
        std::vector<Instant> begins;
        QVERIFY(a->scanAllocations([&begins](const AllocationView& buffer) {
                     begins.push_back(buffer.start);
                     return true;
                 }).ok());
        QCOMPARE(begins.size(), std::size_t(400));
        for (const Instant at : begins) {
            std::int64_t alive = 0;
            for (const auto& [key, held] : counted(*a, RankId{1}, at)) alive += held.first;
            QVERIFY(alive <= (*peak)->a.bytes);
        }
    }
    const auto a = randomTrace(1);
    QVERIFY(!compareMemory(*a, *a, {MemoryMoment::Kind::At, Duration{10 * kEnd}}, {}).ok());
}

void MemoryDiffTest::withoutBuffersThereIsNone()
{
    TraceHeader header;
    header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    QVERIFY(trace.finish({}).ok());
    InMemoryTraceQuery without(trace.data());
    const auto with = randomTrace(3);
    const auto found = compareMemory(without, *with);
    QVERIFY(found.ok() && !found->has_value());
}

FOURWALLS_TEST(MemoryDiffTest, QCoreApplication)

} // namespace tst_memory_diff

#include "tst_memory_diff.moc"
