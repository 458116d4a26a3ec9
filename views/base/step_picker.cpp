// SPDX-License-Identifier: GPL-3.0-or-later
// See step_picker.h.
#include "views/base/step_picker.h"

#include "views/session/step_states.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QAbstractListModel>
#include <QEvent>
#include <QListView>
#include <QStyleOptionComboBox>

#include <algorithm>

namespace fourwalls::views {

/// Row 0 is "all steps"; the text of a step is made when it is shown.
class StepPicker::Model : public QAbstractListModel {
public:
    using QAbstractListModel::QAbstractListModel;

    void setSteps(std::shared_ptr<const StepSpans> steps, bool whole)
    {
        beginResetModel();
        m_whole = whole;
        m_steps = std::move(steps);
        endResetModel();
    }

    int stepCount() const { return m_steps ? static_cast<int>(m_steps->size()) : 0; }
    const StepSpan* step(int row) const
    {
        return row >= 1 && row <= stepCount() ? &(*m_steps)[static_cast<std::size_t>(row - 1)] : nullptr;
    }
    int rowOf(std::optional<StepIndex> index) const
    {
        const StepSpan* found = index && m_steps ? stepNumbered(*m_steps, *index) : nullptr;
        return found ? static_cast<int>(found - m_steps->data()) + 1 : 0;
    }
    QString text(int row) const
    {
        const StepSpan* shown = step(row);
        if (!shown) return StepPicker::tr("All steps");
        const QString length = formatDuration(shown->range.length(), 3);
        if (m_whole) return StepPicker::tr("Whole trace · %1").arg(length);
        const QString step = StepPicker::tr("Step %1 · %2").arg(shown->step.value).arg(length);
        return shown->state == StepState::Measured ? step : step + QStringLiteral(" · ") + words(shown->state);
    }
    void retranslate() { emit dataChanged(index(0), index(stepCount())); }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : stepCount() + 1; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (role != Qt::DisplayRole) return {};
        return text(index.row());
    }

private:
    std::shared_ptr<const StepSpans> m_steps;
    bool m_whole = false; ///< the one step is all of the trace
};

StepPicker::StepPicker(QWidget* parent) : QComboBox(parent), m_model(new Model(this))
{
    // The list's rows are all alike: it need not ask for every one's height.
    auto* list = new QListView(this);
    list->setUniformItemSizes(true);
    setView(list);
    setModel(m_model);
    setMaxVisibleItems(24);
    setCurrentIndex(0);
    setEnabled(false);
    connect(this, &QComboBox::activated, this, [this](int row) {
        const StepSpan* step = m_model->step(row);
        emit stepChosen(step ? std::optional(step->step) : std::nullopt);
    });
}

void StepPicker::setSteps(std::shared_ptr<const StepSpans> steps, const std::string& stepsBy)
{
    setToolTip(steps ? stepCountsText(stepCounts(*steps)) : QString());
    m_model->setSteps(std::move(steps), isWholeTrace(stepsBy));
    setCurrentIndex(0);
    setEnabled(m_model->stepCount() > 0);
    updateGeometry();
}

void StepPicker::showStep(std::optional<StepIndex> step)
{
    setCurrentIndex(m_model->rowOf(step));
}

QSize StepPicker::sizeHint() const
{
    // The widest entries are the first, which may be a warm-up step, and the last, which has the longest number.
    const QFontMetrics metrics(font());
    int width = 0;
    const int last = m_model->stepCount();
    for (const int row : {0, std::min(1, last), last})
        width = std::max(width, metrics.horizontalAdvance(m_model->text(row)));
    QStyleOptionComboBox option;
    initStyleOption(&option);
    return style()->sizeFromContents(QStyle::CT_ComboBox, &option, QSize(width + 4, std::max(14, metrics.height())),
                                     this);
}

void StepPicker::changeEvent(QEvent* event)
{
    QComboBox::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) {
        m_model->retranslate();
        updateGeometry();
    }
}

} // namespace fourwalls::views
