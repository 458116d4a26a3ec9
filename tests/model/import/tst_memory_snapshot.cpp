// SPDX-License-Identifier: Apache-2.0
// Memory snapshots: the replay meets the final state, and pickles that want to run code or are damaged are refused.
#include "model/import/memory_categories.h"
#include "model/import/memory_snapshot.h"
#include "model/import/pickle_reader.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"

#include <QTest>

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

/// Writes the opcodes of protocol 4 by hand.
class Pickler {
public:
    Pickler& raw(const std::string& bytes) { m_bytes += bytes; return *this; }
    Pickler& text(const std::string& value) { return raw("\x8c").raw(std::string(1, static_cast<char>(value.size()))).raw(value); }
    Pickler& number(std::int64_t value)
    {
        raw(std::string("\x8a\x08", 2));
        for (int i = 0; i < 8; ++i) m_bytes += static_cast<char>(value >> (8 * i));
        return *this;
    }
    std::string bytes() const { return std::string("\x80\x04", 2) + m_bytes + "."; }

private:
    std::string m_bytes;
};

using Fields = std::vector<std::pair<std::string, std::int64_t>>;

/// A dict of numbers and one text.
void dict(Pickler& out, const std::string& key, const std::string& value, const Fields& fields)
{
    out.raw("}(").text(key).text(value);
    for (const auto& [name, number] : fields) out.text(name).number(number);
    out.raw("u");
}

/// One device: 100 bytes at 0x10 alive throughout, 50 at 0x20 freed in the window, 70 at 0x20 allocated after that, an
/// out-of-memory moment, one expandable segment grown and shrunk.
std::string snapshot(bool times = true)
{
    Pickler out;
    std::int64_t time = 1000;
    const auto entry = [&](const std::string& action, Fields fields) {
        if (times) fields.emplace_back("time_us", time++);
        dict(out, "action", action, fields);
    };
    out.raw("}(").text("segments").raw("](");
    out.raw("}(").text("device").number(0).text("address").number(16).text("total_size").number(4096).text("is_expandable").raw("\x88");
    out.text("blocks").raw("](");
    dict(out, "state", "active_allocated", {{"address", 0x10}, {"size", 512}, {"requested_size", 100}});
    dict(out, "state", "active_allocated", {{"address", 0x20}, {"size", 512}, {"requested_size", 70}});
    dict(out, "state", "inactive", {{"address", 0x30}, {"size", 3072}, {"requested_size", 9}});
    out.raw("eue").text("device_traces").raw("](](");
    entry("free_requested", {{"addr", 0x20}, {"size", 50}});
    entry("free_completed", {{"addr", 0x20}, {"size", 50}});
    entry("segment_map", {{"addr", 0x1000}, {"size", 2048}});
    entry("segment_unmap", {{"addr", 0x1000}, {"size", 2048}});
    entry("oom", {{"size", 1 << 30}, {"device_free", 12345}});
    entry("alloc", {{"addr", 0x20}, {"size", 70}});
    out.raw("eeu");
    return out.bytes();
}

} // namespace

class MemorySnapshotTest : public QObject {
    Q_OBJECT

private slots:
    void replay_data()
    {
        QTest::addColumn<bool>("times");
        QTest::newRow("with times") << true;
        QTest::newRow("without times") << false;
    }
    void replay()
    {
        QFETCH(bool, times);
        const Imported trace = importText(snapshot(times), "snapshot_rank3.pickle");
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks[0].rank, RankId{3});
        const auto& curve = trace.data->memory.at(RankId{3});
        QCOMPARE(curve.front().total(), std::int64_t{150});
        QCOMPARE(curve.back().total(), std::int64_t{170});
        QCOMPARE(trace.data->info.counts.allocations, std::int64_t{3});
        QCOMPARE(trace.data->events.size(), std::size_t{1});
        QCOMPARE(trace.data->events[0].kind, EventKind::OutOfMemory);
        QCOMPARE(trace.data->memorySummaries.front().peakReservedBytes.value(), std::int64_t{4096 + 2048});
        QCOMPARE(factsFromAudit(trace.data->info.audit)->memPeakReservedBytes.value(), std::int64_t{4096 + 2048});
    }

    /// What torch.cuda.memory_snapshot() gives: the segments without a history.
    void segmentsAlone()
    {
        Pickler out;
        out.raw("](}(").text("device").number(0).text("address").number(16).text("total_size").number(4096).text("blocks").raw("](");
        dict(out, "state", "active_allocated", {{"address", 16}, {"size", 512}, {"requested_size", 100}});
        dict(out, "state", "inactive", {{"address", 528}, {"size", 3584}, {"requested_size", 0}});
        out.raw("eue");
        const Imported trace = importText(out.bytes(), "segments.pickle");
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->memory.at(RankId{0}).back().total(), std::int64_t{100});
        QVERIFY(!importText(Pickler().raw("](").number(7).raw("e").bytes(), "numbers.pickle").data);
    }

    void annotationsOfNoDevice()
    {
        Pickler out;
        out.raw("}(").text("segments").raw("](}(").text("device").number(1).text("address").number(16).text("total_size").number(512).text("blocks").raw("](");
        dict(out, "state", "active_allocated", {{"address", 16}, {"size", 512}, {"requested_size", 100}});
        out.raw("eue").text("external_annotations").raw("](");
        for (const std::int64_t device : {-1, 1, 7}) {
            dict(out, "stage", "START", {{"device", device}, {"time_us", 100 + device}});
            dict(out, "stage", "END", {{"device", device}, {"time_us", 200 + device}});
        }
        dict(out, "stage", "START", {{"device", 1}, {"time_us", -5}});
        out.raw("eu");
        const Imported trace = importText(out.bytes(), "annotations.pickle");
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.counts.slices, std::int64_t{3});
        QCOMPARE(trace.audit("snapshot_records_unread"), std::int64_t{1});
    }

    /// One list of frames that three entries share: two of one batch, and one that comes after its places were used again.
    void sharedFrames()
    {
        Pickler out;
        const auto entry = [&out](std::int64_t address, const std::string& frames) {
            out.raw("}(").text("action").text("alloc").text("addr").number(address).text("size").number(64).text("frames").raw(frames).raw("u");
        };
        Pickler list;
        list.raw("](}(").text("name").text("train").text("filename").text("/home/me/model.py").text("line").number(7).raw("ue\x94");
        const std::string frames = list.bytes().substr(2, list.bytes().size() - 3), again("h\0", 2);
        out.raw("}(").text("device_traces").raw("](](");
        entry(0x10, frames);
        entry(0x20, again);
        out.raw("e(");
        entry(0x30, "](}(\x8c\x04name\x8c\x05other\x8c\x08" "filename\x8c\x04x.pyue");
        entry(0x40, again);
        out.raw("ee").text("segments").raw("]u");
        const Imported trace = importText(out.bytes(), "x.pickle");
        QCOMPARE(trace.error, std::string());
        std::vector<std::string> callers;
        for (const AllocationView& view : trace.data->allocations.begin()->second)
            callers.push_back(view.op ? trace.data->ops[static_cast<std::size_t>(view.op->value)]->name : "none");
        std::sort(callers.begin(), callers.end());
        QCOMPARE(callers, (std::vector<std::string>{"other (x.py:0)", "train (model.py:7)", "train (model.py:7)", "train (model.py:7)"}));
    }

    /// Addresses beyond 2^63 are numbers of nine bytes.
    void addressesOfNineBytes()
    {
        Pickler out;
        out.raw("}(").text("device_traces").raw("](](}(").text("action").text("alloc").text("size").number(64).text("addr");
        out.raw(std::string("\x8a\x09\0\0\0\0\0\0\0\xff\0", 11)).raw("uee").text("segments").raw("]u");
        const Imported trace = importText(out.bytes(), "x.pickle");
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.counts.allocations, std::int64_t{1});
    }

    void realFilesMeetTheirFinalState_data()
    {
        QTest::addColumn<QString>("path");
        for (const std::string& folder : {committedFolder(), largerFolder()})
            if (!folder.empty())
                for (const FactsRow& row : factsTable(folder))
                    if (row.columns.at("format") == "memory-snapshot") QTest::newRow(row.path.c_str()) << QString::fromStdString(row.path);
    }
    void realFilesMeetTheirFinalState()
    {
        QFETCH(QString, path);
        const Imported trace = importPaths({path.toStdString()});
        QCOMPARE(trace.error, std::string());
        const auto facts = factsFromAudit(trace.data->info.audit);
        const auto& curve = trace.data->memory.begin()->second;
        QCOMPARE(curve.back().total(), *facts->memActiveRequestedBytes);
        std::int64_t peak = 0;
        for (const MemorySample& sample : curve) peak = std::max(peak, sample.total());
        QCOMPARE(peak, *facts->memPeakRequestedBytes);
        QCOMPARE(trace.audit("final_blocks_unmatched"), std::int64_t{0});
    }

    void hostile_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& bytes, const char* says) {
            QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << says;
        };
        const std::string begin("\x80\x04", 2);
        row("os.system", begin + "cos\nsystem\n(\x8c\x02idtR.", "run code");
        row("stack global", begin + "\x8c\x02os\x8c\x06system\x93.", "run code");
        row("memo out of range", begin + "h\x05.", "memo");
        row("a list that holds itself", begin + "]\x94h" + std::string(1, '\0') + "a.", "holds itself");
        row("a length of 2^40", begin + "\x8d" + std::string("\0\0\0\0\0\1\0\0", 8) + "x", "bytes");
        row("cut", snapshot().substr(0, 60), "cut");
        row("empty stack", begin + ".", "empty");
        row("marks that are not there", begin + "u.", "mark");
        row("odd dict", begin + "}(K\x01u.", "damaged");
        row("a number", begin + "K\x01.", "no memory snapshot");
    }
    void hostile()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        const Imported trace = importText(bytes.toStdString(), "x.pickle");
        QVERIFY(!trace.data);
        QVERIFY2(trace.error.find(says.toStdString()) != std::string::npos, trace.error.c_str());
    }

    void purposeOfBuffers()
    {
        const auto at = [](std::int64_t ns) { return Instant{ns}; };
        const std::vector<TimeRange> optimizer{{at(80), at(100)}, {at(180), at(200)}};
        const std::vector<BufferLife> buffers{
            {at(0), {}, 100, 0x1000},          // a weight and, behind it, Adam's two states
            {at(0), {}, 100, 0x2000},
            {at(0), {}, 100, 0x3000},
            {at(10), at(60), 40, 0},           // made forward, freed backward
            {at(20), at(55), 40, 0},
            {at(30), at(32), 5, 0},
            {at(50), at(110), 100, 0},         // a gradient
            {at(85), at(95), 7, 0},            // of the optimizer's own
        };
        using enum MemoryCategory;
        const std::vector<MemoryCategory> expected{Weights, OptimizerState, OptimizerState, Activations, Activations, Activations, Gradients, Temporaries};
        QVERIFY(inferCategories(buffers, optimizer, true) == expected);
        QVERIFY(inferCategories(buffers, {}, true) == std::vector<MemoryCategory>(buffers.size(), Other));
        // State that the optimizer is seen to make, and a temporary beside the peak.
        const std::vector<BufferLife> first{{at(0), {}, 100, 0}, {at(90), {}, 100, 0}, {at(110), at(120), 5, 0}, {at(130), at(170), 50, 0}};
        QVERIFY((inferCategories(first, optimizer, true) == std::vector<MemoryCategory>{Weights, OptimizerState, Temporaries, Activations}));
    }
};

QTEST_GUILESS_MAIN(MemorySnapshotTest)
#include "tst_memory_snapshot.moc"
