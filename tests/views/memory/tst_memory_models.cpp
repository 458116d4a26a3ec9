// SPDX-License-Identifier: GPL-3.0-or-later
// The two tables of the memory view: model contracts, shown and exact values, sorting, CSV.
#include "tests/support/test_program.h"
#include "views/memory/memory_allocation_model.h"
#include "views/memory/memory_group_model.h"
#include "views/plot/plot_table.h"

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QtTest>

namespace tst_memory_models {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryModelsTest : public QObject {
    Q_OBJECT

    static std::shared_ptr<const AllocationList> list()
    {
        auto result = std::make_shared<AllocationList>();
        auto op = std::make_shared<OpInfo>();
        op->name = "conv, \"fused\"";
        op->phase = Phase::Forward;
        op->layer = LayerIndex(3);
        result->ops[OpId(0)] = op;
        for (int i = 0; i < 12; ++i) {
            AllocationView item;
            item.id = AllocationId(100 + i);
            item.start = Instant{1'000'000 + i * 10};
            if (i != 0) item.end = item.start + Duration{2'000'000 * (12 - i)};
            item.bytes = 9'000'000 * (12 - i);
            item.category = i % 2 ? MemoryCategory::Workspace : MemoryCategory::Activations;
            if (i != 1) item.op = OpId(0);
            if (i == 2) item.microbatch = Microbatch(5);
            if (i == 3) item.address = 0x7f00;
            result->items.push_back(item);
            result->totalBytes += item.bytes;
            ++result->totalCount;
        }
        return result;
    }

    static QString cell(const QAbstractItemModel& model, int row, int column)
    {
        return model.index(row, column).data().toString().replace(QChar(0x202F), QLatin1Char(' '));
    }

private slots:
    void groupsKeepTheModelContract()
    {
        MemoryGroupModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        model.setGroups(groupAlive(*list(), MemoryGrouping::Category), MemoryGrouping::Category);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(cell(model, 0, MemoryGroupModel::Name), QStringLiteral("activations"));
        QCOMPARE(cell(model, 0, MemoryGroupModel::Bytes), QStringLiteral("378 MB"));
        QCOMPARE(cell(model, 0, MemoryGroupModel::Count), QStringLiteral("6"));
        QCOMPARE(model.index(0, MemoryGroupModel::Bytes).data(kExactRole).toLongLong(), 378'000'000);
        QCOMPARE(model.index(0, MemoryGroupModel::Share).data(kShareRole).toDouble(), 378.0 / 702.0);
        model.setByteUnit(ByteUnit::GiB);
        QCOMPARE(cell(model, 0, MemoryGroupModel::Bytes), QStringLiteral("360 MiB"));
        model.setGroups({}, MemoryGrouping::Layer);
        QCOMPARE(model.rowCount(), 0);
    }

    void buffersKeepTheModelContract()
    {
        using M = MemoryAllocationModel;
        M model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setList(list(), Instant{1'000'000});
        QCOMPARE(model.rowCount(), 12);
        QCOMPARE(cell(model, 0, M::Bytes), QStringLiteral("108 MB"));
        QCOMPARE(cell(model, 0, M::Layer), QStringLiteral("3"));
        QCOMPARE(cell(model, 0, M::Lived), QStringLiteral("never freed"));
        QCOMPARE(cell(model, 1, M::Lived), QStringLiteral("22 ms"));
        QCOMPARE(cell(model, 0, M::Made), QStringLiteral("0 ms"));
        // Unknown is a dash, never a zero.
        QCOMPARE(cell(model, 1, M::Operator), QString(kDash));
        QCOMPARE(cell(model, 1, M::Layer), QString(kDash));
        QCOMPARE(cell(model, 0, M::Micro), QString(kDash));
        QCOMPARE(cell(model, 2, M::Micro), QStringLiteral("5"));
        QCOMPARE(cell(model, 3, M::Address), QStringLiteral("0x7f00"));
        QCOMPARE(model.rowOf(AllocationId(104)), 4);
        QCOMPARE(model.rowOf(AllocationId(1)), -1);
        model.setList(nullptr, {});
        QCOMPARE(model.rowCount(), 0);
    }

    void sortingComparesExactValues()
    {
        using M = MemoryAllocationModel;
        M model;
        model.setList(list(), Instant{0});
        QSortFilterProxyModel sorted;
        QAbstractItemModelTester tester(&sorted, QAbstractItemModelTester::FailureReportingMode::QtTest);
        sorted.setSourceModel(&model);
        sorted.setSortRole(kExactRole);
        sorted.sort(M::Bytes, Qt::AscendingOrder);
        // By text, "108 MB" would come before "9 MB".
        QCOMPARE(cell(sorted, 0, M::Bytes), QStringLiteral("9 MB"));
        QCOMPARE(cell(sorted, 11, M::Bytes), QStringLiteral("108 MB"));
    }

    void csvHasExactValuesAndQuotes()
    {
        using M = MemoryAllocationModel;
        M model;
        model.setList(list(), Instant{1'000'000});
        const QStringList lines = csvOf(model).split(QLatin1Char('\n'));
        QCOMPARE(lines.size(), 14); // header, 12 rows, the end of the last line
        QCOMPARE(lines[0], QStringLiteral("bytes,category,operator,layer,phase,micro-batch,made at,lives for,address"));
        QCOMPARE(lines[1], QStringLiteral("108000000,activations,\"conv, \"\"fused\"\"\",3,forward,,0,,"));
        QCOMPARE(lines[3], QStringLiteral("90000000,activations,\"conv, \"\"fused\"\"\",3,forward,5,20,20000000,"));
    }
};

FOURWALLS_TEST(MemoryModelsTest, QCoreApplication)

} // namespace tst_memory_models

#include "tst_memory_models.moc"
