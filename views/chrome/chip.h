// SPDX-License-Identifier: GPL-3.0-or-later
// A chip: a short label in a rounded outline that says what kind of figures one is looking at.
#pragma once

#include "model/trace/vocabulary.h"
#include "views/plot/spoken.h"
#include "views/plot/theme.h"

#include <QWidget>

namespace fourwalls::views {

enum class ChipKind { Neutral, Recorded, Imported, Predicted };

/// The chip kind of a trace's source. Synthetic traces are neutral: they are neither measured nor modelled.
ChipKind chipKindOf(TraceSource source);

/// Size and painting for widgets that draw a chip themselves.
QSize chipSize(const QString& text);
void paintChip(QPainter& painter, const QRectF& rect, const QString& text, ChipKind kind, const Theme& theme);

class Chip : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit Chip(QWidget* parent = nullptr);
    void setChip(const QString& text, ChipKind kind = ChipKind::Neutral, const QString& explanation = {});
    const QString& text() const { return m_text; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }
    QAccessible::Role spokenRole() const override { return QAccessible::StaticText; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
    ChipKind m_kind = ChipKind::Neutral;
};

} // namespace fourwalls::views
