// SPDX-License-Identifier: GPL-3.0-or-later
// What the tables view says of its rows.
#include "views/plot/plot_card.h"
#include "views/tables/query_answer.h"
#include "views/tables/tables_view.h"
#include "views/words/format.h"

#include <QLabel>
#include <QSortFilterProxyModel>

namespace fourwalls::views {

QString TablesView::queryState() const
{
    if (m_asking) return tr("asking…");
    if (!m_queryProblem.isEmpty()) return m_queryProblem;
    const UserRows* rows = m_answer->rows();
    if (!rows) return tr("SQL over the tables of the trace file; nothing can be changed");
    const QString time = formatDuration(Duration::fromSeconds(rows->seconds), 2);
    if (m_sorted->rowCount() < m_answer->rowCount())
        return tr("%1 of %2 rows").arg(formatCount(m_sorted->rowCount()), formatCount(m_answer->rowCount()));
    if (rows->limited) return tr("the first %1 rows; there are more (%2)").arg(formatCount(m_answer->rowCount()), time);
    return tr("%1 rows (%2)").arg(formatCount(m_answer->rowCount()), time);
}

void TablesView::describe()
{
    const bool none =
        !m_isQuery && !m_waiting && m_problem.isEmpty() && m_model->table() && m_model->table()->rows.empty();
    m_nothing->setVisible(none);
    m_nothing->setText(
        followsRange(m_kind)
            ? tr("None of these in the visible range: another range of the timeline, or another table, may have some.")
            : tr("This trace has none of these. Choose another table above."));
    if (m_isQuery) {
        m_card->finding().setTone(m_queryProblem.isEmpty() || m_asking ? ElidedText::Tone::Quiet
                                                                       : ElidedText::Tone::Alarm);
        m_card->finding().setText(queryState());
        return;
    }
    const TraceTable* table = m_model->table().get();
    QString text;
    if (!m_problem.isEmpty())
        text = m_problem;
    else if (m_waiting)
        text = tr("reading…");
    else if (!table)
        text = emptyReason();
    else if (table->rows.empty())
        text = followsRange(m_kind) ? tr("none in the visible range") : tr("the trace has none");
    else if (m_sorted->rowCount() < m_model->rowCount())
        text = tr("%1 of %2 rows").arg(formatCount(m_sorted->rowCount()), formatCount(m_model->rowCount()));
    else if (table->longestFirst)
        text = tr("the longest %1 of %2 rows")
                   .arg(formatCount(static_cast<qint64>(table->rows.size())), formatCount(table->total));
    else if (table->limited && table->total > static_cast<qint64>(table->rows.size()))
        text = tr("the first %1 of %2 rows").arg(formatCount(m_model->rowCount()), formatCount(table->total));
    else if (table->limited)
        text = tr("the first %1 rows; zoom in to see others").arg(formatCount(m_model->rowCount()));
    else
        text = tr("%1 rows").arg(formatCount(m_model->rowCount()));
    if (table && !table->rows.empty() && followsRange(m_kind)) text += QStringLiteral(" · ") + tr("visible range");
    if (table && !table->rows.empty() && followsRank(m_kind) && selection())
        text += QStringLiteral(" · ") + tr("rank %1").arg(selection()->rank().value);
    if (m_spreading) text += QStringLiteral(" · ") + tr("p50 and p99 follow…");
    if (table && table->roughPercentiles) text += QStringLiteral(" · ") + tr("p50 and p99 within 1 %");
    m_card->finding().setTone(m_problem.isEmpty() ? ElidedText::Tone::Quiet : ElidedText::Tone::Alarm);
    m_card->finding().setText(text);
}

} // namespace fourwalls::views
