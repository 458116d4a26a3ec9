// SPDX-License-Identifier: GPL-3.0-or-later
// What tests of views share: a view of a trace, opened and shown as the application does it.
#pragma once

#include <QRegularExpression> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QtTest>

#include "views/base/view.h"
#include "views/plot/theme.h"

#include <memory>

namespace fourwalls::views {

/// Any warning of Qt fails the running test, except two that speak of the test's surroundings.
inline void failOnQtWarnings()
{
    QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support|QStandardPaths: )")));
}

template <class V>
struct ShownView {
    ShownView(TraceOpener opener, QSize size)
        : session(std::move(opener), QStringLiteral("sample"))
        , view(std::make_unique<V>())
    {
        view->resize(size);
        QObject::connect(&session, &TraceSession::opened, view.get(), [this] {
            selection.reset(session.info().range);
            view->setTrace(&session, &selection);
        });
        view->show();
    }

    /// Waits for final data.
    bool ready()
    {
        return QTest::qWaitFor([this] { return view->showsFinalData() && session.pending() == 0; }, 10'000);
    }

    TraceSession session;
    Selection selection;
    std::unique_ptr<V> view; ///< dies before what it shows
};

/// Every page in large and small, dark and light, and after a change of the language.
template <class V>
void paintEveryPage(ShownView<V>& shown)
{
    QVERIFY(shown.ready());
    for (const QString& page : shown.view->pages())
        for (const QSize size : {QSize(1490, 800), QSize(1180, 610), QSize(500, 320)})
            for (const bool dark : {true, false}) {
                setCurrentTheme(dark);
                QEvent palette(QEvent::PaletteChange);
                QCoreApplication::sendEvent(shown.view.get(), &palette);
                shown.view->setPage(page);
                shown.view->resize(size);
                QVERIFY(shown.ready());
                QVERIFY(!shown.view->grab().isNull());
            }
    QEvent language(QEvent::LanguageChange);
    QCoreApplication::sendEvent(shown.view.get(), &language);
    for (const QAction* action : shown.view->actions()) QVERIFY(!action->text().isEmpty());
}

} // namespace fourwalls::views
