// SPDX-License-Identifier: GPL-3.0-or-later
// See notes_dialog.h.
#include "app/gui/notes_dialog.h"

#include "views/plot/theme.h"
#include "views/view_registry.h"
#include "views/words/format.h"

#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <QVBoxLayout>

namespace fourwalls::gui {

namespace {

/// As the flag of a mark on the time axis.
QIcon digitIcon(int digit, double ratio)
{
    constexpr int kSize = 16;
    QPixmap pixmap(QSize(kSize, kSize) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(views::currentTheme().accent);
    QPainter painter(&pixmap);
    painter.setFont(views::fontOf(views::TextRole::Small));
    painter.setPen(views::currentTheme().card);
    painter.drawText(QRect(0, 0, kSize, kSize), Qt::AlignCenter, QString::number(digit));
    return pixmap;
}

} // namespace

NotesDialog::NotesDialog(TraceNotes* notes, const QString& name, QWidget* parent)
    : QDialog(parent)
    , m_notes(notes)
    , m_list(new QListWidget(this))
    , m_go(new QPushButton(tr("Show"), this))
    , m_remove(new QPushButton(tr("Delete"), this))
{
    setWindowTitle(tr("Bookmarks and notes of %1").arg(name));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(560, 360);
    auto* hint =
        new QLabel(tr("Double click shows the place; F2 changes the text. They are kept beside the trace."), this);
    hint->setWordWrap(true);
    m_list->setObjectName(QStringLiteral("notes"));
    m_list->setAccessibleName(tr("Bookmarks"));
    m_list->setEditTriggers(QAbstractItemView::EditKeyPressed);
    auto* add = new QPushButton(tr("Add what is shown now"), this);
    auto* close = new QPushButton(tr("Close"), this);
    auto* buttons = new QHBoxLayout;
    for (QPushButton* button : {add, m_go, m_remove}) buttons->addWidget(button);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(18, 18, 18, 18);
    column->setSpacing(12);
    column->addWidget(hint);
    column->addWidget(m_list, 1);
    column->addLayout(buttons);

    const auto go = [this] {
        const int row = m_list->currentRow();
        if (m_notes && row >= 0 && row < static_cast<int>(m_notes->notes().size()))
            emit chosen(m_notes->notes()[static_cast<std::size_t>(row)]);
    };
    connect(add, &QPushButton::clicked, this, &NotesDialog::addRequested);
    connect(m_go, &QPushButton::clicked, this, go);
    connect(m_list, &QListWidget::itemDoubleClicked, this, go);
    connect(m_remove, &QPushButton::clicked, this, [this] {
        if (m_notes && m_list->currentRow() >= 0) m_notes->remove(static_cast<std::size_t>(m_list->currentRow()));
    });
    connect(m_list, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
        if (!m_filling && m_notes) m_notes->setText(static_cast<std::size_t>(m_list->row(item)), item->text());
    });
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
    connect(notes, &TraceNotes::changed, this, &NotesDialog::fill);
    connect(notes, &QObject::destroyed, this, &QDialog::close);
    fill();
}

void NotesDialog::fill()
{
    if (!m_notes) return;
    m_filling = true;
    const int row = m_list->currentRow();
    m_list->clear();
    for (const TraceNote& note : m_notes->notes()) {
        auto* item = new QListWidgetItem(note.text, m_list);
        item->setFlags(item->flags() | Qt::ItemIsEditable);
        QString place = views::viewTitle(note.view) + QStringLiteral(" · ") + tr("rank %1").arg(note.rank.value);
        if (note.number) {
            place.prepend(tr("mark %1").arg(*note.number) + QStringLiteral(" · "));
            item->setIcon(digitIcon(*note.number, m_list->devicePixelRatioF()));
        }
        if (note.step) place += QStringLiteral(" · ") + tr("step %1").arg(note.step->value);
        item->setToolTip(place + QStringLiteral(" · ") + views::formatDuration(note.range.length()));
    }
    m_list->setCurrentRow(std::min(row < 0 ? 0 : row, m_list->count() - 1));
    m_go->setEnabled(m_list->count() > 0);
    m_remove->setEnabled(m_list->count() > 0);
    m_filling = false;
}

} // namespace fourwalls::gui
