// SPDX-License-Identifier: GPL-3.0-or-later
// Some hundred random things done to the window: none may crash it or make Qt complain. tests/slow does ten thousand.
#include "tests/app/gui/random_user.h"
#include "tests/support/test_program.h"

#include <QStandardPaths>

namespace tst_random_actions {

using namespace fourwalls;

class TestRandomActions : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aHundredAndFifty_data()
    {
        QTest::addColumn<quint32>("seed");
        QTest::newRow("seed 1") << quint32{1};
        QTest::newRow("seed 2") << quint32{2};
    }
    void aHundredAndFifty()
    {
        QFETCH(quint32, seed);
        const QString problem = gui::test::randomActions(seed, 150);
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
};

FOURWALLS_TEST(TestRandomActions, QApplication)

} // namespace tst_random_actions

#include "tst_random_actions.moc"
