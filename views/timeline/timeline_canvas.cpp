// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's state, the places of its parts, and the order of painting.
#include "views/timeline/timeline_canvas.h"

#include "views/plot/paper.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"

#include <QEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fourwalls::views {

namespace {
constexpr int kAxisHeight = 30;
constexpr int kScrollBarWidth = 10;
constexpr int kLeastForStrip = 260; ///< a lower canvas belongs to the rows alone

/// A tenth of the whole may show on either side, as Selection allows it.
TimeRange withMargin(TimeRange whole)
{
    const Duration margin{whole.length().ns / 10};
    return {whole.begin - margin, whole.end + margin};
}
} // namespace

TimelineCanvas::TimelineCanvas(TimelineSource& source, QWidget* parent)
    : TimeSurface(parent)
    , m_source(source)
    , m_rows(nullptr)
    , m_axis(camera())
    , m_prediction(std::make_unique<PredictionStrip>())
    , m_strip(new MemoryStrip(this))
    , m_counters(new CounterCurves(this))
    , m_labels(new TimelineLabels(m_rows, *m_counters, this))
    , m_scrollBar(new QScrollBar(Qt::Vertical, this))
{
    setAttribute(Qt::WA_OpaquePaintEvent); // the card below need not be painted again for every frame
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("Slices of all ranks over time. Wheel or W and S zoom, drag or A and D move, F fits."));
    m_scrollBar->setAccessibleName(tr("Scroll the rows"));
    connect(m_scrollBar, &QScrollBar::valueChanged, &m_rows, &TimelineRows::scrollTo);
    connect(&m_rows, &TimelineRows::scrolled, this, &TimelineCanvas::rowsScrolled);
    connect(&m_rows, &TimelineRows::arrangementChanged, this, &TimelineCanvas::relayout);
    connect(m_labels, &TimelineLabels::widthChanged, this, &TimelineCanvas::relayout);
    connect(m_strip, &MemoryStrip::changed, this, [this](bool layoutChanged) {
        if (layoutChanged) relayout();
        m_labelsDirty = true;
        invalidate();
    });
    connect(m_counters, &CounterCurves::changed, this, &TimelineCanvas::invalidate);
    connect(&m_source, &TimelineSource::changed, this, [this] {
        m_dirty = true;
        dataArrived();
    });
}

TimelineCanvas::~TimelineCanvas() = default;

void TimelineCanvas::setTrace(const TraceInfo& info, const std::vector<TrackView>& tracks, TimeRange whole)
{
    m_rows.setTrace(tracks, m_counters->hasSession() ? counterTracks(info) : std::vector<CounterTrack>(),
                    initiallyHidden(info));
    m_ranks = info.header.ranks;
    m_steps = stepSpansOf({});
    ownCamera().setBounds(withMargin(whole));
    ownCamera().show(whole);
    m_axis.setEvents({});
    m_axis.setZero(whole.begin);
    m_selected.reset();
    m_arrows.clear();
    m_area.reset();
    relayout();
    m_labels->setFilter({});
    followRange();
}

TimeRange TimelineCanvas::boundsOf(const Selection& selection) const
{
    return withMargin(selection.whole());
}

void TimelineCanvas::setEmptyReason(const QString& reason)
{
    m_emptyReason = reason;
    m_labels->filterEdit().setVisible(reason.isEmpty());
    m_scrollBar->setVisible(reason.isEmpty() && m_rows.mostScroll() > 0);
    update();
}

QRect TimelineCanvas::plotRect() const
{
    const int left = m_labels->width();
    return {left, kAxisHeight, std::max(1, width() - left - kScrollBarWidth),
            std::max(1, height() - kAxisHeight - m_stripHeight - m_prediction->height())};
}

QRect TimelineCanvas::predictionRect() const
{
    if (!m_prediction->isShown()) return {};
    const QRect plot = plotRect();
    return {plot.left(), plot.bottom() + 1, plot.width(), m_prediction->height()};
}

void TimelineCanvas::setStepTime(std::optional<Duration> time)
{
    m_prediction->setStepTime(time);
    if (!m_prediction->isShown()) return;
    m_labelsDirty = true;
    invalidate();
}

void TimelineCanvas::setPrediction(StripGhost ghost)
{
    const int before = m_prediction->height();
    m_prediction->set(std::move(ghost), m_steps);
    if (m_prediction->height() != before) return relayout();
    if (before == 0) return;
    m_labelsDirty = true;
    invalidate();
}

QRect TimelineCanvas::stripRect() const
{
    if (m_stripHeight <= 0) return {};
    const QRect plot = plotRect();
    return {plot.left(), plot.bottom() + 1 + m_prediction->height(), plot.width(), m_stripHeight};
}

int TimelineCanvas::stripHeightFor(int available) const
{
    if (!m_stripShown || !m_strip->hasMemory() || !m_emptyReason.isEmpty() || available < kLeastForStrip) return 0;
    // Three tenths, and what the rows leave over even at their tallest, up to three fifths.
    const int over = available - m_rows.wantedHeight(2 * available);
    return std::clamp(over, available * 3 / 10, available * 3 / 5);
}

void TimelineCanvas::setMemoryShown(bool shown)
{
    m_stripShown = shown;
    relayout();
}

void TimelineCanvas::relayout()
{
    m_stripHeight = stripHeightFor(height() - kAxisHeight - m_prediction->height());
    const QRect plot = plotRect();
    m_labels->place(plot);
    m_hover = {};
    m_rows.layOut(plot.height());
    ownCamera().setWidth(plot.width());
    const QSignalBlocker quiet(m_scrollBar);
    m_scrollBar->setGeometry(plot.right() + 1, plot.top(), kScrollBarWidth, plot.height());
    m_scrollBar->setRange(0, m_rows.mostScroll());
    m_scrollBar->setPageStep(plot.height());
    m_scrollBar->setSingleStep(20);
    m_scrollBar->setVisible(m_rows.mostScroll() > 0 && m_emptyReason.isEmpty());
    rowsScrolled();
}

void TimelineCanvas::rowsScrolled()
{
    const QSignalBlocker quiet(m_scrollBar);
    m_scrollBar->setValue(m_rows.scroll());
    m_labelsDirty = true;
    tellNeed();
    invalidate();
}

void TimelineCanvas::invalidate()
{
    m_dirty = true;
    repaintSoon();
}

void TimelineCanvas::rangeMoved()
{
    m_dirty = true;
    tellNeed();
}

bool TimelineCanvas::awaitsData() const
{
    return m_source.waiting() && m_source.coverage() < Coverage::Coarse;
}

void TimelineCanvas::tellNeed()
{
    TimelineNeed need;
    need.range = range();
    const double ratio = devicePixelRatioF();
    need.nsPerPixel = camera().nsPerPixel() / ratio;
    std::vector<CounterId> counters;
    const auto add = [&](const TimelineRow& row) {
        if (row.kind == TimelineRow::Kind::Counter) {
            counters.push_back(row.counter);
        } else if (row.track) {
            need.tracks.push_back(*row.track);
        } else {
            need.ranks.push_back(row.rank);
        }
    };
    for (const auto& row : m_rows.layout().pinned) add(row);
    for (const auto& row : m_rows.visible()) add(row);
    m_source.setNeed(need);
    const int columns = static_cast<int>(std::lround(camera().width() * ratio));
    m_counters->setNeed(need.range, columns, std::move(counters));
    if (m_stripHeight > 0) m_strip->setNeed(need.range, columns);
}

void TimelineCanvas::setSelected(const std::optional<SelectedSlice>& slice)
{
    m_selected = slice;
    if (!slice) m_arrows.clear();
    tellCurrent(*this);
    update();
}

void TimelineCanvas::setArrows(std::vector<SliceArrow> arrows)
{
    m_arrows = std::move(arrows);
    update();
}

void TimelineCanvas::setSteps(std::shared_ptr<const StepSpans> steps)
{
    m_steps = std::move(steps);
    setPrediction(m_prediction->ghost());
    invalidate();
}

void TimelineCanvas::setEvents(std::vector<EventRecord> events)
{
    m_axis.setEvents(std::move(events));
    update();
}

void TimelineCanvas::setNotes(std::vector<TimelineNote> notes)
{
    m_axis.setNotes(std::move(notes));
    update();
}

void TimelineCanvas::setZero(Instant zero)
{
    if (zero == m_axis.zero()) return;
    m_axis.setZero(zero);
    invalidate();
}

void TimelineCanvas::setSlack(std::shared_ptr<const StepSlack> slack)
{
    if (m_slack == slack) return;
    m_slack = std::move(slack);
    update();
}

void TimelineCanvas::setArea(std::optional<TimeRange> range, std::vector<TrackId> tracks)
{
    m_area = range;
    m_areaTracks = std::move(tracks);
    std::sort(m_areaTracks.begin(), m_areaTracks.end());
    update();
}

bool TimelineCanvas::showsEverything() const
{
    if (isVisible() && visibleRegion().isEmpty()) return true; // scrolled out of sight: nothing will be painted
    // Without room for the memory strip nobody asks for its curve, so there is nothing to wait for.
    const bool noRoomForStrip = m_stripHeight <= 0 && m_strip->hasMemory();
    return !m_dirty && m_source.complete() && (noRoomForStrip || m_strip->complete()) && m_counters->complete() &&
           m_quality == FrameQuality::Full;
}

void TimelineCanvas::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = currentTheme();
    if (!m_emptyReason.isEmpty()) {
        painter.fillRect(rect(), theme.card);
        painter.setPen(theme.secondaryText);
        painter.setFont(fontOf(TextRole::Body));
        painter.drawText(rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, m_emptyReason);
        m_quality = FrameQuality::Full;
        m_dirty = false;
        emit painted(range(), m_quality);
        return;
    }
    const QRect plot = plotRect();
    const double ratio = imageRatio(painter, *this);
    if (ratio != m_ratio) {
        m_ratio = ratio;
        m_dirty = m_labelsDirty = true;
        // Another screen has other columns.
        if (!isPaper(painter)) QMetaObject::invokeMethod(this, &TimelineCanvas::tellNeed, Qt::QueuedConnection);
    }
    if (m_dirty) paintBars(plot, ratio);
    painter.drawImage(plot.topLeft(), m_renderer.image());
    paintCounters(painter);
    paintStrips(painter);
    const QSize column(plot.left(), height());
    if (isPaper(painter)) {
        painter.save();
        painter.setClipRect(QRect(QPoint(), column));
        paintLabelColumn(painter);
        painter.restore();
    } else {
        const QSize pixels = (QSizeF(column) * ratio).toSize();
        if (m_labelsDirty || m_labelImage.size() != pixels) {
            m_labelImage = QImage(pixels, QImage::Format_RGB32);
            m_labelImage.setDevicePixelRatio(ratio);
            m_labelsDirty = false;
            QPainter onImage(&m_labelImage);
            paintLabelColumn(onImage);
        }
        painter.drawImage(0, 0, m_labelImage);
    }
    painter.fillRect(plot.left(), 0, width() - plot.left(), plot.top(), theme.card);
    painter.fillRect(plot.right() + 1, plot.top(), width() - plot.right() - 1, height() - plot.top(), theme.card);
    m_axis.paint(painter, plot, width(), selection() ? selection()->cursor() : std::nullopt);
    paintOverlays(painter);
    if (pointer()) m_labels->paintDrag(painter, *pointer());
    painter.end();
    emit painted(range(), m_quality);
}

void TimelineCanvas::paintBars(const QRect& plot, double ratio)
{
    const Theme& theme = currentTheme();
    m_axis.layTicks(plot.width());
    TimelineFrame frame;
    frame.rows = &m_rows;
    frame.source = &m_source;
    frame.camera = &camera();
    frame.ticks = m_axis.ticks();
    frame.steps = *m_steps;
    frame.size = plot.size();
    frame.ratio = ratio;
    switch (m_renderer.render(frame, theme)) {
    case Coverage::Missing: m_quality = FrameQuality::Blank; break;
    case Coverage::Rough: m_quality = FrameQuality::Stale; break;
    case Coverage::Coarse: m_quality = FrameQuality::Coarse; break;
    case Coverage::Exact: m_quality = FrameQuality::Full; break;
    }
    if (m_stripHeight > 0) {
        m_strip->render(camera(), m_axis.ticks(), stripRect().size(), ratio, theme);
        if (!m_strip->complete()) m_quality = std::min(m_quality, FrameQuality::Coarse);
    }
    if (m_prediction->isShown()) m_prediction->render(camera(), predictionRect().size(), ratio, theme);
    m_dirty = false;
    if (pointer() && drag() == Drag::None && !m_labels->isDragging()) m_hover = hitAt(*pointer());
}

void TimelineCanvas::paintStrips(QPainter& painter) const
{
    const auto paint = [&](const QRect& place, const QImage& image) {
        if (place.isEmpty()) return;
        painter.drawImage(place.topLeft(), image);
        painter.setPen(currentTheme().line);
        painter.drawLine(place.left(), place.top(), width(), place.top());
    };
    paint(predictionRect(), m_prediction->image());
    paint(stripRect(), m_strip->image());
}

void TimelineCanvas::paintLabelColumn(QPainter& painter) const
{
    const Theme& theme = currentTheme();
    painter.fillRect(QRect(0, 0, plotRect().left(), height()), theme.card);
    if (const QRect predicted = predictionRect(); !predicted.isEmpty()) {
        m_prediction->paintLabels(painter, QRect(0, predicted.top(), predicted.left(), predicted.height()), theme);
        painter.setPen(theme.line);
        painter.drawLine(0, predicted.top(), predicted.left(), predicted.top());
    }
    if (m_stripHeight > 0) {
        const QRect strip = stripRect();
        m_strip->paintLabels(painter, QRect(0, strip.top(), strip.left(), strip.height()), theme);
        painter.setPen(theme.line);
        painter.drawLine(0, strip.top(), strip.left(), strip.top());
    }
    m_labels->paint(painter, m_hover.onLabel ? m_hover.row : nullptr);
}

void TimelineCanvas::resizeEvent(QResizeEvent*)
{
    relayout();
}

void TimelineCanvas::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) m_labels->retranslate();
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) {
        m_labelsDirty = true;
        invalidate();
    }
}

} // namespace fourwalls::views
