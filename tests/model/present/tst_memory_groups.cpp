// SPDX-License-Identifier: Apache-2.0
// What was alive, by every grouping; the buffer made last; and where in its phase an instant lies.
#include "model/present/memory_groups.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <string>
#include <string_view>

namespace tst_memory_groups {

using namespace fourwalls;

class MemoryGroupsTest : public QObject {
    Q_OBJECT

    AllocationList m_list;

    void add(std::int64_t bytes, MemoryCategory category, int op)
    {
        AllocationView view;
        view.id = AllocationId(static_cast<std::int64_t>(m_list.items.size()));
        view.start = Instant{static_cast<std::int64_t>(m_list.items.size()) * 10};
        view.bytes = bytes;
        view.category = category;
        if (op >= 0) view.op = OpId(op);
        m_list.items.push_back(view);
        m_list.totalBytes += bytes;
        ++m_list.totalCount;
    }

    void define(int id, const char* name, Phase phase, std::optional<int> layer)
    {
        auto info = std::make_shared<OpInfo>();
        info->name = name;
        info->phase = phase;
        if (layer) info->layer = LayerIndex(*layer);
        m_list.ops[OpId(id)] = std::move(info);
    }

    static QString nameOf(const MemoryGroup& group, MemoryGrouping by)
    {
        const auto text = [](std::string_view name) { return QString::fromStdString(std::string(name)); };
        switch (by) {
        case MemoryGrouping::Category: return text(name(group.category));
        case MemoryGrouping::Layer: return group.layer ? QString::number(group.layer->value) : QStringLiteral("-");
        case MemoryGrouping::Phase: return text(name(group.phase));
        case MemoryGrouping::Operator:
        case MemoryGrouping::Buffer: break;
        }
        return group.op.empty() ? QStringLiteral("-") : text(group.op);
    }

    QString table(MemoryGrouping by) const
    {
        QStringList rows;
        for (const MemoryGroup& group : groupAlive(m_list, by))
            rows << QStringLiteral("%1 %2x%3").arg(nameOf(group, by)).arg(group.bytes).arg(group.count);
        return rows.join(QStringLiteral("; "));
    }

private slots:
    void init()
    {
        m_list = {};
        define(0, "conv", Phase::Forward, 1);
        define(1, "conv", Phase::Forward, 2);
        define(2, "sgd", Phase::Optimizer, std::nullopt);
        add(100, MemoryCategory::Activations, 0);
        add(300, MemoryCategory::Activations, 1);
        add(50, MemoryCategory::Workspace, 1);
        add(40, MemoryCategory::OptimizerState, 2);
        add(10, MemoryCategory::Weights, -1);
    }

    void byCategory()
    {
        QCOMPARE(table(MemoryGrouping::Category),
                 QStringLiteral("activations 400x2; workspace 50x1; optimizer_state 40x1; weights 10x1"));
    }

    void byLayer() { QCOMPARE(table(MemoryGrouping::Layer), QStringLiteral("2 350x2; 1 100x1; - 50x2")); }

    void byOperator() { QCOMPARE(table(MemoryGrouping::Operator), QStringLiteral("conv 450x3; sgd 40x1; - 10x1")); }

    void byPhase()
    {
        QCOMPARE(table(MemoryGrouping::Phase), QStringLiteral("forward 450x3; optimizer 40x1; none 10x1"));
    }

    void byBufferEachIsARow() { QCOMPARE(groupAlive(m_list, MemoryGrouping::Buffer).size(), std::size_t(5)); }

    void sharesAddUpAndBytesAreNeverLost()
    {
        m_list.totalCount = 25; // the limit left out twenty
        m_list.totalBytes += 500;
        for (const auto by : {MemoryGrouping::Category, MemoryGrouping::Layer, MemoryGrouping::Operator,
                              MemoryGrouping::Phase, MemoryGrouping::Buffer}) {
            double share = 0;
            std::int64_t bytes = 0, count = 0;
            const auto groups = groupAlive(m_list, by);
            for (const MemoryGroup& group : groups) {
                share += group.share;
                bytes += group.bytes;
                count += group.count;
            }
            QVERIFY(std::abs(share - 1) < 1e-12);
            QCOMPARE(bytes, 1000);
            QCOMPARE(count, 25);
            QVERIFY(groups.back().remainder);
        }
    }

    void theRowsColourIsItsLargestCategory()
    {
        const auto groups = groupAlive(m_list, MemoryGrouping::Operator);
        QCOMPARE(groups[0].category, MemoryCategory::Activations);
        QCOMPARE(groups[1].category, MemoryCategory::OptimizerState);
    }

    void nothingAliveHasNoRows() { QVERIFY(groupAlive({}, MemoryGrouping::Layer).empty()); }

    void theLatestAliveIsTheOneMadeLast()
    {
        QCOMPARE(latestAlive(m_list, Instant{25})->id, AllocationId(2));
        QCOMPARE(latestAlive(m_list, Instant{25}, MemoryCategory::Activations)->id, AllocationId(1));
        m_list.items[2].end = Instant{25}; // lives are half-open
        QCOMPARE(latestAlive(m_list, Instant{25})->id, AllocationId(1));
        QVERIFY(!latestAlive(m_list, Instant{-1}));
    }

    void thePlaceInThePhase()
    {
        const std::vector<PhaseSpan> phases = {{{Instant{0}, Instant{100}}, Phase::Forward, {}},
                                               {{Instant{100}, Instant{300}}, Phase::BackwardInput, {}},
                                               {{Instant{0}, Instant{400}}, Phase::None, {}}};
        const auto at = [&](std::int64_t t) { return placeIn(phases, Instant{t}); };
        QCOMPARE(at(5).place, PhasePlace::Begin);
        QCOMPARE(at(50).place, PhasePlace::During);
        QCOMPARE(at(99).place, PhasePlace::End);
        QCOMPARE(at(101).phase, Phase::BackwardInput);
        QCOMPARE(at(101).place, PhasePlace::Begin);
        QCOMPARE(at(350).phase, Phase::BackwardInput); // after it: its end
        QCOMPARE(at(350).place, PhasePlace::End);
        QCOMPARE(at(-5).place, PhasePlace::Unknown);
    }
};

FOURWALLS_TEST(MemoryGroupsTest, QCoreApplication)

} // namespace tst_memory_groups

#include "tst_memory_groups.moc"
