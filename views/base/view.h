// SPDX-License-Identifier: GPL-3.0-or-later
// The base of every view: what the window, the renderer, the benchmark and the exporters ask of one.
#pragma once

#include "views/plot/frame_quality.h"
#include "views/plot/spoken.h"
#include "views/plot/theme.h"
#include "views/session/selection.h"
#include "views/session/trace_session.h"

#include <QAction>
#include <QList>
#include <QPointer>
#include <QWidget>

#include <vector>

class QVBoxLayout;

namespace fourwalls::views {

class ActionRow;
struct PageAction;
class WhatIf;

/// A widget that fills the window's middle and draws one trace. Subclasses override the hooks; they call
/// reportFrame at the end of every paintEvent and keep showsFinalData truthful.
class View : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit View(QWidget* parent = nullptr);

    /// Stable id as on the command line: "timeline", "memory", "steps".
    virtual QString id() const = 0;
    /// Name on the rail, translated.
    virtual QString title() const = 0;
    /// Icon name in :/icons (without suffix); by default the id.
    virtual QString iconName() const { return id(); }

    /// Gives the view its trace; null takes it away. Both outlive the view or are replaced first.
    void setTrace(TraceSession* session, Selection* selection);
    TraceSession* session() const { return m_session; }
    Selection* selection() const { return m_selection; }

    /// Gives the view the predictions of its trace, before the trace itself; null takes them away. They outlive the
    /// view or are replaced first.
    void setWhatIf(WhatIf* whatIf);
    WhatIf* whatIf() const;

    /// True when everything that the present range, rank and size ask for was answered and painted.
    virtual bool showsFinalData() const = 0;
    /// Why there is nothing to see and what to do about it; empty when there is something.
    virtual QString emptyReason() const { return {}; }
    /// Why the trace could not be read for what is shown; empty: it could.
    virtual QString problem() const { return {}; }
    /// What can be done about it at once: buttons below emptyReason.
    virtual std::vector<PageAction> emptyActions() const;
    /// The buttons; null before there were any.
    ActionRow* actionRow() const { return m_actions; }
    /// What the view shows as CSV (the visible rows), for "Copy as CSV" and "Export table"; empty when it has no table.
    virtual QString tableAsCsv() const { return {}; }
    /// Paints the view for PNG, SVG and PDF export. size: of the paper, in pixels. By default the widget is drawn as
    /// it is on the screen, scaled to fit.
    virtual void exportTo(QPainter& painter, QSizeF size);
    /// Shows the whole trace (the key F everywhere).
    virtual void fitAll();
    /// Actions of this view for the command palette, the context menu and the shortcut editor. Each has an objectName
    /// ("timeline.fit") under which its shortcut is remembered.
    virtual QList<QAction*> viewActions() const { return actions(); }
    QAccessible::Role spokenRole() const override { return QAccessible::Pane; }

signals:
    /// At the end of every paint: the range that was shown and how well.
    void framePainted(fourwalls::TimeRange range, fourwalls::views::FrameQuality quality);
    /// The first paint with showsFinalData after it was false.
    void finalDataPainted();

protected:
    /// The trace or selection was replaced (either may be null), the theme changed, or the language changed.
    virtual void traceChanged() {}
    /// What whatIf() predicts, or whether that is to be shown, changed.
    virtual void predictionChanged() {}
    /// whatIf()->step() is another one, some milliseconds before predictionChanged(): for what is drawn with every move
    /// of a slider. Only called while the view is shown.
    virtual void predictedStepChanged() {}
    virtual void themeChanged() { update(); }
    virtual void languageChanged() {}

    /// To be called as the last thing of every paintEvent.
    void reportFrame(TimeRange range, FrameQuality quality);
    /// Paints emptyReason centred, for paintEvents that have nothing else to show.
    void paintEmpty(QPainter& painter, const QRect& rect, const QString& reason) const;
    /// paintEvent of a view whose content is hidden: why, and the report of the frame.
    void paintWithoutContent();
    /// Nothing of the plot is within the window (a small one, or the page is scrolled): no paint of it is to be waited for.
    static bool isOutOfSight(const QWidget& plot) { return plot.isVisible() && plot.visibleRegion().isEmpty(); }
    /// Fills the view but for its margins with `content`, a child of it; returns its column.
    QVBoxLayout* fillWith(QWidget* content);

    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void offerActions();
    void followPrediction();
    bool isPutAway() const; ///< another view is shown in its place

    QPointer<TraceSession> m_session;
    QPointer<Selection> m_selection;
    QPointer<WhatIf> m_whatIf;
    ActionRow* m_actions = nullptr;
    bool m_wasFinal = false;
    bool m_predictionMissed = false; ///< what whatIf() predicts changed while another view was shown
};

} // namespace fourwalls::views
