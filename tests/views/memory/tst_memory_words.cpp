// SPDX-License-Identifier: GPL-3.0-or-later
// What the rows of buffers are called, what made a buffer, and the sentence about the peak.
#include "model/trace/memory_facts.h"
#include "tests/support/test_program.h"
#include "views/memory/memory_words.h"
#include "views/plot/theme.h"

#include <QtTest>

namespace tst_memory_words {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryWordsTest : public QObject {
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

    QString labels(MemoryGrouping by) const
    {
        QStringList rows;
        for (const MemoryGroup& group : groupAlive(m_list, by)) rows << labelOf(group, by);
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

    void rowsHaveNames()
    {
        QCOMPARE(labels(MemoryGrouping::Category), QStringLiteral("activations; workspace; optimizer state; weights"));
        QCOMPARE(labels(MemoryGrouping::Layer), QStringLiteral("layer 2; layer 1; no layer"));
        QCOMPARE(labels(MemoryGrouping::Operator), QStringLiteral("conv; sgd; unknown operator"));
        QCOMPARE(labels(MemoryGrouping::Phase), QStringLiteral("forward; optimizer; no phase"));
        m_list.totalCount = 25; // the limit left out twenty
        for (const auto by : {MemoryGrouping::Category, MemoryGrouping::Layer, MemoryGrouping::Operator,
                              MemoryGrouping::Phase, MemoryGrouping::Buffer})
            QVERIFY(labels(by).endsWith(QStringLiteral("; smaller buffers")));
    }

    void originNamesWhatIsKnown()
    {
        QCOMPARE(originOf(m_list.items[1], m_list.ops), QStringLiteral("layer 2 · conv · forward"));
        QCOMPARE(originOf(m_list.items[3], m_list.ops), QStringLiteral("sgd · optimizer"));
        QCOMPARE(originOf(m_list.items[4], m_list.ops), QStringLiteral("unknown operator"));
    }

    /// What is drawn in a colour is in the legend in that colour, also the makers of what has no category.
    void theLegendHasEveryColour()
    {
        for (int i = 0; i < 7; ++i) {
            const std::string name = "train.py:" + std::to_string(i);
            define(10 + i, name.c_str(), Phase::None, std::nullopt);
            add(1000 * (7 - i), MemoryCategory::Other, 10 + i);
        }
        define(20, std::string(kBeforeHistory).c_str(), Phase::None, std::nullopt);
        const auto told = blockColours(m_list);
        QStringList names;
        for (const BlockColour& each : told) names << each.name;
        QCOMPARE(names, (QStringList{"weights", "optimizer state", "activations", "workspace", "train.py:0",
                                     "train.py:1", "train.py:2", "train.py:3", "train.py:4", "and 2 more operators"}));
        QVERIFY(!told.back().colour.isValid());
        for (const AllocationView& item : m_list.items) {
            const QColor colour = colourOfBlock(item, m_list.ops);
            const auto has = [&](const BlockColour& each) { return each.colour.rgb() == colour.rgb(); };
            const bool isNamed = item.category != MemoryCategory::Other || item.bytes > 2000;
            QCOMPARE(std::any_of(told.begin(), told.end(), has), isNamed);
        }
        add(5, MemoryCategory::Other, 20);
        const auto more = blockColours(m_list, 7);
        QVERIFY(std::any_of(more.begin(), more.end(), [](const BlockColour& each) {
            return each.colour == colourOf(currentTheme(), MemoryCategory::Other);
        }));
        QCOMPARE(more.back().name, QStringLiteral("train.py:6"));
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

FOURWALLS_TEST(MemoryWordsTest, QCoreApplication)

} // namespace tst_memory_words

#include "tst_memory_words.moc"
