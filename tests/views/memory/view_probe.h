// SPDX-License-Identifier: GPL-3.0-or-later
// What tests of views share: a view on an in-memory trace, opened as the application does it.
#pragma once

#include <QRegularExpression> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QtTest>

#include "tests/views/memory/sample_training.h"
#include "views/view.h"

#include <memory>

namespace fourwalls::views {

/// Any warning of Qt fails the running test, except two that speak of the test's surroundings.
inline void failOnQtWarnings()
{
    QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support|QStandardPaths: )")));
}

/// Opens the sample and shows a view of it. `ready` waits for final data.
template <class V>
class ViewProbe {
public:
    explicit ViewProbe(const sample::Shape& shape, QSize size = {1200, 760})
        : session([shape](const QString&) { return sample::open(shape); }, QStringLiteral("sample"))
    {
        view = std::make_unique<V>();
        view->resize(size);
        QObject::connect(&session, &TraceSession::opened, view.get(), [this] {
            selection.reset(session.info().range);
            view->setTrace(&session, &selection);
        });
        view->show();
    }

    bool ready()
    {
        return QTest::qWaitFor([this] { return view->showsFinalData() && session.pending() == 0; }, 10'000);
    }

    TraceSession session;
    Selection selection;
    std::unique_ptr<V> view; ///< dies before what it shows
};

} // namespace fourwalls::views
