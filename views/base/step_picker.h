// SPDX-License-Identifier: GPL-3.0-or-later
// The choice of a step, as the timeline and the memory view offer it. A training may have any number of steps: nothing
// is made or measured per step before the list is opened.
#pragma once

#include "model/present/step_spans.h"

#include <QComboBox>

#include <memory>
#include <optional>
#include <string>

namespace fourwalls::views {

class StepPicker : public QComboBox {
    Q_OBJECT
public:
    explicit StepPicker(QWidget* parent = nullptr);

    /// The steps by time; null or empty: there is nothing to choose. stepsBy: as TraceClosing says.
    void setSteps(std::shared_ptr<const StepSpans> steps, const std::string& stepsBy = {});
    /// Shows a choice that was made elsewhere, without emitting anything. Absent: all steps.
    void showStep(std::optional<StepIndex> step);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    /// A person chose a step, or all of them.
    void stepChosen(std::optional<fourwalls::StepIndex> step);

protected:
    void changeEvent(QEvent* event) override;

private:
    class Model;
    Model* m_model;
};

} // namespace fourwalls::views
