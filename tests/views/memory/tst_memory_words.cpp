// SPDX-License-Identifier: GPL-3.0-or-later
// What the rows of buffers are called, what made a buffer, and the sentence about the peak.
#include "tests/support/test_program.h"
#include "views/memory/memory_words.h"

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
