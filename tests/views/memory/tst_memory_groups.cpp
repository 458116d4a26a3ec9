// SPDX-License-Identifier: GPL-3.0-or-later
// What the peak is made of, by every grouping, and the sentence about it.
#include "tests/support/test_program.h"
#include "views/memory/memory_groups.h"

#include <QtTest>

namespace tst_memory_groups {

using namespace fourwalls;
using namespace fourwalls::views;

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

    QString table(MemoryGrouping by) const
    {
        QStringList rows;
        for (const MemoryGroup& group : groupAlive(m_list, by)) {
            rows << QStringLiteral("%1 %2x%3").arg(labelOf(group, by)).arg(group.bytes).arg(group.count);
        }
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
                 QStringLiteral("activations 400x2; workspace 50x1; optimizer state 40x1; weights 10x1"));
    }

    void byLayer()
    {
        QCOMPARE(table(MemoryGrouping::Layer), QStringLiteral("layer 2 350x2; layer 1 100x1; no layer 50x2"));
    }

    void byOperator()
    {
        QCOMPARE(table(MemoryGrouping::Operator), QStringLiteral("conv 450x3; sgd 40x1; unknown operator 10x1"));
    }

    void byPhase()
    {
        QCOMPARE(table(MemoryGrouping::Phase), QStringLiteral("forward 450x3; optimizer 40x1; no phase 10x1"));
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
            QCOMPARE(labelOf(groups.back(), by), QStringLiteral("smaller buffers"));
        }
    }

    void theRowsColourIsItsLargestCategory()
    {
        const auto groups = groupAlive(m_list, MemoryGrouping::Operator);
        QCOMPARE(groups[0].category, MemoryCategory::Activations);
        QCOMPARE(groups[1].category, MemoryCategory::OptimizerState);
    }

    void nothingAliveHasNoRows() { QVERIFY(groupAlive({}, MemoryGrouping::Layer).empty()); }

    void originNamesWhatIsKnown()
    {
        QCOMPARE(originOf(m_list.items[1], m_list.ops), QStringLiteral("layer 2 · conv · forward"));
        QCOMPARE(originOf(m_list.items[3], m_list.ops), QStringLiteral("sgd · optimizer"));
        QCOMPARE(originOf(m_list.items[4], m_list.ops), QStringLiteral("unknown operator"));
    }

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

    void theSentence()
    {
        CategoryBytes parts{};
        parts[static_cast<std::size_t>(MemoryCategory::Activations)] = 85;
        parts[static_cast<std::size_t>(MemoryCategory::Weights)] = 15;
        const QString total = QStringLiteral("3.65 GB");
        const auto text = [&](PhasePlace place, Phase phase) {
            return peakSentence(total, parts, {place, phase}).replace(QChar(0x202F), QLatin1Char(' '));
        };
        QCOMPARE(text(PhasePlace::Begin, Phase::BackwardInput),
                 QStringLiteral("peaks at 3.65 GB as backward begins: 85 % activations"));
        QCOMPARE(text(PhasePlace::During, Phase::Forward),
                 QStringLiteral("peaks at 3.65 GB during forward: 85 % activations"));
        QCOMPARE(text(PhasePlace::Unknown, Phase::None), QStringLiteral("peaks at 3.65 GB: 85 % activations"));
        QCOMPARE(peakSentence(total, {}, {PhasePlace::End, Phase::Forward}),
                 QStringLiteral("peaks at 3.65 GB as forward ends"));
    }
};

FOURWALLS_TEST(MemoryGroupsTest, QCoreApplication)

} // namespace tst_memory_groups

#include "tst_memory_groups.moc"
