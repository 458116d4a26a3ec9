// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_stack_panel.h.
#include "views/memory/memory_stack_panel.h"

#include "views/memory/memory_panels.h"
#include "views/memory/memory_words.h"
#include "views/plot/theme.h"

#include <QPlainTextEdit>
#include <QToolButton>

namespace fourwalls::views {

MemoryStackPanel::MemoryStackPanel(QWidget* parent)
    : PlotCard(parent)
    , m_frames(new QPlainTextEdit(this))
    , m_close(choiceButton(this))
{
    m_frames->setReadOnly(true);
    m_frames->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_frames->setFont(fontOf(TextRole::Mono));
    m_close->setCheckable(false);
    addControl(m_close);
    addContent(m_frames, 1);
    connect(m_close, &QToolButton::clicked, this, &MemoryStackPanel::closed);
    retranslate();
}

void MemoryStackPanel::retranslate()
{
    title().setText(tr("Stack"));
    m_close->setText(QStringLiteral("×"));
    m_close->setToolTip(tr("Close the stack"));
    m_close->setAccessibleName(tr("Close the stack"));
    m_frames->setAccessibleName(tr("Call stack of the chosen buffer, innermost call first"));
}

void MemoryStackPanel::setBuffer(const AllocationView& item, const OpInfo* op, ByteUnit unit)
{
    const QString name = op ? nameOfMaker(op->name) : QString();
    finding().setText(
        tr("%1 · %2").arg(formatBytes(static_cast<double>(item.bytes), unit), name.isEmpty() ? QString(kDash) : name));
    m_frames->setPlainText(op ? QString::fromStdString(op->detail) : QString());
}

QString MemoryStackPanel::text() const
{
    return m_frames->toPlainText();
}

} // namespace fourwalls::views
