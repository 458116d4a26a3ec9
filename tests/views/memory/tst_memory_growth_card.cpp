// SPDX-License-Identifier: GPL-3.0-or-later
// The card of growing memory: its sentence, its rows, and what it says without growth.
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/memory/memory_growth_card.h"
#include "views/plot/plot_cells.h"

#include <QtTest/QtTest>

#include <memory>

namespace tst_memory_growth_card {

using namespace fourwalls;
using namespace fourwalls::views;

class TestMemoryGrowthCard : public QObject {
    Q_OBJECT

    std::unique_ptr<tests::FailOnWarning> m_warnings;

    static std::shared_ptr<MemoryGrowth> growthOf(std::int64_t perStep)
    {
        auto growth = std::make_shared<MemoryGrowth>();
        growth->ofSteps = true;
        auto op = std::make_shared<OpInfo>();
        op->name = "remember · cache.py:7";
        MakerGrowth leak{op, {}, 1, 5, {}}, fixed{nullptr, {}, 3, 3, {}};
        for (int i = 0; i < 5; ++i) {
            growth->steps.push_back(StepIndex{i});
            growth->moments.push_back(Instant{100 * i});
            leak.bytes.push_back(1'000'000 + perStep * i);
            fixed.bytes.push_back(4'000'000);
            growth->total.push_back(leak.bytes.back() + fixed.bytes.back());
        }
        leak.trend = growth->trend = {static_cast<double>(perStep), perStep > 0 ? 1.0 : 0.0};
        growth->makers = {leak, fixed};
        return growth;
    }

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aLeak()
    {
        MemoryGrowthCard card;
        card.resize(700, 200);
        card.setGrowth(growthOf(1'000'000), 29'000'000, Instant{0});
        card.show();
        QVERIFY(QTest::qWaitForWindowExposed(&card));
        // 29 MB of capacity, 9 MB alive, 1 MB a step.
        QVERIFY2(card.sentence().contains("1 MB") || card.sentence().contains("1\u202fMB"),
                 qPrintable(card.sentence()));
        QVERIFY2(card.sentence().contains("after 20 more steps"), qPrintable(card.sentence()));
        QCOMPARE(card.findChild<CellTable*>()->rows(), 2);
        QVERIFY2(card.tableAsCsv().contains("remember · cache.py:7,1000000,5000000"), qPrintable(card.tableAsCsv()));
    }

    void noGrowth()
    {
        MemoryGrowthCard card;
        card.setGrowth(growthOf(0), 29'000'000, Instant{0});
        QCOMPARE(card.sentence(), QString("what is alive after a step does not rise"));
        card.setGrowth(nullptr, 0, Instant{0}, "why");
        QCOMPARE(card.sentence(), QString("why"));
        QCOMPARE(card.findChild<CellTable*>()->rows(), 0);
        card.setGrowth(std::make_shared<MemoryGrowth>(), 0, Instant{0});
        QVERIFY(card.sentence().contains("fewer than two"));
    }

    void twoMoments()
    {
        MemoryGrowthCard card;
        card.resize(700, 200);
        auto change = std::make_shared<MemoryGrowth>();
        change->between = true;
        change->moments = {Instant{1'000'000}, Instant{3'000'000}};
        change->total = {9'000'000, 7'000'000};
        MakerGrowth maker;
        maker.bytes = {9'000'000, 7'000'000};
        maker.countFirst = 3;
        maker.countLast = 2;
        maker.trend.slope = -2e6;
        change->makers.push_back(maker);
        card.setGrowth(change, 0, Instant{0});
        QCOMPARE(card.sentence().replace(QChar(0x202f), ' '), QString("from 1 ms to 3 ms: 9 MB, then 7 MB, 2 MB less"));
        QVERIFY2(card.tableAsCsv().startsWith("made by,before,after,change"), qPrintable(card.tableAsCsv()));
    }
};

FOURWALLS_TEST(TestMemoryGrowthCard, QApplication)

} // namespace tst_memory_growth_card

#include "tst_memory_growth_card.moc"
