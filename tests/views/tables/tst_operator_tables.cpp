// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of operators and slices, on a trace whose figures can be worked out by hand.
#include <QtTest> // first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"
#include "views/tables/trace_table.h"

#include <cmath>

namespace tst_operator_tables {

using namespace fourwalls;
using namespace fourwalls::views;

class OperatorTablesTest : public QObject {
    Q_OBJECT

    /// 3 layers with 4 products each, and one reduction: what a table of their sums has to say of them.
    static std::shared_ptr<const InMemoryTraceData> threeLayers()
    {
        InMemoryTrace trace(TraceHeader{});
        {
            const TrackId kernels = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 0});
            const auto producer = trace.openProducer();
            std::int64_t at = 0;
            const auto add = [&](const OpInfo& op, std::int64_t duration) {
                producer->slice({kernels, trace.defineOp(op), Instant{at}, Duration{duration}, {}, {}});
                at += duration;
            };
            OpInfo product;
            product.name = "matmul";
            product.kind = SliceKind::Operator;
            product.phase = Phase::Forward;
            for (int layer = 0; layer < 3; ++layer) {
                product.layer = LayerIndex{layer};
                for (int i = 1; i <= 4; ++i) add(product, 100 * i + layer);
            }
            OpInfo sum;
            sum.name = "sum";
            sum.kind = SliceKind::Operator;
            add(sum, 1000);
            StepRecord step;
            step.range = {Instant{0}, Instant{at}};
            producer->step(RankId{0}, step);
        }
        if (!trace.finish({}).ok()) return nullptr;
        return trace.data();
    }

private slots:
    void layersTogether()
    {
        const auto data = threeLayers();
        QVERIFY(data);
        InMemoryTraceQuery query(data);
        const auto single = askTable(query, {TableKind::Operators, query.info().range, RankId{0}}, {});
        const auto table = askTable(query, {TableKind::OperatorSums, query.info().range, RankId{0}}, {});
        QVERIFY(single.ok() && table.ok());
        QCOMPARE(single->rows.size(), std::size_t{4});
        QCOMPARE(table->rows.size(), std::size_t{2});
        const auto& row = table->rows[0]; // most time first
        QCOMPARE(row[0].toString(), QStringLiteral("matmul"));
        QCOMPARE(row[3].toInt(), 3);  // layers
        QCOMPARE(row[4].toInt(), 12); // count
        QCOMPARE(row[5].toLongLong(), 3 * 1000 + 4 * 3);
        QCOMPARE(row[6].toDouble(), 3012.0 / 4012.0);
        QCOMPARE(row[10].toLongLong(), 402);
        QVERIFY(!table->rows[1][3].isValid()); // in no layer
        double shares = 0;
        for (const auto& each : single->rows) shares += each[6].toDouble();
        QVERIFY(std::abs(shares - 1) < 1e-12); // of their kind
    }

    /// Of 100, 101, 102, 200 … 402 half are not longer than 202; of twelve the last is the 99th of a hundred.
    void percentilesOfLayersTogether()
    {
        const auto data = threeLayers();
        QVERIFY(data);
        InMemoryTraceQuery query(data);
        for (const TableKind kind : {TableKind::OperatorSums, TableKind::Operators}) {
            auto sums = askTable(query, {kind, query.info().range, RankId{0}}, {});
            QVERIFY(sums.ok());
            const std::size_t at = sums->percentilesAt;
            QCOMPARE(QString::fromLatin1(sums->columns[at].name), QStringLiteral("p50"));
            QVERIFY(!sums->rows[0][at].isValid()); // not known yet
            const auto table = withPercentiles(query, *sums, {});
            QVERIFY(table.ok() && !table->roughPercentiles);
            const bool together = kind == TableKind::OperatorSums;
            for (const auto& row : table->rows) {
                const bool isSum = row[0].toString() == QStringLiteral("sum");
                const int layer = together || isSum ? 0 : row[2].toInt();
                QCOMPARE(row[at].toLongLong(), isSum ? 1000 : together ? 202 : 200 + layer);
                QCOMPARE(row[at + 1].toLongLong(), isSum ? 1000 : together ? 402 : 400 + layer);
            }
        }
    }

    void ofTooManySlicesTheLongestAreListed()
    {
        const auto data = threeLayers();
        QVERIFY(data);
        InMemoryTraceQuery query(data);
        TableQuestion question{TableKind::Slices, query.info().range, RankId{0}};
        const auto all = askTable(query, question, {});
        QVERIFY(all.ok() && !all->longestFirst);
        QCOMPARE(all->rows.size(), std::size_t{13});
        question.limit = 4;
        const auto few = askTable(query, question, {});
        QVERIFY(few.ok() && few->longestFirst && few->limited);
        QCOMPARE(few->total, qint64{13});
        std::vector<qlonglong> lengths;
        for (const auto& row : few->rows) lengths.push_back(row[6].toLongLong());
        QCOMPARE(lengths, (std::vector<qlonglong>{1000, 402, 401, 400}));
        QCOMPARE(few->rows[0][0].toString(), QStringLiteral("sum"));
    }
};

FOURWALLS_TEST(OperatorTablesTest, QCoreApplication)

} // namespace tst_operator_tables

#include "tst_operator_tables.moc"
