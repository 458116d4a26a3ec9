// SPDX-License-Identifier: Apache-2.0
// Finding by name, on names made up here: how well they answer, their order, layers, and the next slice of a name.
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/name_index.h"
#include "tests/support/test_program.h"

#include <QtTest>

namespace tst_name_index {

using namespace fourwalls;

namespace {

MatchQuality quality(const char* typed, const char* text)
{
    return SearchWords(typed).qualityOf(text);
}

std::shared_ptr<const InMemoryTraceData> finished(InMemoryTrace& trace)
{
    [[maybe_unused]] const Status status = trace.finish({});
    return trace.data();
}

/// Two layers with "mlp.up" (10 and 30 long) and "mlp.up.bias" (5), in this order, twice, each at a multiple of 100.
std::shared_ptr<const InMemoryTraceData> twoLayers(bool withLayerSlices = true)
{
    InMemoryTrace trace{TraceHeader{}};
    const TrackId track = trace.defineTrack({RankId{0}, TrackKind::Operators, "operators", 0});
    const auto op = [&](const char* name, int layer, SliceKind kind = SliceKind::Operator) {
        OpInfo info;
        info.name = name;
        info.kind = kind;
        info.layer = LayerIndex{layer};
        return trace.defineOp(info);
    };
    auto out = trace.openProducer();
    std::int64_t at = 0;
    for (int step = 0; step < 2; ++step)
        for (int layer = 0; layer < 2; ++layer) {
            const auto put = [&](OpId what, std::int64_t length) {
                SliceRecord slice;
                slice.track = track;
                slice.op = what;
                slice.start = Instant{at};
                slice.duration = Duration{length};
                out->slice(slice);
                at += 100;
            };
            put(op("mlp.up", layer), layer == 0 ? 10 : 30);
            put(op("mlp.up.bias", layer), 5);
            if (withLayerSlices) put(op("decoder layer", layer, SliceKind::Layer), 1);
        }
    out.reset();
    return finished(trace);
}

} // namespace

class NameIndexTest : public QObject {
    Q_OBJECT

private slots:
    void qualities()
    {
        QCOMPARE(quality("GEMM", "gemm"), MatchQuality::Whole);
        QCOMPARE(quality(" gemm ", "Gemm_128"), MatchQuality::Start);
        QCOMPARE(quality("gemm", "ampere_sgemm gemm"), MatchQuality::WordStart);
        QCOMPARE(quality("gemm", "ampere_sgemm"), MatchQuality::Inside);
        QCOMPARE(quality("128 gemm", "gemm_128x64"), MatchQuality::Words);
        QCOMPARE(quality("128 gemv", "gemm_128x64"), MatchQuality::None);
        QCOMPARE(quality("", "anything"), MatchQuality::Words);
        // A script without spaces: every character begins a word.
        QCOMPARE(quality("\xE5\x89\x8D", "\xE7\x9A\x84\xE5\x89\x8D"), MatchQuality::WordStart);
        QCOMPARE(SearchWords("et").looseQualityOf("Export table"), MatchQuality::Letters);
        QCOMPARE(SearchWords("et").qualityOf("Export table"), MatchQuality::None);
        QCOMPARE(SearchWords("xyz").looseQualityOf("Export table"), MatchQuality::None);
    }

    void namesAreFoundBestFirst()
    {
        InMemoryTraceQuery query(twoLayers());
        const auto index = NameIndex::read(query);
        QVERIFY(index.ok());
        QCOMPARE(index->names().size(), std::size_t(3)); // though there are six operators
        const NameHits hits = index->find(SearchWords("MLP.up"), 10);
        QCOMPARE(hits.count, std::size_t(2));
        QCOMPARE(hits.best[0].name.name, std::string("mlp.up"));
        QCOMPARE(hits.best[0].quality, MatchQuality::Whole);
        QCOMPARE(hits.best[0].name.operators, 2);
        QCOMPARE(hits.best[1].name.name, std::string("mlp.up.bias"));
        QCOMPARE(hits.best[1].quality, MatchQuality::Start);
        const NameHits limited = index->find(SearchWords("l"), 1);
        QCOMPARE(limited.best.size(), std::size_t(1));
        QCOMPARE(limited.count, std::size_t(3));
    }

    void layersAreNamedByTheirOwnSlice()
    {
        InMemoryTraceQuery query(twoLayers());
        const auto index = NameIndex::read(query);
        QCOMPARE(index->layers().size(), std::size_t(2));
        QCOMPARE(index->layers()[1].layer, LayerIndex{1});
        QCOMPARE(index->layers()[1].name, std::string("decoder layer"));
    }

    void theNextSliceOfAName()
    {
        InMemoryTraceQuery query(twoLayers(false));
        const auto next = [&](const char* name, std::optional<LayerIndex> layer, std::int64_t from) {
            const auto found = nextSliceNamed(query, name, layer, Instant{from});
            return found.ok() && *found ? (*found)->slice.start.ns : -1;
        };
        QCOMPARE(next("mlp.up", std::nullopt, 0), 0);
        QCOMPARE(next("mlp.up", std::nullopt, 1), 200); // not the bias at 100, nor what began before
        QCOMPARE(next("mlp.up", LayerIndex{1}, 0), 200);
        QCOMPARE(next("mlp.up", LayerIndex{1}, 231), 600);
        QCOMPARE(next("mlp.up", LayerIndex{0}, 500), 0); // from the beginning again
        QCOMPARE(next("mlp.up", LayerIndex{7}, 0), -1);
        QCOMPARE(next("mlp", std::nullopt, 0), -1); // a part is no name
        QCOMPARE(next("mlp.up", std::nullopt, -5000), 0);
        QCOMPARE(next("mlp.up", std::nullopt, 1'000'000), 0);
    }

    void aNameIsNoExpression()
    {
        InMemoryTrace trace{TraceHeader{}};
        const TrackId track = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 0});
        auto out = trace.openProducer();
        std::int64_t at = 0;
        const std::string odd = "void k<(int)4, float*>(a[1], {b}|c^d$e?f+g\\h.i) <lambda-1>::operator() \xE5\x89\x8D";
        for (const std::string& name : {std::string("void k"), odd, odd + "x"}) {
            OpInfo info;
            info.name = name;
            SliceRecord slice;
            slice.track = track;
            slice.op = trace.defineOp(info);
            slice.start = Instant{at};
            slice.duration = Duration{10};
            out->slice(slice);
            at += 100;
        }
        out.reset();
        InMemoryTraceQuery query(finished(trace));
        const auto found = nextSliceNamed(query, odd, std::nullopt, Instant{0});
        QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
        QVERIFY(found->has_value());
        QCOMPARE((*found)->slice.start, Instant{100});
        QCOMPARE((*found)->op->name, odd);
    }
};

FOURWALLS_TEST(NameIndexTest, QCoreApplication)

} // namespace tst_name_index

#include "tst_name_index.moc"
