// SPDX-License-Identifier: GPL-3.0-or-later
// The card with the whole call stack of the chosen buffer.
#pragma once

#include "model/trace/trace_query.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

class QPlainTextEdit;
class QToolButton;

namespace fourwalls::views {

class MemoryStackPanel : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryStackPanel(QWidget* parent = nullptr);

    /// item, op: the buffer and what asked for it; op null: unknown.
    void setBuffer(const AllocationView& item, const OpInfo* op, ByteUnit unit);
    /// The frames as shown, one per line.
    QString text() const;
    void retranslate();

signals:
    void closed();

private:
    QPlainTextEdit* m_frames;
    QToolButton* m_close;
};

} // namespace fourwalls::views
