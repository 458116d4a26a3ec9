// SPDX-License-Identifier: GPL-3.0-or-later
// The status bar: the truth about the trace on the left, the program's own figures on the right.
#pragma once

#include "model/trace/memory_facts.h"
#include "model/trace/trace_query.h"
#include "views/plot/spoken.h"

#include <QWidget>

#include <optional>
#include <span>

namespace fourwalls::views {

/// One entry of the strip. A severe entry is drawn in the warning colour.
struct StatusItem {
    QString text;
    bool warning = false;
    QString explanation; ///< tool tip
};

/// What the trace says about itself: complete or recovered, counts, audit, overhead. outOfMemory: ranks of the run whose
/// memory was not enough, the first of them first. Pure, for tests.
QList<StatusItem> statusOf(const TraceInfo& info, std::span<const OutOfMemory> outOfMemory = {});

/// The slice that is selected in all views, as the strip names it.
/// op: may be null.
StatusItem selectedItem(const SliceView& slice, const OpInfo* op, RankId rank);

/// The program's figures; absent ones are left out.
struct OwnFigures {
    std::optional<double> openedMs, frameMs;
    std::optional<double> residentMegabytes;
};
QString describe(const OwnFigures& figures);

class StatusStrip : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit StatusStrip(QWidget* parent = nullptr);
    void setItems(const QList<StatusItem>& items);
    void setOwnFigures(const OwnFigures& figures);
    /// Shown instead of the items until cleared with an empty text.
    void setMessage(const QString& text);
    QAccessible::Role spokenRole() const override { return QAccessible::StatusBar; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    void describeAloud(); ///< to screen readers

    struct Placed {
        QRect rect;
        QString explanation;
    };

    QList<StatusItem> m_items;
    QString m_message, m_own;
    QList<Placed> m_placed;
};

} // namespace fourwalls::views
