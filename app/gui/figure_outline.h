// SPDX-License-Identifier: GPL-3.0-or-later
// Frames round the figures of a view that a demo's caption quotes, where the view shows them.
#pragma once

#include <QList>
#include <QRect>
#include <QStringList>
#include <QTimer>
#include <QWidget>

namespace fourwalls::views {
class View;
}

namespace fourwalls::gui {

/// Lies over the view, which owns it, and lets every click through. Looks again whenever the view has painted.
class FigureOutline : public QWidget {
    Q_OBJECT
public:
    FigureOutline(views::View& view, QStringList figures);

    /// In the view; of each figure that is found one.
    const QList<QRect>& places() const { return m_places; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void look();
    QRect placeOf(const QString& figure) const;

    views::View& m_view;
    QStringList m_figures;
    QList<QRect> m_places;
    QTimer m_soon;
};

} // namespace fourwalls::gui
