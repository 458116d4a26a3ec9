// SPDX-License-Identifier: GPL-3.0-or-later
// A view on a trace in memory, opened as the application does it, with the what-if beside it.
#pragma once

#include <QRegularExpression> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QtTest>

#include "model/trace/in_memory_query.h"
#include "tests/support/modelled_trace.h"
#include "views/base/view.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <memory>
#include <string>

namespace fourwalls::views {

/// Shows a view of a trace. `ready` waits for its final data, and for what is predicted beside it.
template <class V>
class TraceProbe {
public:
    explicit TraceProbe(std::shared_ptr<const InMemoryTraceData> data, QSize size = {1180, 640})
        : session(
              [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                  if (!data) return Error{ErrorCode::Internal, "no trace was made", "test", {}};
                  return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
              },
              QStringLiteral("sample"))
    {
        view = std::make_unique<V>();
        view->resize(size);
        QObject::connect(&session, &TraceSession::opened, view.get(), [this] {
            selection.reset(session.info().range);
            if (!session.info().header.ranks.empty()) selection.setRank(session.info().header.ranks.front().rank);
            whatIf.replayer().setSession(&session);
            whatIf.setTrace(session.info());
            view->setWhatIf(&whatIf);
            view->setTrace(&session, &selection);
        });
        view->show();
    }

    bool ready()
    {
        return QTest::qWaitFor(
            [this] {
                return view->showsFinalData() && session.pending() == 0 && !whatIf.isPredicting() &&
                       !whatIf.isLooking();
            },
            20'000);
    }

    TraceSession session;
    Selection selection;
    WhatIf whatIf;
    std::unique_ptr<V> view; ///< dies before what it shows
};

} // namespace fourwalls::views
