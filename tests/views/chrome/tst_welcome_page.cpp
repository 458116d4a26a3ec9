// SPDX-License-Identifier: GPL-3.0-or-later
// The first page in a low window: with many recent files it scrolls, and nothing is pressed together.
#include <QtTest>

#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/welcome_page.h"

#include <QAbstractButton>
#include <QScrollBar>

#include <set>
#include <utility>

namespace tst_welcome_page {

using namespace fourwalls;
using namespace fourwalls::views;

class WelcomePageTest : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aLowWindowScrolls()
    {
        WelcomePage page;
        QStringList files;
        for (int i = 0; i < 8; ++i) files << QStringLiteral("/traces/run %1.fourwalls").arg(i);
        page.setRecentFiles(files);
        page.show();
        const auto look = [&](QSize size) {
            page.resize(size);
            for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents();
            int entries = 0, pressed = 0;
            for (const QAbstractButton* each : page.findChildren<QAbstractButton*>()) {
                if (!each->isVisible()) continue;
                ++entries;
                pressed += each->height() < each->sizeHint().height() ? 1 : 0;
            }
            bool scrolls = false;
            for (const QScrollBar* bar : page.findChildren<QScrollBar*>())
                scrolls = scrolls || (bar->orientation() == Qt::Vertical && bar->isVisible());
            return std::tuple(entries, pressed, scrolls);
        };
        QCOMPARE(look({860, 440}), std::tuple(11, 0, true));
        QCOMPARE(look({1200, 1000}), std::tuple(11, 0, false));
    }

    void noWordIsCutInANarrowWindow()
    {
        WelcomePage page;
        page.show();
        for (const auto& [width, rows] :
             {std::pair(1000, 1), std::pair(700, 1), std::pair(420, 3), std::pair(1000, 1)}) {
            page.resize(width, 700);
            for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents();
            std::set<int> tops;
            for (const QAbstractButton* each : page.findChildren<QAbstractButton*>()) {
                if (!each->isVisible()) continue;
                tops.insert(each->mapTo(&page, QPoint()).y());
                QVERIFY2(each->width() >= each->minimumSizeHint().width(), qPrintable(each->text()));
            }
            QCOMPARE(static_cast<int>(tops.size()), rows);
        }
    }
};

FOURWALLS_TEST(WelcomePageTest, QApplication)

} // namespace tst_welcome_page

#include "tst_welcome_page.moc"
