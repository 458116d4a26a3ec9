// SPDX-License-Identifier: GPL-3.0-or-later
// See suggestion_list.h.
#include "views/overview/suggestion_list.h"

#include "views/plot/plot_card.h"
#include "views/plot/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace fourwalls::views {

SuggestionList::SuggestionList(QWidget* parent)
    : QWidget(parent)
    , m_layout(new QVBoxLayout(this))
    , m_note(new QLabel(this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(4);
    m_note->setWordWrap(true);
    m_note->setFont(fontOf(TextRole::Small));
    m_note->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_layout->addWidget(m_note, 1);
}

QString SuggestionList::note() const
{
    return m_note->text();
}

void SuggestionList::setRows(const std::vector<SuggestionRow>& rows, const QString& note, const QString& action)
{
    if (m_rows) {
        // Not at once: a change of theme goes through all widgets, and a button may be the sender.
        m_layout->removeWidget(m_rows);
        m_rows->hide();
        m_rows->deleteLater();
        m_rows = nullptr;
    }
    m_buttons.clear();
    m_note->setText(note);
    m_note->setToolTip(note);
    if (rows.empty()) return fitRows();
    m_rows = new QWidget(this);
    auto* grid = new QGridLayout(m_rows);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(2);
    int line = 0;
    for (const SuggestionRow& row : rows) {
        auto* change = new ElidedText(ElidedText::Tone::Plain, Qt::AlignLeft, m_rows);
        change->setMostLines(2);
        change->setText(row.change);
        auto* figures =
            new QLabel(row.memory.isEmpty() ? row.time : row.time + QStringLiteral(" · ") + row.memory, m_rows);
        figures->setWordWrap(true); // figures are never cut
        figures->setFont(fontOf(TextRole::Small));
        QPalette quiet = figures->palette();
        quiet.setColor(QPalette::WindowText, currentTheme().secondaryText);
        figures->setPalette(quiet);
        auto* button = new QPushButton(action, m_rows);
        button->setAccessibleName(action + QStringLiteral(": ") + row.change);
        const int index = static_cast<int>(m_buttons.size());
        connect(button, &QPushButton::clicked, this, [this, index] { emit chosen(index); });
        grid->addWidget(change, line, 0);
        grid->addWidget(figures, line + 1, 0);
        grid->addWidget(button, line, 1, 2, 1, Qt::AlignVCenter);
        line += 2;
        if (!row.advice.isEmpty()) {
            auto* advice = new QLabel(row.advice, m_rows);
            advice->setWordWrap(true);
            advice->setFont(fontOf(TextRole::Small));
            grid->addWidget(advice, line++, 0, 1, 2);
        }
        grid->setRowMinimumHeight(line++, 4); // air between suggestions
        m_buttons.push_back(button);
    }
    grid->setColumnStretch(0, 1);
    m_layout->insertWidget(0, m_rows);
    fitRows();
}

/// Layouts ask wrapped texts for the height of one line: in a narrow card rows would be drawn over one another.
void SuggestionList::fitRows()
{
    const int rows = m_rows ? m_rows->layout()->totalHeightForWidth(width()) : 0;
    if (m_rows) m_rows->setMinimumHeight(rows);
    const int note = m_note->text().isEmpty() ? 0 : m_note->heightForWidth(width());
    const int height = rows + note + m_layout->spacing();
    if (height == minimumHeight()) return;
    setMinimumHeight(height);
    // All around it are told: a layout that is being laid out just now tells nobody.
    for (QWidget* each = parentWidget(); each && !each->isWindow(); each = each->parentWidget()) each->updateGeometry();
}

bool SuggestionList::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) fitRows();
    return QWidget::event(event);
}

void SuggestionList::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitRows();
}

} // namespace fourwalls::views
