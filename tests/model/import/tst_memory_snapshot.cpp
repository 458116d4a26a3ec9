// SPDX-License-Identifier: Apache-2.0
// Memory snapshots: the replay meets the final state, and pickles that want to run code or are damaged are refused.
#include "model/import/common/byte_source.h"
#include "model/import/common/memory_categories.h"
#include "model/import/snapshot/memory_snapshot.h"
#include "model/import/snapshot/pickle_reader.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTest>

namespace tst_memory_snapshot {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

/// Writes the opcodes of protocol 4 by hand.
class Pickler {
public:
    Pickler& raw(const std::string& bytes)
    {
        m_bytes += bytes;
        return *this;
    }
    Pickler& text(const std::string& value)
    {
        return raw("\x8c").raw(std::string(1, static_cast<char>(value.size()))).raw(value);
    }
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
    out.raw("}(")
        .text("device")
        .number(0)
        .text("address")
        .number(16)
        .text("total_size")
        .number(4096)
        .text("is_expandable")
        .raw("\x88");
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

/// The same snapshot as Python writes it in this protocol (0, 1 or 4): a segment at an address beyond 2^63 with a block
/// that the history brings, another buffer that comes and goes, frames that all share.
std::string pickledAs(int protocol)
{
    if (protocol == 0)
        return std::string(
            "(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI0\nsVaddress\np5\nL9223372036854775824L\nsVtotal_size"
            "\np6\nI4096\nsVis_expandable\np7\nI00\nsVsegment_pool_id\np8\n(I0\nI0\ntp9\nsVblocks\np10\n(lp11\n(d"
            "p12\ng5\nL9223372036854775824L\nsVsize\np13\nI512\nsVrequested_size\np14\nI100\nsVstate\np15\nVactiv"
            "e_allocated\np16\nsVframes\np17\n(lp18\n(dp19\nVname\np20\nVcaf\351\np21\nsVfilename\np22\nVa\\u005c"
            "b.py\np23\nsVline\np24\nI7\nsasa(dp25\ng5\nL9223372036854776336L\nsg13\nI3584\nsg14\nI0\nsg15\nVinac"
            "tive\np26\nsg17\n(lp27\nsasasVdevice_traces\np28\n(lp29\n(lp30\n(dp31\nVaction\np32\nValloc\np33\nsV"
            "addr\np34\nL9223372036854775824L\nsg13\nI100\nsVstream\np35\nI0\nsVtime_us\np36\nL1000000000000000L\n"
            "sg17\ng18\nsa(dp37\ng32\ng33\nsg34\nI32\nsg13\nI50\nsg35\nI0\nsg36\nL1000000000000002L\nsg17\ng18\ns"
            "Vuser_metadata\np38\nNsVratio\np39\nF0.5\nsa(dp40\ng32\nVfree_completed\np41\nsg34\nI32\nsg13\nI50\n"
            "sg35\nI0\nsg36\nL1000000000000003L\nsg17\n(lp42\nsaa(lp43\nas.",
            839);
    if (protocol == 1)
        return std::string(
            "}q\000(X\010\000\000\000segmentsq\001]q\002}q\003(X\006\000\000\000deviceq\004K\000X\007\000\000\000"
            "addressq\005L9223372036854775824L\012X\012\000\000\000total_sizeq\006M\000\020X\015\000\000\000is_ex"
            "pandableq\007I00\012X\017\000\000\000segment_pool_idq\010(K\000K\000tq\011X\006\000\000\000blocksq\012"
            "]q\013(}q\014(h\005L9223372036854775824L\012X\004\000\000\000sizeq\015M\000\002X\016\000\000\000requ"
            "ested_sizeq\016KdX\005\000\000\000stateq\017X\020\000\000\000active_allocatedq\020X\006\000\000\000f"
            "ramesq\021]q\022}q\023(X\004\000\000\000nameq\024X\005\000\000\000caf\303\251q\025X\010\000\000\000f"
            "ilenameq\026X\006\000\000\000a\\b.pyq\027X\004\000\000\000lineq\030K\007uau}q\031(h\005L922337203685"
            "4776336L\012h\015M\000\016h\016K\000h\017X\010\000\000\000inactiveq\032h\021]q\033ueuaX\015\000\000\000"
            "device_tracesq\034]q\035(]q\036(}q\037(X\006\000\000\000actionq X\005\000\000\000allocq!X\004\000\000"
            "\000addrq\"L9223372036854775824L\012h\015KdX\006\000\000\000streamq#K\000X\007\000\000\000time_usq$L"
            "1000000000000000L\012h\021h\022u}q%(h h!h\"K h\015K2h#K\000h$L1000000000000002L\012h\021h\022X\015\000"
            "\000\000user_metadataq&NX\005\000\000\000ratioq'G?\340\000\000\000\000\000\000u}q((h X\016\000\000\000"
            "free_completedq)h\"K h\015K2h#K\000h$L1000000000000003L\012h\021]q*ue]q+eu.",
            726);
    return std::string(
        "\200\004\225\013\002\000\000\000\000\000\000}\224(\214\010segments\224]\224}\224(\214\006device\224K"
        "\000\214\007address\224\212\011\020\000\000\000\000\000\000\200\000\214\012total_size\224M\000\020\214"
        "\015is_expandable\224\211\214\017segment_pool_id\224K\000K\000\206\224\214\006blocks\224]\224(}\224("
        "h\005\212\011\020\000\000\000\000\000\000\200\000\214\004size\224M\000\002\214\016requested_size\224"
        "Kd\214\005state\224\214\020active_allocated\224\214\006frames\224]\224}\224(\214\004name\224\214\005"
        "caf\303\251\224\214\010filename\224\214\006a\\b.py\224\214\004line\224K\007uau}\224(h\005\212\011\020"
        "\002\000\000\000\000\000\200\000h\015M\000\016h\016K\000h\017\214\010inactive\224h\021]\224ueua\214\015"
        "device_traces\224]\224(]\224(}\224(\214\006action\224\214\005alloc\224\214\004addr\224\212\011\020\000"
        "\000\000\000\000\000\200\000h\015Kd\214\006stream\224K\000\214\007time_us\224\212\007\000\200\306\244"
        "~\215\003h\021h\022u}\224(h h!h\"K h\015K2h#K\000h$\212\007\002\200\306\244~\215\003h\021h\022\214\015"
        "user_metadata\224N\214\005ratio\224G?\340\000\000\000\000\000\000u}\224(h \214\016free_completed\224"
        "h\"K h\015K2h#K\000h$\212\007\003\200\306\244~\215\003h\021]\224ue]\224eu.",
        534);
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
        out.raw("](}(")
            .text("device")
            .number(0)
            .text("address")
            .number(16)
            .text("total_size")
            .number(4096)
            .text("blocks")
            .raw("](");
        dict(out, "state", "active_allocated", {{"address", 16}, {"size", 512}, {"requested_size", 100}});
        dict(out, "state", "inactive", {{"address", 528}, {"size", 3584}, {"requested_size", 0}});
        out.raw("eue");
        const Imported trace = importText(out.bytes(), "segments.pickle");
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->memory.at(RankId{0}).back().total(), std::int64_t{100});
        QVERIFY(!importText(Pickler().raw("](").number(7).raw("e").bytes(), "numbers.pickle").data);
    }

    /// PyTorch writes 2 to 5, but a script may pickle what it was given in an older one.
    void olderProtocols()
    {
        const Imported usual = importText(pickledAs(4), "usual.pickle");
        QCOMPARE(usual.error, std::string());
        QCOMPARE(usual.data->info.counts.allocations, std::int64_t{2});
        for (const int protocol : {0, 1}) {
            const std::string bytes = pickledAs(protocol);
            const Imported trace = importText(bytes, "older.pickle");
            QCOMPARE(trace.error, std::string());
            QVERIFY(toAudit(*factsFromAudit(trace.data->info.audit)).detail ==
                    toAudit(*factsFromAudit(usual.data->info.audit)).detail);
            QCOMPARE(trace.data->ops.size(), usual.data->ops.size());
            for (std::size_t i = 0; i < usual.data->ops.size(); ++i) {
                QCOMPARE(trace.data->ops[i]->name, usual.data->ops[i]->name);
                QCOMPARE(trace.data->ops[i]->detail, usual.data->ops[i]->detail);
            }
            for (std::size_t size = 0; size < bytes.size(); size += 11)
                QVERIFY(!importText(bytes.substr(0, size), "cut.pickle").data);
        }
        for (const char* hostile : {"(dp0\ncos\nsystem\np1\n.", "(dp0\nI1\nI99999999999999999999\ns.", "(lp0\ng7\na.",
                                    "(lp0\ng0\na.", "(dp0\np-1\nd.", "(lp0\nF1.x\na."}) {
            const Imported refused = importText(hostile, "hostile.pickle");
            QVERIFY(!refused.data);
            QVERIFY2(refused.error.find("no memory snapshot") != std::string::npos, refused.error.c_str());
        }
    }

    void annotationsOfNoDevice()
    {
        Pickler out;
        out.raw("}(")
            .text("segments")
            .raw("](}(")
            .text("device")
            .number(1)
            .text("address")
            .number(16)
            .text("total_size")
            .number(512)
            .text("blocks")
            .raw("](");
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
            out.raw("}(")
                .text("action")
                .text("alloc")
                .text("addr")
                .number(address)
                .text("size")
                .number(64)
                .text("frames")
                .raw(frames)
                .raw("u");
        };
        Pickler list;
        list.raw("](}(")
            .text("name")
            .text("train")
            .text("filename")
            .text("/home/me/model.py")
            .text("line")
            .number(7)
            .raw("ue\x94");
        const std::string frames = list.bytes().substr(2, list.bytes().size() - 3), again("h\0", 2);
        out.raw("}(").text("device_traces").raw("](](");
        entry(0x10, frames);
        entry(0x20, again);
        out.raw("e(");
        entry(0x30, "](}(\x8c\x04name\x8c\x05other\x8c\x08"
                    "filename\x8c\x04x.pyue");
        entry(0x40, again);
        out.raw("ee").text("segments").raw("]u");
        const Imported trace = importText(out.bytes(), "x.pickle");
        QCOMPARE(trace.error, std::string());
        std::vector<std::string> callers;
        for (const AllocationView& view : trace.data->allocations.begin()->second)
            callers.push_back(view.op ? trace.data->ops[static_cast<std::size_t>(view.op->value)]->name : "none");
        std::sort(callers.begin(), callers.end());
        QCOMPARE(callers, (std::vector<std::string>{"other · x.py", "train · model.py:7", "train · model.py:7",
                                                    "train · model.py:7"}));
    }

    /// Addresses beyond 2^63 are numbers of nine bytes.
    void addressesOfNineBytes()
    {
        Pickler out;
        out.raw("}(")
            .text("device_traces")
            .raw("](](}(")
            .text("action")
            .text("alloc")
            .text("size")
            .number(64)
            .text("addr");
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
                    if (row.columns.at("format") == "memory-snapshot")
                        QTest::newRow(row.path.c_str()) << QString::fromStdString(row.path);
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

    /// As torch/cuda/_memory_viz.py makes it of a snapshot.
    static std::string pageOf(const std::string& pickle)
    {
        const std::string padded = pickle + std::string(3 - pickle.size() % 3, '\0');
        return "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\nimport {add_local_files} "
               "from "
               "\"https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js\"\nconst local_files = "
               "[{\"name\": \"snapshot.pickle\", \"base64\": \"" +
               QByteArray::fromStdString(padded).toBase64().toStdString() +
               "\"}]\nadd_local_files(local_files, 'Active Memory Timeline')\n</script>\n</body>\n";
    }
    void pagesOfTheMemoryViewer()
    {
        const std::string path = committedFolder() + "/MAGMA27__assignment2-systems/memory_snapshot.pickle";
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const std::string pickle = file.readAll().toStdString(), page = pageOf(pickle);
        const Imported own = importPaths({path}), shown = importText(page, "output.html");
        QCOMPARE(own.error, std::string());
        QCOMPARE(shown.error, std::string());
        QVERIFY(own.data->info.counts.allocations > 0);
        QCOMPARE(shown.data->info.counts.allocations, own.data->info.counts.allocations);
        const auto totalsOf = [](const Imported& trace) {
            std::vector<std::pair<Instant, std::int64_t>> totals;
            for (const auto& [rank, curve] : trace.data->memory)
                for (const MemorySample& sample : curve) totals.emplace_back(sample.at, sample.total());
            return totals;
        };
        QVERIFY(totalsOf(shown) == totalsOf(own));
        QVERIFY(!shown.auditRecord("packed_stream_damaged"));

        // Bytes of any number, in any pieces, come out as they were.
        for (std::size_t size = 0; size < 7; ++size) {
            const auto source = memorySource(pageOf(pickle.substr(0, size)), 1);
            const Result<std::string> read = firstBytes(*source, 100);
            QVERIFY(read.ok());
            QCOMPARE(read->substr(0, size), pickle.substr(0, size));
            QVERIFY(read->find_first_not_of('\0', size) == std::string::npos);
        }
        // One that is cut, and one with something else in the middle.
        const Imported cut = importText(page.substr(0, page.size() / 2), "output.html");
        QVERIFY(!cut.error.empty());
        std::string changed = page;
        changed[page.size() / 2] = '<';
        QVERIFY(!importText(changed, "output.html").error.empty());
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
            {at(0), {}, 100, 0x1000}, // a weight and, behind it, Adam's two states
            {at(0), {}, 100, 0x2000}, {at(0), {}, 100, 0x3000}, {at(10), at(60), 40, 0}, // made forward, freed backward
            {at(20), at(55), 40, 0},  {at(30), at(32), 5, 0},   {at(50), at(110), 100, 0}, // a gradient
            {at(85), at(95), 7, 0},                                                        // of the optimizer's own
        };
        using enum MemoryCategory;
        const std::vector<MemoryCategory> expected{Weights,     OptimizerState, OptimizerState, Activations,
                                                   Activations, Activations,    Gradients,      Temporaries};
        QVERIFY(inferCategories(buffers, optimizer, true) == expected);
        QVERIFY(inferCategories(buffers, {}, true) == std::vector<MemoryCategory>(buffers.size(), Other));
        // State that the optimizer is seen to make, and a temporary beside the peak.
        const std::vector<BufferLife> first{
            {at(0), {}, 100, 0}, {at(90), {}, 100, 0}, {at(110), at(120), 5, 0}, {at(130), at(170), 50, 0}};
        QVERIFY((inferCategories(first, optimizer, true) ==
                 std::vector<MemoryCategory>{Weights, OptimizerState, Temporaries, Activations}));
    }
};

FOURWALLS_TEST(MemorySnapshotTest, QCoreApplication)

} // namespace tst_memory_snapshot

#include "tst_memory_snapshot.moc"
