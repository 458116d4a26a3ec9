// SPDX-License-Identifier: GPL-3.0-or-later
// The line above the timeline: rank and step picker, the search field with its matches, fit and measure.
#pragma once

#include "model/present/step_spans.h"
#include "views/timeline/timeline_source.h"

#include <QWidget>

class QAction;
class QComboBox;
class QLineEdit;
class QMenu;
class QTimer;
class QToolButton;

namespace fourwalls::views {

class ElidedText;
class StepPicker;

class TimelineToolbar : public QWidget {
    Q_OBJECT
public:
    explicit TimelineToolbar(QWidget* parent = nullptr);

    void setRanks(const std::vector<RankId>& ranks);
    void setSteps(std::shared_ptr<const StepSpans> steps, const std::string& stepsBy = {});
    /// Shows a choice that was made elsewhere; emits nothing.
    void showRank(std::optional<RankId> rank);
    void showStep(std::optional<StepIndex> step);
    /// The state of the search: pending, an error, or the matches and which of them is current (0: none).
    void showMatches(const TimelineSource& source, std::size_t current);
    void addButton(QAction* action);
    /// What the button "Rows" offers.
    void setRowsMenu(QMenu* menu);
    void focusSearch();
    /// Searches for this text.
    void setSearch(const QString& name);
    void clearSearch();

    TimelineFilter filter() const;

signals:
    void rankChosen(std::optional<fourwalls::RankId> rank);
    void stepChosen(std::optional<fourwalls::StepIndex> step);
    void filterChanged();
    void nextAsked();
    void previousAsked();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QToolButton* button(const QString& text, const QString& name, bool checkable);
    void retranslate();
    void restyle();

    QComboBox* m_ranks;
    StepPicker* m_steps;
    QLineEdit* m_search;
    QToolButton* m_regular;
    QToolButton* m_hide;
    QToolButton* m_previous;
    QToolButton* m_next;
    QToolButton* m_rows = nullptr;
    ElidedText* m_matches;
    QTimer* m_typing;
};

} // namespace fourwalls::views
