// SPDX-License-Identifier: GPL-3.0-or-later
// The card below the timeline: the facts of the selected slice with links to what they name, or, without one, what the
// colours mean.
#pragma once

#include "views/plot/spoken.h"
#include "views/plot/theme.h"
#include "views/timeline/slice_facts.h"
#include "views/timeline/timeline_geometry.h"

#include <QWidget>

#include <optional>
#include <set>
#include <vector>

class QTextBrowser;

namespace fourwalls::views {

class TimelineSource;
struct BarPalette;

class DetailsPanel : public QWidget, public Spoken {
    Q_OBJECT
public:
    /// source: whose colours the legend explains; outlives this.
    explicit DetailsPanel(const TimelineSource& source);

    void setFacts(const std::optional<SliceFacts>& facts);
    const std::optional<SliceFacts>& facts() const { return m_facts; }
    /// That have a mark on the time axis: the legend names their kinds.
    void setEvents(const std::vector<EventRecord>& events);
    /// Keys that help, at the right of the title line.
    void setHint(const QString& hint);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    QAccessible::Role spokenRole() const override { return QAccessible::Pane; }

signals:
    /// A link of the facts was followed.
    void linkFollowed(const QString& link);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct LegendEntry {
        QString name;
        ColourKey key = ColourKey::Structure;
        bool always = false;                 ///< says how to read all of them
        std::optional<EventKind> event = {}; ///< its mark stands in the place of a colour
    };
    static std::vector<LegendEntry> legendOf(ColourBy by);
    std::vector<LegendEntry> legend(const BarPalette& palette) const;
    QString html(int width) const;
    void write();
    void openMenu(const QPoint& at);
    void paintLegend(QPainter& painter, const QRect& inside) const;
    void paintHint(QPainter& painter, const QRect& line, int usedRight) const;

    const TimelineSource& m_source;
    std::optional<SliceFacts> m_facts;
    QString m_hint;
    std::set<EventKind> m_eventKinds;
    QTextBrowser* m_text;
};

} // namespace fourwalls::views
