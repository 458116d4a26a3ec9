// SPDX-License-Identifier: GPL-3.0-or-later
// Ten thousand random things done to the window, by ten people one after the other: none may crash it, make Qt complain
// or (under the address sanitizer) leave memory behind. FOURWALLS_SEED=N repeats the one of seed N, with
// FOURWALLS_SHOW_ACTIONS=1 saying what it does.
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

    void tenThousand_data()
    {
        QTest::addColumn<quint32>("seed");
        if (const int only = qEnvironmentVariableIntValue("FOURWALLS_SEED"); only > 0) {
            QTest::addRow("seed %d", only) << static_cast<quint32>(only);
            return;
        }
        constexpr int kPeople = 10;
        for (int seed = 1; seed <= kPeople; ++seed) QTest::addRow("seed %d", seed) << static_cast<quint32>(100 + seed);
    }
    void tenThousand()
    {
        QFETCH(quint32, seed);
        const QString problem = gui::test::randomActions(seed, 1000);
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
};

FOURWALLS_TEST(TestRandomActions, QApplication)

} // namespace tst_random_actions

#include "tst_random_actions.moc"
