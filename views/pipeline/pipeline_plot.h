// SPDX-License-Identifier: GPL-3.0-or-later
// Stages over time: one lane per stage with its passes, numbered by micro-batch, on the hatching of the bubble.
#pragma once

#include "views/plot/plot_time.h" // first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/pipeline_questions.h"
#include "views/plot/text_cache.h"

#include <memory>
#include <optional>

namespace fourwalls::views {

/// Which colour a pass has: of its direction, or of its micro-batch (directions then differ in lightness).
enum class PassColours { ByPass, ByMicrobatch };

/// A pass of a picture: lane and index in it.
struct PassPlace {
    int lane = -1, pass = -1;
    bool isValid() const { return lane >= 0 && pass >= 0; }
    friend bool operator==(const PassPlace&, const PassPlace&) = default;
};

class PipelinePlot : public TimePlot {
    Q_OBJECT
public:
    explicit PipelinePlot(QWidget* parent = nullptr);

    /// What is drawn, moved by `shift` on the plot's time axis; null: nothing.
    void setPicture(std::shared_ptr<const PipelinePicture> picture, Duration shift = {});
    const std::shared_ptr<const PipelinePicture>& picture() const { return m_picture; }
    /// Draws what a model says: violet, dashed outlines.
    void setPredicted(bool predicted);
    void setColours(PassColours colours);
    /// The pass that was clicked; invalid: none.
    void setSelected(PassPlace place);
    PassPlace selected() const { return m_selected; }
    /// All passes of this micro-batch are outlined.
    void setHighlighted(std::optional<Microbatch> microbatch);

    /// What lies under a point of the widget.
    PassPlace placeAt(QPointF where) const;
    const StagePass* pass(PassPlace place) const;
    /// The box of a pass in widget coordinates, also where it is outside of the visible range.
    QRectF boxOf(PassPlace place) const;
    /// The lines of the readout of a pass: first its name.
    QStringList describe(PassPlace place) const;

    QSize minimumSizeHint() const override { return {320, 96}; }
    QSize sizeHint() const override { return {900, 220}; }

    /// All passes, lane after lane.
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    void microbatchHovered(std::optional<fourwalls::Microbatch> microbatch);

protected:
    void paintPlot(QPainter& painter) override;
    void paintHover(QPainter& painter) override;
    FrameQuality quality() const override { return m_picture ? FrameQuality::Full : FrameQuality::Blank; }
    void pointerMoved() override;

private:
    struct Lane {
        double top = 0, height = 0;
    };
    Lane laneBox(int lane) const;
    PassPlace placeOf(int part) const;
    double xOfPass(Instant at) const { return xOf(at + m_shift); }
    QColor fillOf(const StagePass& pass, Phase phase) const;
    void paintLanes(QPainter& painter);
    void paintPasses(QImage& image, const QRectF& inside, double ratio);
    void paintNumbers(QPainter& painter, const QRectF& inside);
    void outline(QPainter& painter, PassPlace place, const QPen& pen) const;
    void readBubble(QPainter& painter, QPointF at) const;

    std::shared_ptr<const PipelinePicture> m_picture;
    Duration m_shift;
    PassColours m_colours = PassColours::ByPass;
    PassPlace m_selected;
    std::optional<Microbatch> m_highlighted;
    bool m_predicted = false;
    TextCache m_texts;
};

/// The colour of the n-th micro-batch where colours tell micro-batches apart.
QColor microbatchColour(Microbatch microbatch, bool dark);

} // namespace fourwalls::views
