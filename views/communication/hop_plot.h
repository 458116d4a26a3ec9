// SPDX-License-Identifier: GPL-3.0-or-later
// A collective as its members in a circle, each with its buffer in parts, and the messages of one round on their way.
#pragma once

#include "model/trace/hop_schedule.h"
#include "views/plot/spoken.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

class QTimer;

namespace fourwalls::views {

/// Position: 0 is before the first round, 1.5 in the middle of the second one, rounds() at the end.
class HopPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit HopPlot(QWidget* parent = nullptr);

    void setSchedule(std::shared_ptr<const HopSchedule> schedule);
    void setByteUnit(ByteUnit unit);
    int rounds() const;
    double position() const { return m_position; }
    void setPosition(double position);
    /// Moves on by so many rounds, and stops at the end.
    void advance(double rounds);
    bool isPlaying() const;
    void setPlaying(bool playing);

    QSize sizeHint() const override { return {480, 360}; }
    /// The words in the middle of a ring lie on none of its ranks.
    QSize minimumSizeHint() const override { return {420, 300}; }

    /// The round that is drawn.
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override { return rounds() > 0 ? 1 : 0; }
    QString spokenText(int) const override { return roundLines(shownRound()).join(QStringLiteral(", ")); }
    int spokenCurrent() const override { return rounds() > 0 ? 0 : -1; }

signals:
    void positionChanged(double position);
    void playingChanged(bool playing);

protected:
    void paintEvent(QPaintEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    int shownRound() const;
    QStringList roundLines(int round) const;
    QPointF placeOf(int member) const;
    void paintBuffer(QPainter& painter, int member, const std::vector<std::uint64_t>& parts) const;
    void paintMembers(QPainter& painter);
    void paintMessages(QPainter& painter, int round);
    void paintRound(QPainter& painter, int round);

    std::shared_ptr<const HopSchedule> m_schedule;
    ByteUnit m_unit = ByteUnit::GB;
    double m_position = 0;
    QTimer* m_timer;
};

} // namespace fourwalls::views
