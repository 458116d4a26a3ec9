// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time of the recorded job went, failures included, and below it what the model of failures says of the same job.
#pragma once

#include "model/cost/recorded_goodput.h"
#include "model/trace/job_time.h"
#include "views/plot/spoken.h"

#include <QColor>
#include <QWidget>

#include <optional>
#include <vector>

namespace fourwalls::views {

class JobTimeBars : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit JobTimeBars(QWidget* parent = nullptr);

    /// Hides itself where the job had neither failures nor checkpoints.
    void setJob(const std::optional<JobTime>& time);
    /// Both bars in words; empty without a job.
    QString sentence() const;

    QSize sizeHint() const override { return {420, 92}; }
    QSize minimumSizeHint() const override { return {220, 92}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Part {
        QString name;
        double share = 0;
        QColor colour;
        bool hatched = false;
    };
    std::vector<Part> recordedParts() const;
    std::vector<Part> predictedParts() const;
    QRectF barOf(int row) const;
    void paintBar(QPainter& painter, int row, const QString& label, const std::vector<Part>& parts) const;
    void paintLegend(QPainter& painter) const;
    void describe();

    std::optional<JobTime> m_time;
    std::optional<cost::RecordedPrediction> m_model;
};

} // namespace fourwalls::views
