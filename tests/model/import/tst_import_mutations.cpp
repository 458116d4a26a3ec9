// SPDX-License-Identifier: Apache-2.0
// Damaged files: every committed profile cut at random places and with random bytes changed ends in a trace with
// audit counters or in one clear message. tests/slow/tst_damaged_profiles.cpp does the same for all files, and more.
#include "tests/model/import/damaged_files.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <random>

namespace tst_import_mutations {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr std::size_t kLargest = 300'000; ///< unpacked bytes of a file that every run mutates

} // namespace

class ImportMutationsTest : public QObject {
    Q_OBJECT

private slots:
    void damaged_data()
    {
        QTest::addColumn<QString>("path");
        for (const FactsRow& row : factsTable(committedFolder()))
            QTest::newRow(row.path.c_str()) << QString::fromStdString(row.path);
    }
    void damaged()
    {
        QFETCH(QString, path);
        if (bytesOf(path.toStdString(), true).size() > kLargest) QSKIP("too large for every run");
        const std::string wrong = importDamagedCopies(path.toStdString(), 4);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    /// Text put together from the pieces that such files are made of.
    void nonsense()
    {
        static const std::vector<std::string> kPieces{"{",
                                                      "}",
                                                      "[",
                                                      "]",
                                                      ",",
                                                      ":",
                                                      "\"",
                                                      "\\",
                                                      "\"ph\":",
                                                      "\"X\"",
                                                      "\"B\"",
                                                      "\"E\"",
                                                      "\"b\"",
                                                      "\"e\"",
                                                      "\"s\"",
                                                      "\"f\"",
                                                      "\"C\"",
                                                      "\"M\"",
                                                      "\"i\"",
                                                      "\"ts\":",
                                                      "\"dur\":",
                                                      "\"pid\":",
                                                      "\"tid\":",
                                                      "\"args\":{",
                                                      "\"name\":\"[memory]\"",
                                                      "\"cat\":\"kernel\"",
                                                      "\"cat\":\"cpu_op\"",
                                                      "\"cat\":\"cuda_runtime\"",
                                                      "\"correlation\":",
                                                      "1",
                                                      "-1",
                                                      "1e300",
                                                      "99999999999999999999",
                                                      "2305843009213693.951",
                                                      "-2305843009213693.951",
                                                      "0.0001",
                                                      "nan",
                                                      "null",
                                                      "\"traceEvents\":[",
                                                      "\"baseTimeNanoseconds\":",
                                                      "\"Bytes\":",
                                                      "\"Addr\":",
                                                      "\"Total Allocated\":",
                                                      "\"Input Dims\":[[1,2],[2,3]]",
                                                      "\"name\":\"aten::mm\"",
                                                      "\"distributedInfo\":{\"rank\":",
                                                      "\"id\":",
                                                      " ",
                                                      "\n",
                                                      "\xff"};
        std::mt19937_64 random(7);
        for (int i = 0; i < 800; ++i) {
            std::string text = random() % 2 ? "[" : "{\"traceEvents\":[";
            const std::size_t pieces = 1 + random() % 120;
            for (std::size_t n = 0; n < pieces; ++n) text += kPieces[random() % kPieces.size()];
            const Imported trace = importText(text);
            QVERIFY2(soundOutcome(trace), (text + "\n" + trace.error).c_str());
        }
    }

    /// Found by fuzzing: the longest slices there can be add up to more than 64 bits.
    void longestSlices()
    {
        std::string text = "[";
        for (int i = 0; i < 9; ++i)
            text += std::string(i ? "," : "") + "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\","
                                                "\"pid\":0,\"tid\":7,\"ts\":-2305843009213692,\"dur\":2305843009213693,"
                                                "\"args\":{\"stream\":7,\"Collective name\":\"allreduce\",\"In msg "
                                                "nelems\":4398046511103,\"dtype\":\"Double\"}}";
        const Imported trace = importText(text + "]");
        QVERIFY2(trace.data && soundOutcome(trace), trace.error.c_str());
        QCOMPARE(trace.data->slices.size(), std::size_t{9});
        QCOMPARE(trace.data->opSummaries[0].total.ns, INT64_MAX);
    }

    /// Events that are whole, with every field drawn from extremes.
    void extremeEvents()
    {
        static const std::vector<std::string> kTimes{
            "0",     "-1",   "1", "2305843009213693.951", "-2305843009213693.951", "1712170998123456.789", "1e-9",
            "\"5\"", "null", "[]"};
        static const std::vector<std::string> kCategories{"kernel",
                                                          "cpu_op",
                                                          "cuda_runtime",
                                                          "gpu_memcpy",
                                                          "user_annotation",
                                                          "gpu_user_annotation",
                                                          "fwdbwd",
                                                          "ac2g",
                                                          "",
                                                          "python_function",
                                                          "collective_comm",
                                                          "mtia_ccp_events"};
        static const std::vector<std::string> kNames{
            "ncclKernel_AllReduce",     "aten::convolution", "aten::mm",           "ProfilerStep#1",
            "ProfilerStep#99999999999", "[memory]",          "record_param_comms", "x"};
        static const std::string kPhases = "XBEbensftCMiISFTpNODRPcVv";
        std::mt19937_64 random(11);
        const auto pick = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
        for (int i = 0; i < 200; ++i) {
            std::string text = "{\"baseTimeNanoseconds\":" + pick({"0", "1700000000000000000", "2305843009213693951"}) +
                               ",\"traceEvents\":[";
            for (int n = 0; n < 40; ++n) {
                text += n ? "," : "";
                text +=
                    "{\"ph\":\"" + std::string(1, kPhases[random() % kPhases.size()]) + "\",\"cat\":\"" +
                    pick(kCategories) + "\",\"name\":\"" + pick(kNames) +
                    "\",\"pid\":" + pick({"0", "1", "\"a\"", "-1"}) + ",\"tid\":" + pick({"0", "7", "\"stream 7\""}) +
                    ",\"ts\":" + pick(kTimes) + ",\"dur\":" + pick(kTimes) + ",\"id\":" + pick({"1", "2", "\"0x1\""}) +
                    ",\"args\":{\"correlation\":" + pick({"1", "2", "-1", "18446744073709551615"}) +
                    ",\"stream\":" + pick({"7", "20", "null"}) +
                    ",\"device\":0,\"Bytes\":" + pick({"512", "-512", "9223372036854775807", "-9223372036854775808"}) +
                    ",\"Addr\":" + pick({"4096", "0", "-1"}) +
                    ",\"Total Allocated\":" + pick({"0", "9223372036854775807", "1024"}) +
                    ",\"Collective name\":\"allreduce\",\"In msg nelems\":" + pick({"1", "9223372036854775807"}) +
                    ",\"Group size\":" + pick({"0", "2", "2147483647"}) +
                    ",\"Process Group Ranks\":\"[0, 1, ... ]\",\"Input Dims\":[[9223372036854775807,2],[2,1]]" +
                    ",\"Device Type\":" + pick({"0", "1"}) + ",\"v\":1e308}}";
            }
            const Imported trace = importText(text + "]}");
            QVERIFY2(
                trace.data && soundOutcome(trace),
                (trace.error + " invalid " + std::to_string(trace.audit("invalid_records")) + "\n" + text).c_str());
        }
    }
};

FOURWALLS_TEST(ImportMutationsTest, QCoreApplication)

} // namespace tst_import_mutations

#include "tst_import_mutations.moc"
