// SPDX-License-Identifier: GPL-3.0-or-later
// See counter_curves.h.
#include "views/timeline/counter_curves.h"

#include "views/timeline/bar_painter.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

const QByteArray kCountersChannel = QByteArrayLiteral("timeline.counters");
constexpr int kScaleColumns = 1024; ///< that find the extremes of a whole curve
constexpr std::size_t kMostShown = 8;
constexpr int kFillWeight = 110;     ///< of 255: the area below a curve on the card
constexpr int kTop = 3, kBottom = 2; ///< within the row

} // namespace

QString counterText(double value, CounterUnit unit, ByteUnit bytes)
{
    switch (unit) {
    case CounterUnit::None: return formatFigure(value, 4);
    case CounterUnit::Bytes: return formatBytes(value, bytes);
    case CounterUnit::PerSecond: return formatRate(value, QStringLiteral("/s"));
    case CounterUnit::Watt: return formatFigure(value, 4) + kThinSpace + QLatin1Char('W');
    case CounterUnit::Celsius: return formatFigure(value, 3) + kThinSpace + QStringLiteral("\u00b0C");
    case CounterUnit::Hertz: return formatRate(value, QStringLiteral("Hz"));
    case CounterUnit::Percent: return formatFigure(value, 3) + kThinSpace + QLatin1Char('%');
    }
    return {};
}

std::vector<CounterTrack> counterTracks(const TraceInfo& info)
{
    std::vector<CounterTrack> tracks;
    for (std::size_t i = 0; i < info.counters.size(); ++i)
        tracks.push_back({CounterId(static_cast<std::int32_t>(i)), info.counters[i].rank});
    return tracks;
}

std::set<CounterId> initiallyHidden(const TraceInfo& info)
{
    std::set<CounterId> hidden;
    std::map<RankId, std::size_t> shown;
    for (const CounterTrack& track : counterTracks(info)) {
        const CounterInfo& counter = info.counters[static_cast<std::size_t>(track.counter.value)];
        const bool elsewhere = !track.rank || (counter.unit == CounterUnit::Bytes && info.counts.allocations > 0) ||
                               info.counts.counterSamples == 0;
        if (elsewhere || ++shown[*track.rank] > kMostShown) hidden.insert(track.counter);
    }
    return hidden;
}

void CounterCurves::setSession(TraceSession* session, TimeRange whole)
{
    if (m_session) m_session->cancel(this, kCountersChannel);
    m_session = session;
    m_whole = whole;
    m_need = {};
    m_counters.clear();
    m_loaded.reset();
    m_pending = m_failed = false;
}

void CounterCurves::setNeed(TimeRange range, int pixels, std::vector<CounterId> counters)
{
    std::sort(counters.begin(), counters.end());
    if (range == m_need && pixels == m_pixels && counters == m_counters) return;
    m_need = range;
    m_pixels = std::max(1, pixels);
    m_counters = std::move(counters);
    m_failed = false;
    ask();
}

bool CounterCurves::covers() const
{
    if (m_counters.empty()) return true;
    if (!m_loaded) return false;
    const TimeRange seen = m_need.intersected({m_whole.begin, m_whole.end + Duration{1}});
    if (seen.empty()) return true;
    const double have = static_cast<double>(m_loaded->range.length().ns) / m_loaded->pixels,
                 need = static_cast<double>(m_need.length().ns) / m_pixels;
    const bool all = std::all_of(m_counters.begin(), m_counters.end(),
                                 [&](CounterId counter) { return m_loaded->curves.contains(counter); });
    return all && m_loaded->range.begin <= seen.begin && m_loaded->range.end >= seen.end && have <= need * 1.001;
}

bool CounterCurves::complete() const
{
    return !m_session || m_failed || (!m_pending && covers());
}

void CounterCurves::ask()
{
    if (!m_session || m_pending || m_need.empty() || covers()) return; // the next question follows the answer
    // Half a screen more on either side, so that a pan has its data at once.
    const Duration half{m_need.length().ns / 2};
    const TimeRange wide =
        TimeRange{m_need.begin - half, m_need.end + half}.intersected({m_whole.begin, m_whole.end + Duration{1}});
    if (wide.empty()) return;
    const double columns = static_cast<double>(wide.length().ns) / static_cast<double>(m_need.length().ns) * m_pixels;
    const int pixels = std::max(1, static_cast<int>(std::ceil(columns)));
    m_pending = true;
    std::map<CounterId, std::pair<double, double>> scales; // known ones are not asked for again
    if (m_loaded)
        for (const auto& [counter, curve] : m_loaded->curves) scales[counter] = {curve.least, curve.most};
    m_session->ask<Loaded>(
        this, kCountersChannel,
        [wide, pixels, counters = m_counters, scales = std::move(scales),
         whole = m_whole](TraceQuery& trace, const std::stop_token& stop) -> Result<Loaded> {
            Loaded loaded{wide, pixels, {}};
            for (const CounterId counter : counters) {
                if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "counter", ""};
                Curve curve;
                FOURWALLS_TRY_ASSIGN(curve.samples, trace.counter(counter, wide, pixels));
                if (const auto known = scales.find(counter); known != scales.end()) {
                    std::tie(curve.least, curve.most) = known->second;
                } else {
                    const TimeRange all{whole.begin, whole.end + Duration{1}};
                    FOURWALLS_TRY_ASSIGN(const std::vector<CounterSample> rough,
                                         trace.counter(counter, all, kScaleColumns));
                    if (!rough.empty()) curve.least = curve.most = rough.front().last;
                    for (const CounterSample& sample : rough) {
                        curve.least = std::min(curve.least, sample.min);
                        curve.most = std::max(curve.most, sample.max);
                    }
                }
                loaded.curves.emplace(counter, std::move(curve));
            }
            return loaded;
        },
        [this](const Answer<Loaded>& answer) {
            m_pending = false;
            m_failed = !answer.ok();
            if (answer.ok()) m_loaded = answer.value;
            emit changed();
            if (!m_failed) ask();
        });
}

const CounterInfo* CounterCurves::infoOf(CounterId counter) const
{
    const auto index = static_cast<std::size_t>(counter.value);
    return m_session && index < m_session->info().counters.size() ? &m_session->info().counters[index] : nullptr;
}

QString CounterCurves::nameOf(CounterId counter) const
{
    const CounterInfo* info = infoOf(counter);
    if (!info) return {};
    // The engine's own, which it notes at the end of each step.
    if (info->name == "step_wall_ms") return tr("last step, ms");
    if (info->name == "step_cpu_ms") return tr("last step, CPU, ms");
    return QString::fromStdString(info->name);
}

const CounterSample* CounterCurves::sampleAt(const Curve& curve, Instant at) const
{
    const auto after = std::upper_bound(curve.samples.begin(), curve.samples.end(), at,
                                        [](Instant t, const CounterSample& sample) { return t < sample.at; });
    return after == curve.samples.begin() ? nullptr : &*(after - 1);
}

void CounterCurves::paint(QPainter& painter, CounterId counter, const QRect& rect, const TimeCamera& camera,
                          const Theme& theme) const
{
    const CounterInfo* info = infoOf(counter);
    const auto found = m_loaded ? m_loaded->curves.find(counter) : std::map<CounterId, Curve>::const_iterator{};
    if (!info || !m_loaded || found == m_loaded->curves.end()) return;
    const Curve& curve = found->second;
    // From zero where the values are near it, so that areas can be compared; per cent always to 100.
    const double most = info->unit == CounterUnit::Percent ? std::max(100.0, curve.most) : curve.most;
    const double least = curve.least >= 0 && curve.least < most / 2 ? 0 : curve.least;
    const double span = most > least ? most - least : 1;
    const QRect inside = rect.adjusted(0, kTop, 0, -kBottom);
    const int bottom = inside.bottom() + 1;
    const auto yOf = [&](double value) {
        const double share = most > least ? (value - least) / span : 0.5;
        return bottom - static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * inside.height()));
    };
    // Opaque and in two calls: a curve has a piece for every pixel.
    const QColor fill(blend(theme.card.rgb(), theme.otherCompute.rgb(), kFillWeight));
    std::vector<QRect> areas, edges;
    for (std::size_t i = 0; i < curve.samples.size(); ++i) {
        const CounterSample& sample = curve.samples[i];
        const double x0 = camera.xOf(sample.at),
                     x1 = i + 1 < curve.samples.size() ? camera.xOf(curve.samples[i + 1].at) : camera.width();
        if (x1 < 0 || x0 > camera.width()) continue;
        const int left = rect.left() + std::max(0, static_cast<int>(std::floor(x0))),
                  right = rect.left() + std::min(camera.width(), std::max(static_cast<int>(std::floor(x0)) + 1,
                                                                          static_cast<int>(std::floor(x1))));
        const int held = yOf(sample.last), top = yOf(sample.max), low = yOf(sample.min);
        if (bottom > held + 1) areas.emplace_back(left, held + 1, right - left, bottom - held - 1);
        edges.emplace_back(left, held, right - left, 1);
        // What happened within the column.
        if (low - top > 1) edges.emplace_back(left, top, 1, low - top);
    }
    painter.save();
    painter.setClipRect(rect);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRects(areas.data(), static_cast<int>(areas.size()));
    painter.setBrush(theme.otherCompute);
    painter.drawRects(edges.data(), static_cast<int>(edges.size()));
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    const QString high = counterText(most, info->unit, m_unit), low = counterText(least, info->unit, m_unit);
    const QFontMetrics metrics(painter.font());
    if (rect.height() >= metrics.height() + 2) {
        QColor cover = theme.card;
        cover.setAlpha(190);
        const auto write = [&](const QString& text, Qt::Alignment where) {
            QRect place(0, 0, metrics.horizontalAdvance(text) + 10, metrics.height()); // no curve goes on beside it
            place.moveRight(rect.right());
            if (where & Qt::AlignTop)
                place.moveTop(rect.top());
            else
                place.moveBottom(rect.bottom());
            painter.fillRect(place, cover);
            painter.drawText(place, Qt::AlignCenter, text);
        };
        write(high, Qt::AlignTop);
        if (rect.height() >= 2 * metrics.height() + 2) write(low, Qt::AlignBottom);
    }
    painter.restore();
}

QStringList CounterCurves::readout(CounterId counter, Instant at) const
{
    const CounterInfo* info = infoOf(counter);
    QStringList lines{nameOf(counter)};
    const auto found = m_loaded ? m_loaded->curves.find(counter) : std::map<CounterId, Curve>::const_iterator{};
    if (!info || !m_loaded || found == m_loaded->curves.end()) return lines;
    const Curve& curve = found->second;
    const CounterSample* sample = sampleAt(curve, at);
    if (!sample) return lines << tr("no value yet");
    lines << counterText(sample->last, info->unit, m_unit);
    if (sample->min < sample->max)
        lines << tr("from %1 to %2 within this pixel")
                     .arg(counterText(sample->min, info->unit, m_unit), counterText(sample->max, info->unit, m_unit));
    // How fast: against the sample before, which held until this one.
    if (sample != curve.samples.data()) {
        const CounterSample& before = *(sample - 1);
        const double seconds = (sample->at - before.at).seconds();
        if (seconds > 0 && sample->last != before.last) {
            const double rate = (sample->last - before.last) / seconds;
            const QString text = counterText(std::abs(rate), info->unit, m_unit);
            lines << tr("%1%2 per second").arg(rate < 0 ? QString(kMinus) : QStringLiteral("+"), text);
        }
    }
    lines << tr("%1 to %2 over the trace")
                 .arg(counterText(curve.least, info->unit, m_unit), counterText(curve.most, info->unit, m_unit));
    return lines;
}

} // namespace fourwalls::views
