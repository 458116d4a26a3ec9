// SPDX-License-Identifier: Apache-2.0
// Percentiles of operators against SQL on the rows, on random traces with and without steps; and where only a hundredth
// is told apart.
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/op_durations.h"
#include "model/trace/user_query.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

namespace tst_op_durations {

using namespace fourwalls;

namespace {

std::int64_t integer(const UserValue& value)
{
    return std::get<std::int64_t>(value);
}

/// The nearest rank: the n-th of c by duration is the smallest that at least 50 (99) of 100 do not exceed.
constexpr const char* kSql = R"(
WITH counted AS (
  SELECT s.op, s.dur, row_number() OVER (PARTITION BY s.op ORDER BY s.dur) AS n, count(*) OVER (PARTITION BY s.op) AS c
  FROM slice s JOIN run r ON r.id = s.run JOIN track t ON t.id = r.track
  WHERE NOT EXISTS (SELECT 1 FROM step) OR EXISTS (
    SELECT 1 FROM step p WHERE p.rank = t.rank AND p.warmup = 0 AND p.start <= s.start AND s.start < p.end))
SELECT op, c, min(dur) FILTER (WHERE 100 * n >= 50 * c), min(dur) FILTER (WHERE 100 * n >= 99 * c)
FROM counted GROUP BY op ORDER BY op)";

} // namespace

class OpDurationsTest : public QObject {
    Q_OBJECT

private slots:
    void percentilesEqualSql_data()
    {
        QTest::addColumn<quint64>("seed");
        QTest::addColumn<int>("steps");
        for (const int steps : {5, 0})
            for (const quint64 seed : {quint64{3}, quint64{17}, quint64{4711}})
                QTest::addRow("seed %llu, %d steps", static_cast<unsigned long long>(seed), steps) << seed << steps;
    }
    void percentilesEqualSql()
    {
        QFETCH(quint64, seed);
        QFETCH(int, steps);
        test::RandomTraceSize size;
        size.slicesPerTrack = 900;
        size.allocationsPerRank = 1;
        size.steps = steps;
        QTemporaryDir folder;
        const std::string path = folder.filePath("random.fourwalls").toStdString();
        test::RandomTrace forFile(seed, size), forMemory(seed, size);
        auto writer = store::TraceWriter::create(path, forFile.header());
        QVERIFY(writer.ok());
        forFile.write(**writer);
        QVERIFY((*writer)->finish(forFile.closing()).ok());
        auto file = store::openTrace(path);
        QVERIFY(file.ok());
        InMemoryTrace memory(forMemory.header());
        forMemory.write(memory);
        QVERIFY(memory.finish(forMemory.closing()).ok());
        InMemoryTraceQuery inMemory(memory.data());

        UserQuery sql;
        sql.text = kSql;
        const auto expected = askInSql(**file, sql);
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message().c_str());
        QVERIFY(expected->rows.size() > 30);
        for (TraceQuery* trace : {file->get(), static_cast<TraceQuery*>(&inMemory)}) {
            const auto durations = opDurations(*trace);
            const auto rough = opDurations(*trace, {}, 500);
            QVERIFY(durations.ok() && rough.ok());
            std::size_t counted = 0;
            for (const DurationDistribution& each : *durations) counted += each.count() > 0 ? 1 : 0;
            QCOMPARE(counted, expected->rows.size());
            for (const auto& row : expected->rows) {
                const auto op = static_cast<std::size_t>(integer(row[0]));
                const DurationDistribution& of = (*durations)[op];
                QVERIFY(of.isExact());
                QCOMPARE(of.count(), integer(row[1]));
                QCOMPARE(of.percentile(0.5)->ns, integer(row[2]));
                QCOMPARE(of.percentile(0.99)->ns, integer(row[3]));
                QCOMPARE((*rough)[op].count(), integer(row[1]));
                for (const auto& [share, exact] : {std::pair(0.5, integer(row[2])), std::pair(0.99, integer(row[3]))}) {
                    const auto close = static_cast<double>((*rough)[op].percentile(share)->ns);
                    QVERIFY(std::abs(close - static_cast<double>(exact)) <= 0.01 * static_cast<double>(exact));
                }
            }
            // What is counted is what the sums beside it count.
            const auto sums = trace->opSummaries(1000);
            QVERIFY(sums.ok());
            for (const OpSummary& sum : *sums) {
                const DurationDistribution& of = (*durations)[static_cast<std::size_t>(sum.op.value)];
                QCOMPARE(of.count(), sum.count);
                QCOMPARE(*of.percentile(1), sum.longest);
            }
        }
    }

    void stops()
    {
        test::RandomTrace random(1);
        InMemoryTrace memory(random.header());
        random.write(memory);
        QVERIFY(memory.finish(random.closing()).ok());
        InMemoryTraceQuery trace(memory.data());
        std::stop_source stop;
        stop.request_stop();
        const auto durations = opDurations(trace, stop.get_token());
        QVERIFY(!durations.ok());
        QCOMPARE(durations.error().code, ErrorCode::Cancelled);
    }
};

FOURWALLS_TEST(OpDurationsTest, QCoreApplication)

} // namespace tst_op_durations

#include "tst_op_durations.moc"
