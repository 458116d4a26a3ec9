// SPDX-License-Identifier: GPL-3.0-or-later
// Who cannot see the window or has no mouse: every widget of the views' pages that takes the focus says what it is, and
// every control can take it with Tab. Runs and hang are empty here, dialogs closed, what is hidden is not looked at.
#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/views/fail_on_warning.h"
#include "views/base/analysis_view.h"
#include "views/view_registry.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#endif

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QComboBox>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSet>
#include <QSlider>
#include <QTabBar>
#include <QtTest/QtTest>

namespace tst_accessibility {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::memoryOpener;

namespace {

/// "timeline: fourwalls::views::TimelineCanvas in timeline.card"
QString placeOf(const QString& where, const QWidget& widget)
{
    return QStringLiteral("%1: %2 \"%3\" in %4 \"%5\"")
        .arg(where, QLatin1String(widget.metaObject()->className()), widget.objectName(),
             widget.parent() ? QLatin1String(widget.parent()->metaObject()->className()) : QLatin1String("nothing"),
             widget.parent() ? widget.parent()->objectName() : QString());
}

/// Parts of a widget of Qt's own, which speaks for them: the corner of a table, the field of a box for numbers.
bool isPart(const QWidget& widget)
{
    const QObject* parent = widget.parent();
    return qobject_cast<const QAbstractItemView*>(parent) || qobject_cast<const QLineEdit*>(parent) ||
           qobject_cast<const QAbstractSpinBox*>(parent) || qobject_cast<const QComboBox*>(parent) ||
           qobject_cast<const QTabBar*>(parent);
}

bool isControl(const QWidget& widget)
{
    return qobject_cast<const QAbstractButton*>(&widget) || qobject_cast<const QComboBox*>(&widget) ||
           qobject_cast<const QLineEdit*>(&widget) || qobject_cast<const QAbstractSpinBox*>(&widget) ||
           qobject_cast<const QSlider*>(&widget) || qobject_cast<const QAbstractItemView*>(&widget);
}

QString nameOf(QWidget& widget)
{
    const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&widget);
    return spoken ? spoken->text(QAccessible::Name).trimmed() : QString();
}

QStringList nameless(QWidget& window, const QString& where)
{
    QStringList found;
    for (QWidget* widget : window.findChildren<QWidget*>()) {
        if (!widget->isVisible() || isPart(*widget) || qobject_cast<QScrollBar*>(widget)) continue;
        if (widget->window() != window.window() || qobject_cast<QMenu*>(widget)) continue;
        const bool takesFocus = widget->focusPolicy() & Qt::TabFocus;
        if (takesFocus && nameOf(*widget).isEmpty()) found << placeOf(where, *widget) + QStringLiteral(" has no name");
        if (isControl(*widget) && !takesFocus && widget->isEnabled() && !widget->focusProxy())
            found << placeOf(where, *widget) + QStringLiteral(" is not reached with Tab");
    }
    return found;
}

} // namespace

class TestAccessibility : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_warnings = std::make_unique<tests::FailOnWarning>();
        applyLanguage(QStringLiteral("en"));
        applyTheme(false);
    }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void everythingHasANameAndIsReachedWithTab_data()
    {
        QTest::addColumn<QString>("language");
        QTest::newRow("en") << QStringLiteral("en");
        QTest::newRow("zh_CN") << QStringLiteral("zh_CN");
    }

    void everythingHasANameAndIsReachedWithTab()
    {
        QFETCH(QString, language);
        applyLanguage(language);
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.resize(1600, 900);
        window.show();
        QStringList found;
        for (const QString& page : {QStringLiteral("welcome"), QStringLiteral("demos"), QStringLiteral("claims"),
                                    QStringLiteral("runs"), QStringLiteral("hang")}) {
            window.showView(page);
            found += nameless(window, page);
        }
        for (const char* file : {"a.fourwalls", "planned.fourwalls"}) {
            TraceDocument* document = window.openFile(QLatin1String(file));
            QTRY_VERIFY(document->isOpen());
            for (const views::ViewEntry& entry : views::viewRegistry()) {
                window.showView(entry.id);
                views::View* view = document->showView(entry.id);
                QVERIFY(view);
                QTRY_VERIFY_WITH_TIMEOUT(view->showsFinalData(), 30'000);
                auto* paged = qobject_cast<views::AnalysisView*>(view);
                QStringList pages = paged ? paged->pages() : QStringList();
                if (pages.isEmpty()) pages << QString();
                for (const QString& page : pages) {
                    if (!page.isEmpty()) paged->setPage(page);
                    QTRY_VERIFY_WITH_TIMEOUT(view->showsFinalData(), 30'000);
                    found += nameless(window, QStringLiteral("%1, %2 %3").arg(QLatin1String(file), entry.id, page));
                }
            }
        }
        // The same widget of many pages is named once.
        QSet<QString> known;
        found.removeIf([&](const QString& each) {
            const QString what = each.mid(each.indexOf(QLatin1Char(':')));
            const bool isKnown = known.contains(what);
            known.insert(what);
            return isKnown;
        });
        applyLanguage(QStringLiteral("en"));
        QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
    }

private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;
};

FOURWALLS_TEST(TestAccessibility, QApplication)

} // namespace tst_accessibility

#include "tst_accessibility.moc"
