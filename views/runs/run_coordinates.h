// SPDX-License-Identifier: GPL-3.0-or-later
// Parallel coordinates of a sweep: an axis for each setting in which the runs differ, the final loss at the end, a line for
// each run.
#pragma once

#include "views/plot/spoken.h"
#include "views/runs/run_curve_plots.h"

#include <QWidget>

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls::views {

enum class RunSetting : std::uint8_t { LearningRate, Batch, Width, Warmup, WeightDecay, Clip, Loss };

struct RunCoordinate {
    RunSetting setting = RunSetting::Loss;
    double low = 0, high = 0;
    bool log = false;                          ///< over a factor of 3 between positive values
    std::vector<std::optional<double>> places; ///< by run: 0 at low to 1 at high; absent: unknown, or not shown
};

/// The settings that differ between the shown runs, and the loss last. Empty where fewer than two settings differ: then a
/// curve says more. Runs without a final loss, and those that diverged, have no places.
std::vector<RunCoordinate> runCoordinates(const RunList& list, const std::vector<bool>& shown);

class RunCoordinatePlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit RunCoordinatePlot(QWidget* parent = nullptr);
    void setCoordinates(std::vector<RunCoordinate> coordinates, std::vector<bool> chosen);
    const std::vector<RunCoordinate>& coordinates() const { return m_coordinates; }
    /// Where a run's line meets an axis.
    std::optional<QPointF> pointOf(std::size_t run, std::size_t axis) const;
    /// The run whose line passes within a few pixels; -1: none.
    int runAt(QPointF at) const;

    QSize minimumSizeHint() const override { return {200, 110}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

signals:
    void runChosen(int run);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    QRectF field() const;
    double across(std::size_t axis) const;
    std::vector<std::size_t> drawnOrder() const; ///< the best last

    std::vector<RunCoordinate> m_coordinates;
    std::vector<bool> m_chosen;
};

} // namespace fourwalls::views
