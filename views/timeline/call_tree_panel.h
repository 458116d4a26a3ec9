// SPDX-License-Identifier: GPL-3.0-or-later
// The call tree of a dragged area, as a table or as a flame graph: from the top or from the bottom, of operators, Python
// frames, modules or marked ranges.
#pragma once

#include "model/trace/call_tree.h"
#include "views/session/trace_session.h"

#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>

class QComboBox;
class QLabel;
class QStackedWidget;
class QTreeView;

namespace fourwalls::views {

class ElidedText;
class CallTreeModel;
class FlameGraph;
struct TimelineArea;

class CallTreePanel : public QWidget {
    Q_OBJECT
public:
    enum class Shape { Tree, Flame };

    explicit CallTreePanel(QWidget* parent = nullptr);

    /// What to ask of; nothing is asked before the panel is shown. Null or absent: forgets.
    void setArea(TraceSession* session, const std::optional<TimelineArea>& area);
    void setShape(Shape shape);
    bool isComplete() const { return !isVisible() || !m_asked || m_shown || !m_problem.isEmpty(); }
    const CallTree* tree() const { return m_shown.get(); }
    FlameGraph& flame() { return *m_flame; }
    QTreeView& view() { return *m_view; }
    QString tsv() const;
    void retranslate();

signals:
    void changed();
    /// Find what has this name.
    void findAsked(const QString& name);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void ask();
    void show();
    CallTreeBy by() const;

    QPointer<TraceSession> m_session;
    std::shared_ptr<const TimelineArea> m_area;
    bool m_asked = false;
    QString m_problem;
    std::shared_ptr<const CallTree> m_shown;
    CallTreeModel* m_model;
    QComboBox *m_by, *m_end, *m_measure;
    ElidedText* m_note;
    QStackedWidget* m_pages;
    QTreeView* m_view;
    FlameGraph* m_flame;
    QLabel* m_nothing;
    Shape m_shape = Shape::Tree;
};

} // namespace fourwalls::views
