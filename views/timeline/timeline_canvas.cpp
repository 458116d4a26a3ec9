// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's viewport: state, layout and the order of painting.
#include "views/timeline/timeline_canvas.h"

#include "views/plot/paper.h"
#include "views/plot/time_ticks.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"

#include <QEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTimer>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kAxisHeight = 30;
constexpr int kScrollBarWidth = 10;
constexpr int kLeastForStrip = 260; ///< a lower canvas belongs to the rows alone
} // namespace

TimelineCanvas::TimelineCanvas(TimelineSource& source, QWidget* parent)
    : QWidget(parent)
    , m_source(source)
    , m_rowFilter(new QLineEdit(this))
    , m_scrollBar(new QScrollBar(Qt::Vertical, this))
    , m_prediction(std::make_unique<PredictionStrip>())
    , m_strip(new MemoryStrip(this))
    , m_counters(new CounterCurves(this))
    , m_hold(new QTimer(this))
{
    makeRowFilter();
    m_hold->setSingleShot(true);
    m_hold->setTimerType(Qt::PreciseTimer);
    m_hold->setInterval(kHoldMs);
    connect(m_hold, &QTimer::timeout, this, qOverload<>(&QWidget::update));
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent); // the card below need not be painted again for every frame
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("Slices of all ranks over time. Wheel or W and S zoom, drag or A and D move, F fits."));
    m_scrollBar->setAccessibleName(tr("Scroll the rows"));
    connect(m_scrollBar, &QScrollBar::valueChanged, this, &TimelineCanvas::scrollTo);
    connect(m_strip, &MemoryStrip::changed, this, [this](bool layoutChanged) {
        if (layoutChanged) relayout();
        m_labelsDirty = true;
        invalidate();
    });
    connect(m_counters, &CounterCurves::changed, this, &TimelineCanvas::invalidate);
    connect(&m_source, &TimelineSource::changed, this, [this] {
        m_hold->stop();
        invalidate();
    });
}

TimelineCanvas::~TimelineCanvas() = default;

void TimelineCanvas::setTrace(const TraceInfo& info, const std::vector<TrackView>& tracks, TimeRange whole)
{
    m_tracks = tracks;
    m_tracksOf.clear();
    for (const TrackView& track : m_tracks)
        if (track.slices > 0) m_tracksOf[track.info.rank].push_back(track.id);
    m_ranks = info.header.ranks;
    m_steps = stepSpansOf({});
    m_events.clear();
    m_arrangement = {};
    m_arrangement.collapsed = initiallyCollapsed(m_tracks);
    m_counterTracks = m_counters->hasSession() ? counterTracks(info) : std::vector<CounterTrack>();
    m_arrangement.hiddenCounters = initiallyHidden(info);
    const QSignalBlocker quiet(m_rowFilter);
    m_rowFilter->clear();
    // A tenth of the whole may show on either side, as Selection allows it.
    const Duration margin{whole.length().ns / 10};
    m_camera.setBounds({whole.begin - margin, whole.end + margin});
    m_camera.show(whole);
    m_zero = whole.begin;
    m_selected.reset();
    m_arrows.clear();
    m_area.reset();
    m_cursor.reset();
    m_hover = {};
    m_scroll = 0;
    m_soughtRank.reset();
    m_soughtTrack.reset();
    relayout();
}

void TimelineCanvas::setEmptyReason(const QString& reason)
{
    m_emptyReason = reason;
    m_rowFilter->setVisible(reason.isEmpty());
    m_scrollBar->setVisible(reason.isEmpty() && m_scrollBar->maximum() > 0);
    update();
}

QRect TimelineCanvas::plotRect() const
{
    return {m_labelWidth, kAxisHeight, std::max(1, width() - m_labelWidth - kScrollBarWidth),
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
    const TimelineLayout tallest = layoutTimeline(m_tracks, m_arrangement, 2 * available, m_counterTracks);
    const int over = available - tallest.pinnedHeight - tallest.height;
    return std::clamp(over, available * 3 / 10, available * 3 / 5);
}

void TimelineCanvas::setMemoryShown(bool shown)
{
    m_stripShown = shown;
    relayout();
}

void TimelineCanvas::relayout()
{
    m_rowFilter->setGeometry(8, 3, m_labelWidth - 16, kAxisHeight - 6);
    m_stripHeight = stripHeightFor(height() - kAxisHeight - m_prediction->height());
    const QRect plot = plotRect();
    m_hover = {};
    m_layout = layoutTimeline(m_tracks, m_arrangement, plot.height(), m_counterTracks);
    m_camera.setWidth(plot.width());
    const int hiddenLines = std::max(0, m_layout.pinnedHeight + m_layout.height - plot.height());
    const QSignalBlocker quiet(m_scrollBar);
    m_scrollBar->setGeometry(plot.right() + 1, plot.top(), kScrollBarWidth, plot.height());
    m_scrollBar->setRange(0, hiddenLines);
    m_scrollBar->setPageStep(plot.height());
    m_scrollBar->setSingleStep(20);
    m_scrollBar->setVisible(hiddenLines > 0 && m_emptyReason.isEmpty());
    m_scroll = std::clamp(scrollToSought(), 0, hiddenLines);
    m_scrollBar->setValue(m_scroll);
    m_labelsDirty = true;
    tellNeed();
    invalidate();
}

void TimelineCanvas::invalidate()
{
    m_dirty = true;
    repaintSoon();
}

void TimelineCanvas::repaintSoon()
{
    if (!m_hold->isActive()) update();
}

void TimelineCanvas::holdRepaint()
{
    // Started once, not again with every further move: a repaint is never put off for longer than a frame.
    if (!m_hold->isActive() && m_source.waiting() && m_source.coverage() < Coverage::Coarse) m_hold->start();
}

void TimelineCanvas::tellNeed()
{
    TimelineNeed need;
    need.range = m_camera.range();
    const double ratio = devicePixelRatioF();
    need.nsPerPixel = m_camera.nsPerPixel() / ratio;
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
    for (const auto& row : m_layout.pinned) add(row);
    const int lines = std::max(0, plotRect().height() - m_layout.pinnedHeight);
    for (const auto& row : m_layout.visible(m_scroll, m_scroll + lines)) add(row);
    m_source.setNeed(need);
    m_counters->setNeed(need.range, static_cast<int>(std::lround(m_camera.width() * ratio)), std::move(counters));
    if (m_stripHeight > 0) m_strip->setNeed(need.range, static_cast<int>(std::lround(m_camera.width() * ratio)));
}

void TimelineCanvas::setRange(TimeRange range)
{
    if (range == m_camera.range()) return;
    m_camera.show(range);
    tellNeed();
    holdRepaint();
    invalidate();
}

void TimelineCanvas::moved()
{
    tellNeed();
    holdRepaint();
    invalidate();
    emit rangeChanged(m_camera.range());
}

void TimelineCanvas::zoom(int units)
{
    const QRect plot = plotRect();
    const bool over = m_pointer && plot.contains(m_pointer->toPoint());
    m_camera.zoomAt(over ? m_pointer->x() - plot.left() : plot.width() / 2.0, units);
    moved();
}

void TimelineCanvas::pan(double share)
{
    m_camera.pan(-share * m_camera.width());
    moved();
}

void TimelineCanvas::setScroll(int value)
{
    if (value == m_scroll) return;
    m_scroll = std::clamp(value, m_scrollBar->minimum(), m_scrollBar->maximum());
    const QSignalBlocker quiet(m_scrollBar);
    m_scrollBar->setValue(m_scroll);
    m_labelsDirty = true;
    tellNeed();
    invalidate();
}

void TimelineCanvas::scrollTo(int value)
{
    m_soughtRank.reset();
    m_soughtTrack.reset();
    setScroll(value);
}

void TimelineCanvas::scrollBy(int lines)
{
    scrollTo(m_scroll + lines);
}

void TimelineCanvas::setArrangement(TimelineArrangement arrangement)
{
    m_arrangement = std::move(arrangement);
    relayout();
    emit arrangementChanged();
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

void TimelineCanvas::setCursor(std::optional<Instant> at)
{
    if (at == m_cursor) return;
    m_cursor = at;
    repaintSoon();
}

void TimelineCanvas::setSteps(std::shared_ptr<const StepSpans> steps)
{
    m_steps = std::move(steps);
    setPrediction(m_prediction->ghost());
    invalidate();
}

void TimelineCanvas::setEvents(std::vector<EventRecord> events)
{
    m_events = std::move(events);
    update();
}

void TimelineCanvas::setNotes(std::vector<TimelineNote> notes)
{
    m_notes = std::move(notes);
    std::stable_sort(m_notes.begin(), m_notes.end(),
                     [](const TimelineNote& a, const TimelineNote& b) { return a.range.begin < b.range.begin; });
    update();
}

void TimelineCanvas::setZero(Instant zero)
{
    if (zero == m_zero) return;
    m_zero = zero;
    invalidate();
}

void TimelineCanvas::setArea(std::optional<TimeRange> range, std::vector<TrackId> tracks)
{
    m_area = range;
    m_areaTracks = std::move(tracks);
    std::sort(m_areaTracks.begin(), m_areaTracks.end());
    update();
}

void TimelineCanvas::setMeasuring(bool measuring)
{
    m_measuring = measuring;
    QWidget::setCursor(measuring ? Qt::CrossCursor : Qt::ArrowCursor);
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
        emit painted(m_camera.range(), m_quality);
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
    if (m_dirty) {
        m_ticks = timeTicks(m_camera.range(), m_zero, plot.width(), kTickSpacing);
        TimelineFrame frame;
        frame.layout = &m_layout;
        frame.source = &m_source;
        frame.camera = &m_camera;
        frame.ticks = m_ticks;
        frame.steps = *m_steps;
        frame.scroll = m_scroll;
        frame.size = plot.size();
        frame.ratio = ratio;
        const Coverage coverage = m_renderer.render(frame, theme);
        switch (coverage) {
        case Coverage::Missing: m_quality = FrameQuality::Blank; break;
        case Coverage::Rough: m_quality = FrameQuality::Stale; break;
        case Coverage::Coarse: m_quality = FrameQuality::Coarse; break;
        case Coverage::Exact: m_quality = FrameQuality::Full; break;
        }
        if (m_stripHeight > 0) {
            m_strip->render(m_camera, m_ticks, stripRect().size(), ratio, theme);
            if (!m_strip->complete()) m_quality = std::min(m_quality, FrameQuality::Coarse);
        }
        if (m_prediction->isShown()) m_prediction->render(m_camera, predictionRect().size(), ratio, theme);
        m_dirty = false;
        if (m_pointer && m_drag == Drag::None) m_hover = hitAt(*m_pointer);
    }
    painter.drawImage(plot.topLeft(), m_renderer.image());
    paintCounters(painter);
    if (const QRect predicted = predictionRect(); !predicted.isEmpty()) {
        painter.drawImage(predicted.topLeft(), m_prediction->image());
        painter.setPen(theme.line);
        painter.drawLine(predicted.left(), predicted.top(), width(), predicted.top());
    }
    if (m_stripHeight > 0) {
        const QRect strip = stripRect();
        painter.drawImage(strip.topLeft(), m_strip->image());
        painter.setPen(theme.line);
        painter.drawLine(strip.left(), strip.top(), width(), strip.top());
    }
    const QSize column(plot.left(), height());
    if (isPaper(painter)) {
        painter.save();
        painter.setClipRect(QRect(QPoint(), column));
        paintLabelColumn(painter);
        painter.restore();
    } else {
        const QSize pixels = (QSizeF(column) * ratio).toSize();
        if (m_labelsDirty || m_labels.size() != pixels) {
            m_labels = QImage(pixels, QImage::Format_RGB32);
            m_labels.setDevicePixelRatio(ratio);
            m_labelsDirty = false;
            QPainter onImage(&m_labels);
            paintLabelColumn(onImage);
        }
        painter.drawImage(0, 0, m_labels);
    }
    painter.fillRect(plot.left(), 0, width() - plot.left(), plot.top(), theme.card);
    painter.fillRect(plot.right() + 1, plot.top(), width() - plot.right() - 1, height() - plot.top(), theme.card);
    paintAxis(painter);
    paintEvents(painter);
    paintNotes(painter);
    paintOverlays(painter);
    paintRowDrag(painter);
    painter.end();
    emit painted(m_camera.range(), m_quality);
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
    paintLabels(painter);
}

void TimelineCanvas::resizeEvent(QResizeEvent*)
{
    relayout();
}

void TimelineCanvas::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslateRowFilter();
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) {
        m_labelsDirty = true;
        invalidate();
    }
}

} // namespace fourwalls::views
