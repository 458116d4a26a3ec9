// SPDX-License-Identifier: GPL-3.0-or-later
// The panel of a demo's steps, offscreen. A Qt warning fails the test.
#include "tests/support/test_program.h"
#include "tests/views/shown_view.h"
#include "views/demos/demo_panel.h"

#include <QPaintEvent>

namespace tst_demo_panel {

using namespace fourwalls::views;

/// Notes whether the upper edge of a widget was painted anew from end to end.
class EdgeWatch : public QObject {
public:
    explicit EdgeWatch(QWidget& watched) : m_watched(watched) { watched.installEventFilter(this); }
    bool eventFilter(QObject*, QEvent* event) override
    {
        if (event->type() != QEvent::Paint) return false;
        const QRegion painted = static_cast<QPaintEvent*>(event)->region();
        wasPainted = wasPainted || (QRegion(QRect(0, 0, m_watched.width(), 2)) - painted).isEmpty();
        return false;
    }
    bool wasPainted = false;

private:
    QWidget& m_watched;
};

class DemoPanelTest : public QObject {
    Q_OBJECT

private slots:
    void init() { failOnQtWarnings(); }

    /// The bar along the upper edge says how far one is, also where the next step's words need no other height.
    void theProgressFollowsTheStep()
    {
        DemoPanel panel;
        panel.resize(900, 160);
        DemoPage page;
        page.title = QStringLiteral("A demo");
        page.caption = QStringLiteral("Four devices wait for one another.");
        page.count = 4;
        panel.setPage(page);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        QCoreApplication::processEvents();
        EdgeWatch edge(panel);
        page.number = 2;
        panel.setPage(page);
        QTRY_VERIFY(edge.wasPainted);
    }
};

FOURWALLS_TEST(DemoPanelTest, QApplication)

} // namespace tst_demo_panel

#include "tst_demo_panel.moc"
