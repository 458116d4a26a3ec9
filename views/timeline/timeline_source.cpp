// SPDX-License-Identifier: GPL-3.0-or-later
// Asking for tiles, ahead of the user where time allows, and for the filter's matches.
#include "views/timeline/timeline_source.h"

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {
constexpr std::size_t kCacheBytes = 32u << 20;
constexpr std::size_t kMostOps = 4u << 20; // a stranger's file may name any number
constexpr std::size_t kMostMatches = 10'000;
/// From this many tracks on, both workers read a screen.
constexpr std::size_t kTracksWorthSharing = 6;
const QByteArray kScreenChannel = QByteArrayLiteral("timeline.screen");
const QByteArray kOtherScreenChannel = QByteArrayLiteral("timeline.screen.2");
const QByteArray kAheadChannel = QByteArrayLiteral("timeline.ahead");
const QByteArray kSearchChannel = QByteArrayLiteral("timeline.search");

QString textOf(const Error& error)
{
    return QString::fromStdString(error.message());
}
} // namespace

TimelineSource::TimelineSource(QObject* parent) : QObject(parent) {}

void TimelineSource::setSession(TraceSession* session, TimeRange whole)
{
    if (m_session) {
        for (const auto& channel : {kScreenChannel, kOtherScreenChannel, kAheadChannel, kSearchChannel})
            m_session->cancel(this, channel);
    }
    m_session = session;
    m_whole = whole;
    m_tiles.reset(whole.begin);
    m_need = {};
    m_outstanding = 0;
    m_aheadAsked = m_filterPending = false;
    m_ops.clear();
    m_styles.clear();
    m_matching.clear();
    m_matches.reset();
    m_error.clear();
    m_filterError.clear();
    m_filter = {};
    setColoursUsed({});
    emit matchesChanged();
}

void TimelineSource::setNeed(const TimelineNeed& need)
{
    if (need == m_need) return;
    m_need = need;
    m_aheadAsked = false;
    askMissing();
}

bool TimelineSource::complete() const
{
    return !m_filterPending && m_error.isEmpty() && missing(m_tiles.spanFor(m_need.range, level())).empty();
}

Coverage TimelineSource::coverage() const
{
    Coverage worst = Coverage::Exact;
    for (const auto track : m_need.tracks)
        worst = std::min(worst, m_tiles.pieces(track, m_need.range, level()).coverage);
    for (const auto rank : m_need.ranks) {
        Coverage part = Coverage::Exact;
        (void)m_tiles.activity(rank, m_need.range, level(), part);
        worst = std::min(worst, part);
    }
    return worst;
}

TimelineSource::Question TimelineSource::missing(const TileSpan& span) const
{
    Question question;
    question.span = span;
    question.requests = m_tiles.missing(span, m_need.tracks);
    question.ranks = m_tiles.missingActivity(span, m_need.ranks);
    return question;
}

void TimelineSource::giveUpScreen()
{
    m_session->cancel(this, kScreenChannel);
    m_session->cancel(this, kOtherScreenChannel);
    m_outstanding = 0;
}

void TimelineSource::askMissing()
{
    if (!m_session || m_need.range.empty()) return;
    const TileSpan span = m_tiles.spanFor(m_need.range, level());
    if (m_outstanding > 0) {
        // An answer on its way is still of use if it is of this level and touches the screen; else it is given up.
        const bool useful = m_asked.level == span.level && m_asked.first <= span.last && span.first <= m_asked.last;
        if (useful) return;
        giveUpScreen();
    }
    Question question = missing(span);
    if (question.empty()) {
        askAhead();
        return;
    }
    m_session->cancel(this, kAheadChannel);
    m_asked = span;
    Question other;
    other.span = span;
    for (auto& request : question.requests) {
        if (request.tracks.size() < kTracksWorthSharing) continue;
        // Every other track: neighbours in a rank differ in size, ranks do not.
        TileRequest half{request.span, {}}, rest{request.span, {}};
        for (std::size_t i = 0; i < request.tracks.size(); ++i)
            (i % 2 == 0 ? half : rest).tracks.push_back(request.tracks[i]);
        request = std::move(half);
        other.requests.push_back(std::move(rest));
    }
    m_outstanding = other.empty() ? 1 : 2;
    if (!other.empty()) ask(kOtherScreenChannel, std::move(other), Urgency::Frame);
    ask(kScreenChannel, std::move(question), Urgency::Frame);
}

void TimelineSource::askAhead()
{
    if (m_aheadAsked || !m_session) return;
    m_aheadAsked = true;
    // Half a screen to either side, and the next two wider resolutions, which zooming out needs.
    const Duration half{m_need.range.length().ns / 2};
    const TimeRange wider = TimeRange{m_need.range.begin - half, m_need.range.end + half}.intersected(
        {m_whole.begin, m_whole.end + Duration{1}});
    if (wider.empty()) return;
    Question all;
    for (const int up : {0, 1, 2}) {
        Question part = missing(m_tiles.spanFor(wider, level() + up));
        all.requests.insert(all.requests.end(), part.requests.begin(), part.requests.end());
        if (up == 0) {
            all.span = part.span;
            all.ranks = std::move(part.ranks);
        }
    }
    if (!all.empty()) ask(kAheadChannel, std::move(all), Urgency::Background);
}

void TimelineSource::ask(const QByteArray& channel, Question question, Urgency urgency)
{
    std::vector<std::pair<TileRequest, SliceQuery>> queries;
    for (auto& request : question.requests) {
        SliceQuery query = m_tiles.queryFor(request);
        queries.emplace_back(std::move(request), std::move(query));
    }
    const TimeRange activityRange = m_tiles.rangeOf(question.span);
    const int activityPixels = static_cast<int>((question.span.last - question.span.first + 1) * kTileColumns);
    const bool forScreen = channel != kAheadChannel;

    m_session->ask<Load>(
        this, channel,
        [queries = std::move(queries), ranks = std::move(question.ranks), span = question.span, activityRange,
         activityPixels](TraceQuery& trace, std::stop_token stop) -> Result<Load> {
            Load load;
            load.activitySpan = span;
            for (const auto& [request, query] : queries) {
                FOURWALLS_TRY_ASSIGN(SliceWindow window, trace.slices(query, stop));
                load.windows.push_back({request, std::move(window)});
            }
            if (!ranks.empty()) {
                FOURWALLS_TRY_ASSIGN(load.activity, trace.rankActivity(ranks, activityRange, activityPixels));
            }
            return load;
        },
        [this, forScreen](const Answer<Load>& answer) {
            if (forScreen && m_outstanding > 0) --m_outstanding;
            if (answer.ok()) {
                m_error.clear();
                take(*answer);
            } else if (answer.error.code != ErrorCode::Cancelled) {
                if (forScreen) giveUpScreen();
                m_error = textOf(answer.error);
                emit changed();
                return; // asking again would fail again; the next move of the user tries anew
            }
            if (m_outstanding > 0) return; // half a screen is not worth a repaint
            emit changed();
            askMissing();
        },
        urgency);
}

void TimelineSource::take(const Load& load)
{
    const std::size_t before = m_tiles.bytes();
    for (const auto& [request, window] : load.windows) {
        learn(window.ops);
        m_tiles.insert(request, window);
    }
    if (!load.activity.empty()) m_tiles.insertActivity(load.activitySpan, load.activity);
    // A screen that needs more than the cache's size is kept all the same, else it would be asked for without end.
    m_tiles.trim(std::max(kCacheBytes, 2 * (m_tiles.bytes() - before)));
}

std::shared_ptr<const OpInfo> TimelineSource::op(OpId id) const
{
    const auto index = static_cast<std::size_t>(id.value);
    return id.value >= 0 && index < m_ops.size() ? m_ops[index] : nullptr;
}

void TimelineSource::setColoursUsed(const ColourKeys& used)
{
    if (std::exchange(m_coloursUsed, used) != used) emit coloursUsedChanged();
}

void TimelineSource::learn(const OpDictionary& ops)
{
    ColourKeys used = m_coloursUsed;
    for (const auto& [id, info] : ops) {
        const auto index = static_cast<std::size_t>(id.value);
        if (id.value < 0 || index >= kMostOps || !info) continue;
        if (index >= m_ops.size()) {
            m_ops.resize(index + 1);
            restyle(m_styles.size());
        }
        if (m_ops[index]) continue;
        m_ops[index] = info;
        auto& style = m_styles[index];
        style.key = keyFor(*info);
        used.set(static_cast<std::size_t>(style.key));
    }
    setColoursUsed(used);
}

void TimelineSource::restyle(std::size_t from)
{
    m_styles.resize(m_ops.size());
    ColourKeys used = from == 0 ? ColourKeys() : m_coloursUsed;
    for (std::size_t index = from; index < m_styles.size(); ++index) {
        auto& style = m_styles[index];
        if (m_ops[index]) {
            style.key = keyFor(*m_ops[index]);
            used.set(static_cast<std::size_t>(style.key));
        }
        const bool other = m_matches && !(index < m_matching.size() && m_matching[index]);
        style.dimmed = other && !m_filter.hideOthers;
        style.hidden = other && m_filter.hideOthers;
    }
    setColoursUsed(used);
}

ColourKey TimelineSource::keyFor(const OpInfo& op) const
{
    const ColourKey key = colourKeyOf(op, m_colourBy);
    return m_colouring && key != ColourKey::Waiting ? m_colouring(op) : key;
}

void TimelineSource::setColouring(std::function<ColourKey(const OpInfo&)> colouring)
{
    m_colouring = std::move(colouring);
    restyle(0);
    emit changed();
}

void TimelineSource::setColourBy(ColourBy by)
{
    if (by == m_colourBy) return;
    m_colourBy = by;
    restyle(0);
    emit coloursUsedChanged(); // the same ones mean something else now
    emit changed();
}

void TimelineSource::setFilter(const TimelineFilter& filter)
{
    if (filter == m_filter) return;
    const bool sameQuestion = filter.text == m_filter.text && filter.regularExpression == m_filter.regularExpression;
    m_filter = filter;
    if (sameQuestion) {
        restyle(0);
        emit changed();
        return;
    }
    m_filterError.clear();
    if (filter.text.isEmpty() || !m_session) {
        if (m_session) m_session->cancel(this, kSearchChannel);
        m_filterPending = false;
        m_matches.reset();
        m_matching.clear();
        restyle(0);
        emit matchesChanged();
        emit changed();
        return;
    }
    SearchQuery query;
    query.text = filter.text.toStdString();
    query.regularExpression = filter.regularExpression;
    query.range = {m_whole.begin, m_whole.end + Duration{1}};
    query.limit = kMostMatches;
    m_filterPending = true;
    m_session->ask<SearchResult>(
        this, kSearchChannel,
        [query = std::move(query)](TraceQuery& trace, std::stop_token stop) { return trace.search(query, stop); },
        [this](const Answer<SearchResult>& answer) {
            m_filterPending = false;
            m_matches = answer.value;
            m_matching.clear();
            if (answer.ok()) {
                learn(answer->ops);
                for (const auto id : answer->matchingOps) {
                    const auto index = static_cast<std::size_t>(id.value);
                    if (id.value < 0 || index >= kMostOps) continue;
                    if (index >= m_matching.size()) m_matching.resize(index + 1);
                    m_matching[index] = true;
                }
            } else {
                m_filterError = QString::fromStdString(answer.error.what);
            }
            restyle(0);
            emit matchesChanged();
            emit changed();
        },
        Urgency::Background);
    emit matchesChanged();
}

} // namespace fourwalls::views
