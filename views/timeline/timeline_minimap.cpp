// SPDX-License-Identifier: GPL-3.0-or-later
// See timeline_minimap.h.
#include "views/timeline/timeline_minimap.h"

#include "views/plot/theme.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kColumns = 1024;
constexpr std::size_t kMostRanksAveraged = 64; ///< evenly chosen: the strip is as cheap for a thousand ranks
constexpr int kGrip = 5;                       ///< so near to an edge it is dragged [pixels]
constexpr double kNarrowestWindow = 6;         ///< drawn at least so wide [pixels]
constexpr int kUnitsToDouble = 480;            ///< of the wheel, as in the timeline
const QByteArray kMinimapChannel = QByteArrayLiteral("timeline.minimap");

std::vector<RankId> someOf(const std::vector<TrackView>& tracks)
{
    std::vector<RankId> ranks, some;
    for (const TrackView& track : tracks)
        if (track.slices > 0) ranks.push_back(track.info.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    const std::size_t count = std::min(kMostRanksAveraged, ranks.size());
    for (std::size_t i = 0; i < count; ++i) some.push_back(ranks[i * ranks.size() / count]);
    return some;
}

} // namespace

TimelineMinimap::TimelineMinimap(QWidget* parent) : QWidget(parent)
{
    setObjectName(QStringLiteral("timeline.minimap"));
    setFixedHeight(kHeight);
    setMouseTracking(true);
    retranslate();
}

void TimelineMinimap::retranslate()
{
    setAccessibleName(tr("The whole trace"));
    setAccessibleDescription(tr("What the ranks did over the whole trace, and which part of it the timeline shows."));
    setToolTip(tr("The whole trace: drag the part that is shown or its edges, or drag beside it to choose another"));
}

void TimelineMinimap::setSession(TraceSession* session, TimeRange whole)
{
    if (m_session) m_session->cancel(this, kMinimapChannel);
    m_session = session;
    m_whole = {whole.begin, std::max(whole.end, whole.begin + Duration{1})};
    m_columns.clear();
    m_reading = false;
    m_drag = Drag::None;
    m_dirty = true;
    if (session) ask();
    update();
}

void TimelineMinimap::ask()
{
    const std::vector<RankId> ranks = someOf(m_session->tracks());
    if (ranks.empty()) return;
    m_reading = true;
    m_session->ask<std::vector<BarPainter::ActivityColumn>>(
        this, kMinimapChannel,
        [ranks, whole = m_whole](TraceQuery& trace,
                                 std::stop_token) -> Result<std::vector<BarPainter::ActivityColumn>> {
            FOURWALLS_TRY_ASSIGN(const std::vector<RankActivity> activity, trace.rankActivity(ranks, whole, kColumns));
            std::vector<BarPainter::ActivityColumn> mean(kColumns);
            const auto part = 1.0f / static_cast<float>(ranks.size());
            for (const RankActivity& rank : activity)
                for (std::size_t i = 0; i < mean.size() && i < rank.columns.size(); ++i) {
                    mean[i].compute += part * rank.columns[i].compute;
                    mean[i].communication += part * rank.columns[i].communication;
                    mean[i].other += part * rank.columns[i].other;
                    mean[i].waiting += part * rank.columns[i].waiting;
                }
            return mean;
        },
        [this](const Answer<std::vector<BarPainter::ActivityColumn>>& answer) {
            m_reading = false;
            if (answer.ok()) m_columns = *answer;
            m_dirty = true;
            update();
            emit changed();
        },
        Urgency::Background);
}

void TimelineMinimap::setRange(TimeRange range)
{
    if (range == m_range) return;
    m_range = range;
    update();
}

void TimelineMinimap::setMargins(int left, int right)
{
    if (left == m_left && right == m_right) return;
    m_left = left;
    m_right = right;
    m_dirty = true;
    update();
}

QRect TimelineMinimap::plotRect() const
{
    return {m_left, 3, std::max(1, width() - m_left - m_right), height() - 6};
}

double TimelineMinimap::xOf(Instant at) const
{
    const QRect plot = plotRect();
    return plot.left() +
           static_cast<double>((at - m_whole.begin).ns) / static_cast<double>(m_whole.length().ns) * plot.width();
}

Instant TimelineMinimap::timeAt(double x) const
{
    const QRect plot = plotRect();
    const double share = std::clamp((x - plot.left()) / plot.width(), 0.0, 1.0);
    return m_whole.begin + Duration{static_cast<std::int64_t>(share * static_cast<double>(m_whole.length().ns))};
}

QRectF TimelineMinimap::windowRect() const
{
    const QRect plot = plotRect();
    double from = std::clamp(xOf(m_range.begin), plot.left() * 1.0, plot.left() + plot.width() * 1.0);
    double to = std::clamp(xOf(m_range.end), plot.left() * 1.0, plot.left() + plot.width() * 1.0);
    if (to - from < kNarrowestWindow) {
        const double middle = (from + to) / 2;
        from = std::clamp(middle - kNarrowestWindow / 2, plot.left() * 1.0,
                          std::max(plot.left() * 1.0, plot.left() + plot.width() - kNarrowestWindow));
        to = from + kNarrowestWindow;
    }
    return {from, plot.top() * 1.0, to - from, plot.height() * 1.0};
}

void TimelineMinimap::drawColumns()
{
    const QRect plot = plotRect();
    const double ratio = devicePixelRatioF();
    const QSize pixels = (QSizeF(plot.size()) * ratio).toSize();
    m_image = QImage(pixels, QImage::Format_RGB32);
    m_image.setDevicePixelRatio(ratio);
    m_dirty = false;
    if (m_image.isNull()) return;
    const BarPalette palette = barPaletteOf(currentTheme());
    BarPainter painter(m_image, palette);
    painter.clear({});
    if (m_columns.empty()) return;
    std::vector<BarPainter::ActivityColumn> shown(static_cast<std::size_t>(pixels.width()));
    for (std::size_t x = 0; x < shown.size(); ++x) {
        // The mean of the columns that lie under the pixel.
        const std::size_t from = x * m_columns.size() / shown.size();
        const std::size_t to = std::max(from + 1, (x + 1) * m_columns.size() / shown.size());
        const auto part = 1.0f / static_cast<float>(to - from);
        for (std::size_t i = from; i < to; ++i) {
            shown[x].compute += part * m_columns[i].compute;
            shown[x].communication += part * m_columns[i].communication;
            shown[x].other += part * m_columns[i].other;
            shown[x].waiting += part * m_columns[i].waiting;
        }
    }
    painter.activity(0, pixels.height(), shown);
}

void TimelineMinimap::paintEvent(QPaintEvent*)
{
    if (!m_session) return;
    const Theme& theme = currentTheme();
    const QRect plot = plotRect();
    if (m_dirty || m_image.devicePixelRatio() != devicePixelRatioF() ||
        m_image.size() != (QSizeF(plot.size()) * devicePixelRatioF()).toSize())
        drawColumns();
    QPainter painter(this);
    painter.drawImage(plot.topLeft(), m_image);
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    const QRect name(18, plot.top(), std::max(0, plot.left() - 26), plot.height());
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(tr("whole trace"), Qt::ElideRight, name.width()));
    // What is not shown is paler.
    const QRectF window = windowRect();
    QColor veil = theme.card;
    veil.setAlpha(150);
    painter.fillRect(QRectF(plot.left(), plot.top(), window.left() - plot.left(), plot.height()), veil);
    painter.fillRect(QRectF(window.right(), plot.top(), plot.left() + plot.width() - window.right(), plot.height()),
                     veil);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.accent, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(window.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
}

TimelineMinimap::Drag TimelineMinimap::dragAt(double x) const
{
    const QRectF window = windowRect();
    // A narrow window is moved; its edges are too near to each other to be taken.
    if (window.width() >= 4 * kGrip) {
        if (std::abs(x - window.left()) <= kGrip) return Drag::Begin;
        if (std::abs(x - window.right()) <= kGrip) return Drag::End;
    }
    return x >= window.left() - kGrip && x <= window.right() + kGrip ? Drag::Move : Drag::Choose;
}

void TimelineMinimap::choose(TimeRange range)
{
    if (range.begin > range.end) std::swap(range.begin, range.end);
    if (!range.empty()) emit rangeChosen(range);
}

void TimelineMinimap::mousePressEvent(QMouseEvent* event)
{
    if (!m_session || event->button() != Qt::LeftButton || event->position().x() < m_left - kGrip) return;
    m_pressX = event->position().x();
    m_pressRange = m_range;
    m_drag = dragAt(m_pressX);
}

void TimelineMinimap::mouseMoveEvent(QMouseEvent* event)
{
    const double x = event->position().x();
    const Duration moved = timeAt(x) - timeAt(m_pressX);
    switch (m_drag) {
    case Drag::None: {
        const Drag would = dragAt(x);
        const bool edge = would == Drag::Begin || would == Drag::End;
        setCursor(edge ? Qt::SizeHorCursor : would == Drag::Move ? Qt::OpenHandCursor : Qt::ArrowCursor);
        break;
    }
    case Drag::Move: choose({m_pressRange.begin + moved, m_pressRange.end + moved}); break;
    case Drag::Begin: choose({timeAt(x), m_pressRange.end}); break;
    case Drag::End: choose({m_pressRange.begin, timeAt(x)}); break;
    case Drag::Choose:
        if (std::abs(x - m_pressX) >= kGrip) choose({timeAt(m_pressX), timeAt(x)});
        break;
    }
}

void TimelineMinimap::mouseReleaseEvent(QMouseEvent* event)
{
    const bool isClick = m_drag == Drag::Choose && std::abs(event->position().x() - m_pressX) < kGrip;
    m_drag = Drag::None;
    if (!isClick) return;
    const Instant middle = timeAt(m_pressX);
    const Duration half{m_range.length().ns / 2};
    choose({middle - half, middle + half});
}

void TimelineMinimap::wheelEvent(QWheelEvent* event)
{
    event->accept();
    if (!m_session || event->angleDelta().y() == 0) return;
    const Instant about = timeAt(event->position().x());
    const double factor = std::exp2(-event->angleDelta().y() / static_cast<double>(kUnitsToDouble));
    const auto scaled = [&](Instant edge) {
        return about + Duration{std::llround(static_cast<double>((edge - about).ns) * factor)};
    };
    choose({scaled(m_range.begin), scaled(m_range.end)});
}

void TimelineMinimap::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) {
        m_dirty = true;
        update();
    }
}

} // namespace fourwalls::views
