// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of the fullest rank as one bar against the device's capacity, which is a brick wall.
#pragma once

#include "views/plot/spoken.h"
#include "views/whatif/cost_words.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class MemoryBar : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit MemoryBar(QWidget* parent = nullptr);
    /// Null: nothing is known.
    void setStep(std::shared_ptr<const cost::PredictedStep> step);
    void setByteUnit(ByteUnit unit);
    QSize sizeHint() const override { return {280, 34}; }
    QSize minimumSizeHint() const override { return {160, 34}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    double largest() const; ///< bytes at the right edge
    std::shared_ptr<const cost::PredictedStep> m_step;
    std::vector<MemoryShare> m_shares;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
