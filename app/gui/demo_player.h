// SPDX-License-Identifier: GPL-3.0-or-later
// Plays a demo in the window: shows each step's trace, view, range and slider state, and its words on the panel.
#pragma once

#include "app/gui/demo_library.h"
#include "app/gui/figure_outline.h"
#include "views/demos/demo_panel.h"

#include <QObject>
#include <QPointer>

#include <optional>

namespace fourwalls::gui {

class MainWindow;
class TraceDocument;

class DemoPlayer : public QObject {
    Q_OBJECT
public:
    /// window and panel outlive the player.
    DemoPlayer(MainWindow& window, views::DemoPanel& panel, views::TraceOpener opener);

    /// A carried demo's id or a file. A demo that plays already is replaced.
    void start(const QString& idOrFile);
    void next();
    void back();
    void stop();
    bool isPlaying() const { return m_prepared.has_value(); }
    /// The step that is shown, from 0.
    int step() const { return m_step; }
    /// Everything of the step was applied to its view.
    bool isSettled() const { return m_settled; }
    const PreparedDemo* demo() const { return m_prepared ? &*m_prepared : nullptr; }
    /// Expressions of the shown step that have no value.
    const QStringList& problems() const { return m_problems; }
    const FigureOutline* outlined() const { return m_outline; }
    /// In the language of the window.
    void retranslate();

signals:
    void started();
    void stopped();
    void failed(const fourwalls::Error& error);

private:
    void show(int step);
    void showPage(bool keepAnswer);
    void apply(TraceDocument* document);
    void applyRange(TraceDocument* document);
    void applyPlan(TraceDocument* document);
    void finish(TraceDocument* document);
    void outline(); ///< the caption's figures, where the view shows them

    MainWindow& m_window;
    views::DemoPanel& m_panel;
    views::TraceOpener m_opener;
    std::optional<PreparedDemo> m_prepared;
    QStringList m_problems, m_figures; ///< of the shown step's caption
    QPointer<FigureOutline> m_outline;
    QPointer<TraceDocument> m_document;
    int m_step = 0;
    quint64 m_request = 0; ///< of the demo that is being prepared
    bool m_settled = false;
};

} // namespace fourwalls::gui
