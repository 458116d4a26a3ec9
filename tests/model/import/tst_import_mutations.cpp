// SPDX-License-Identifier: Apache-2.0
// Damaged files: every committed profile cut at random places and with random bytes changed ends in a trace with
// audit counters or in one clear message. The same mutations every time; FOURWALLS_TRACES adds the larger set.
#include "model/import/byte_source.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"

#include <QTest>

#include <random>

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr std::size_t kLargest = 300'000;   ///< unpacked bytes of a file that every run mutates

std::string bytesOf(const std::string& path, bool unpack)
{
    std::string bytes;
    if (!unpack) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    const auto source = openByteSource(path);
    std::vector<char> piece(1 << 16);
    for (;;) {
        const auto got = source.ok() ? (*source)->read(piece.data(), piece.size()) : Result<std::size_t>(std::size_t{0});
        if (!got.ok() || *got == 0) return bytes;
        bytes.append(piece.data(), *got);
    }
}

/// Whether an import ended as it should.
bool soundOutcome(const Imported& trace)
{
    if (!trace.data) return !trace.error.empty() && trace.error.find('\n') == std::string::npos;
    return trace.error.empty() && trace.audit("invalid_records") == 0;
}

} // namespace

class ImportMutationsTest : public QObject {
    Q_OBJECT

private slots:
    void damaged_data()
    {
        QTest::addColumn<QString>("path");
        for (const std::string& folder : {committedFolder(), largerFolder()})
            if (!folder.empty())
                for (const FactsRow& row : factsTable(folder))
                    QTest::newRow(row.path.c_str()) << QString::fromStdString(row.path);
    }
    void damaged()
    {
        QFETCH(QString, path);
        const std::string file = path.toStdString();
        const std::string packed = bytesOf(file, false), plain = bytesOf(file, true);
        const bool everyRun = largerFolder().empty();
        if (everyRun && plain.size() > kLargest) QSKIP("too large for every run");
        const QTemporaryDir folder;
        const std::string name = file.substr(file.find_last_of('/') + 1);
        std::mt19937_64 random(std::hash<std::string>{}(name));
        const auto check = [&](const std::string& bytes, const char* what) {
            const Imported trace = importPaths({writeFile(folder, name, bytes)});
            if (soundOutcome(trace)) return;
            writeFile(folder, "failed", bytes);
            QFAIL((std::string(what) + ": " + trace.error).c_str());
        };
        const int rounds = everyRun ? 4 : 20;
        for (int i = 0; i < rounds; ++i) {
            check(plain.substr(0, random() % (plain.size() + 1)), "cut");
            check(packed.substr(0, random() % (packed.size() + 1)), "packed and cut");
            std::string changed = plain;
            for (std::size_t n = 1 + random() % 1000; n > 0 && !changed.empty(); --n)
                changed[random() % changed.size()] = static_cast<char>(random());
            check(changed, "changed");
            std::string few = plain;
            for (std::size_t n = 1 + random() % 5; n > 0 && !few.empty(); --n) few[random() % few.size()] ^= static_cast<char>(1 << random() % 8);
            check(few, "a few bits");
            std::string damagedPacking = packed;
            for (std::size_t n = 1 + random() % 5; n > 0 && !damagedPacking.empty(); --n)
                damagedPacking[random() % damagedPacking.size()] = static_cast<char>(random());
            check(damagedPacking, "packed and changed");
        }
    }

    /// Text put together from the pieces that such files are made of.
    void nonsense()
    {
        static const std::vector<std::string> kPieces{
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\"ph\":", "\"X\"", "\"B\"", "\"E\"", "\"b\"", "\"e\"", "\"s\"", "\"f\"",
            "\"C\"", "\"M\"", "\"i\"", "\"ts\":", "\"dur\":", "\"pid\":", "\"tid\":", "\"args\":{", "\"name\":\"[memory]\"",
            "\"cat\":\"kernel\"", "\"cat\":\"cpu_op\"", "\"cat\":\"cuda_runtime\"", "\"correlation\":", "1", "-1", "1e300", "99999999999999999999",
            "2305843009213693.951", "-2305843009213693.951", "0.0001", "nan", "null", "\"traceEvents\":[", "\"baseTimeNanoseconds\":", "\"Bytes\":", "\"Addr\":",
            "\"Total Allocated\":", "\"Input Dims\":[[1,2],[2,3]]", "\"name\":\"aten::mm\"", "\"distributedInfo\":{\"rank\":", "\"id\":", " ", "\n", "\xff"};
        std::mt19937_64 random(7);
        for (int i = 0; i < 800; ++i) {
            std::string text = random() % 2 ? "[" : "{\"traceEvents\":[";
            const std::size_t pieces = 1 + random() % 120;
            for (std::size_t n = 0; n < pieces; ++n) text += kPieces[random() % kPieces.size()];
            const Imported trace = importText(text);
            QVERIFY2(soundOutcome(trace), (text + "\n" + trace.error).c_str());
        }
    }

    /// Events that are whole, with every field drawn from extremes.
    void extremeEvents()
    {
        static const std::vector<std::string> kTimes{"0", "-1", "1", "2305843009213693.951", "-2305843009213693.951", "1712170998123456.789", "1e-9", "\"5\"", "null", "[]"};
        static const std::vector<std::string> kCategories{"kernel", "cpu_op", "cuda_runtime", "gpu_memcpy", "user_annotation", "gpu_user_annotation", "fwdbwd", "ac2g", "", "python_function", "collective_comm", "mtia_ccp_events"};
        static const std::vector<std::string> kNames{"ncclKernel_AllReduce", "aten::convolution", "aten::mm", "ProfilerStep#1", "ProfilerStep#99999999999", "[memory]", "record_param_comms", "x"};
        static const std::string kPhases = "XBEbensftCMiISFTpNODRPcVv";
        std::mt19937_64 random(11);
        const auto pick = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
        for (int i = 0; i < 200; ++i) {
            std::string text = "{\"baseTimeNanoseconds\":" + pick({"0", "1700000000000000000", "2305843009213693951"}) + ",\"traceEvents\":[";
            for (int n = 0; n < 40; ++n) {
                text += n ? "," : "";
                text += "{\"ph\":\"" + std::string(1, kPhases[random() % kPhases.size()]) + "\",\"cat\":\"" + pick(kCategories) + "\",\"name\":\"" + pick(kNames) +
                        "\",\"pid\":" + pick({"0", "1", "\"a\"", "-1"}) + ",\"tid\":" + pick({"0", "7", "\"stream 7\""}) + ",\"ts\":" + pick(kTimes) + ",\"dur\":" + pick(kTimes) +
                        ",\"id\":" + pick({"1", "2", "\"0x1\""}) + ",\"args\":{\"correlation\":" + pick({"1", "2", "-1", "18446744073709551615"}) + ",\"stream\":" + pick({"7", "20", "null"}) +
                        ",\"device\":0,\"Bytes\":" + pick({"512", "-512", "9223372036854775807", "-9223372036854775808"}) + ",\"Addr\":" + pick({"4096", "0", "-1"}) +
                        ",\"Total Allocated\":" + pick({"0", "9223372036854775807", "1024"}) + ",\"Collective name\":\"allreduce\",\"In msg nelems\":" + pick({"1", "9223372036854775807"}) +
                        ",\"Group size\":" + pick({"0", "2", "2147483647"}) + ",\"Process Group Ranks\":\"[0, 1, ... ]\",\"Input Dims\":[[9223372036854775807,2],[2,1]]" +
                        ",\"Device Type\":" + pick({"0", "1"}) + ",\"v\":1e308}}";
            }
            const Imported trace = importText(text + "]}");
            QVERIFY2(trace.data && soundOutcome(trace), (trace.error + " invalid " + std::to_string(trace.audit("invalid_records")) + "\n" + text).c_str());
        }
    }
};

QTEST_GUILESS_MAIN(ImportMutationsTest)
#include "tst_import_mutations.moc"
