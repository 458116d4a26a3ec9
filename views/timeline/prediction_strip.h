// SPDX-License-Identifier: GPL-3.0-or-later
// The predicted step below the timeline's rows: the passes, transfers and waits of the rank's pipeline stage, laid over
// each recorded step from its own beginning, so that what a plan would change is seen where it was recorded.
#pragma once

#include "model/trace/drawn_step.h"
#include "views/plot/theme.h"
#include "views/plot/time_camera.h"
#include "views/session/step_spans.h"

#include <QImage>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>

class QPainter;

namespace fourwalls::views {

/// One bar of the strip: an interval of the predicted stage in one recorded step.
struct PredictedBar {
    TimeRange range;    ///< cut where the next recorded step begins
    DrawnInterval work; ///< as predicted, from its own step's begin
    bool cut = false;
};

class PredictionStrip {
public:
    /// prediction null: none is shown. stage: of the rank whose steps these are; never null.
    void set(std::shared_ptr<const DrawnStep> prediction, int stage, std::shared_ptr<const StepSpans> steps);
    /// " · guessed", or nothing: behind every figure of it.
    void setNote(const QString& note) { m_note = note; }
    const QString& note() const { return m_note; }
    /// Of the whole job, as in the metrics; absent: not known (yet).
    void setStepTime(std::optional<Duration> time) { m_stepTime = time; }
    bool isShown() const { return m_prediction && !m_steps->empty(); }
    int height() const { return isShown() ? kHeight : 0; }

    /// Draws the bars into image(), `size` pixels, `ratio` times as many of the device.
    void render(const TimeCamera& camera, QSize size, double ratio, const Theme& theme);
    const QImage& image() const { return m_image; }
    void paintLabels(QPainter& painter, const QRect& rect, const Theme& theme) const;
    /// What is predicted for an instant, as lines of a caption; empty outside of every step.
    QStringList readout(Instant at) const;

    /// The bar at an instant; absent where nothing is predicted.
    std::optional<PredictedBar> barAt(Instant at) const;
    /// How much longer (> 0) or shorter the predicted step is than the job's step time; absent while that is not known.
    std::optional<double> difference() const;

    static constexpr int kHeight = 44;

private:
    TimeRange rangeOf(std::size_t step) const; ///< of the predicted step, cut where the next recorded one begins

    std::shared_ptr<const DrawnStep> m_prediction;
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    std::optional<Duration> m_stepTime;
    int m_stage = 0;
    QString m_note;
    QImage m_image;
};

} // namespace fourwalls::views
