// SPDX-License-Identifier: GPL-3.0-or-later
// The predicted or replayed step below the timeline's rows: the passes, transfers and waits of the rank or its pipeline
// stage, laid over each recorded step from its own beginning, so that what a change makes is seen where it was recorded.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/drawn_step.h"
#include "views/plot/theme.h"
#include "views/plot/time_camera.h"

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

/// What the strip shows, for the rank whose rows are above it.
struct StripGhost {
    std::shared_ptr<const DrawnStep> step; ///< null: nothing
    RankId rank;
    int stage = 0;
    QString name; ///< "predicted" or "replayed"
    QString note; ///< " · guessed", what it rests on, or nothing: behind every figure of it
};

class PredictionStrip {
public:
    /// steps: of the rank; never null.
    void set(StripGhost ghost, std::shared_ptr<const StepSpans> steps);
    const StripGhost& ghost() const { return m_ghost; }
    /// Of the whole job, as in the metrics; absent: not known (yet).
    void setStepTime(std::optional<Duration> time) { m_stepTime = time; }
    bool isShown() const { return m_ghost.step && !m_steps->empty(); }
    int height() const { return isShown() ? kHeight : 0; }

    /// Draws the bars into image(), `size` pixels, `ratio` times as many of the device.
    void render(const TimeCamera& camera, QSize size, double ratio, const Theme& theme);
    const QImage& image() const { return m_image; }
    void paintLabels(QPainter& painter, const QRect& rect, const Theme& theme) const;
    QString label() const; ///< all that the labels say where they have room
    /// What is predicted for an instant, as lines of a caption; empty outside of every step.
    QStringList readout(Instant at) const;

    /// The bar at an instant; absent where nothing is predicted.
    std::optional<PredictedBar> barAt(Instant at) const;
    /// How much longer (> 0) or shorter the predicted step is than the job's step time; absent while that is not known.
    std::optional<double> difference() const;

    static constexpr int kHeight = 44;

private:
    const DrawnLane* lane() const;             ///< null: nothing is shown
    QString whose() const;                     ///< the rank or stage; may be empty
    QString figure() const;                    ///< how long the step is
    TimeRange rangeOf(std::size_t step) const; ///< of the predicted step, cut where the next recorded one begins

    StripGhost m_ghost;
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    std::optional<Duration> m_stepTime;
    QImage m_image;
};

} // namespace fourwalls::views
