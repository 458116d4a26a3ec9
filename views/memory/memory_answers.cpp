// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_answers.h.
#include "views/memory/memory_answers.h"

#include "views/session/slice_at.h"

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {

/// How much more than the screen is asked for on either side, as a share of it: a pan has data at once.
constexpr double kMargin = 0.5;
/// How much wider than asked for the columns of a picture may be to stand in for it until its own answer is there.
constexpr double kCoarsest = 4;

TimeRange widened(const TimeRange& range, double share, const TimeRange& limits)
{
    const Duration by{static_cast<std::int64_t>(share * static_cast<double>(range.length().ns))};
    const TimeRange wide = TimeRange{range.begin - by, range.end + by}.intersected(limits);
    return wide.empty() ? range : wide;
}

/// Grown to whole bins of the level that a screen of this resolution is read from, by less than a pixel on either
/// side: then the store has no edges to complete from single buffers.
TimeRange aligned(const TimeRange& range, double nsPerPixel)
{
    int shift = 0;
    while (shift < 60 && static_cast<double>(std::int64_t{4} << shift) <= nsPerPixel) shift += 2;
    const std::int64_t width = std::int64_t{1} << shift;
    return {Instant{(range.begin.ns >> shift) * width}, Instant{((range.end.ns + width - 1) >> shift) * width}};
}

/// Whether `have` has the shown range and something to spare wherever the trace goes on.
bool coversWithRoom(const TimeRange& have, const TimeRange& shown, const TimeRange& limits)
{
    const Duration spare{static_cast<std::int64_t>(kMargin / 3 * static_cast<double>(shown.length().ns))};
    return have.begin <= std::max(shown.begin - spare, std::min(limits.begin, shown.begin)) &&
           have.end >= std::min(shown.end + spare, std::max(limits.end, shown.end));
}

/// Whether the plot has more device pixels than an answer of that many columns over `have`, `factor` times as many.
bool isFiner(const MemoryInSight& sight, const TimeRange& have, int pixels, double factor = 1)
{
    const double wanted = static_cast<double>(sight.shown.length().ns) / sight.columns * 1.01;
    return pixels == 0 || static_cast<double>(have.length().ns) / pixels > factor * wanted;
}

} // namespace

MemoryAnswers::MemoryAnswers(View& view) : QObject(&view), m_view(view) {}

template <class R, class Job, class Done>
void MemoryAnswers::ask(const QByteArray& channel, Job job, Done done, Urgency urgency)
{
    m_pending.insert(channel);
    m_view.session()->ask<R>(
        &m_view, channel, [job = std::move(job)](TraceQuery& trace, std::stop_token) { return job(trace); },
        [this, channel, asked = m_view.session(), done = std::move(done)](const Answer<R>& answer) {
            if (m_view.session() != asked) return; // of a trace that was replaced meanwhile
            m_pending.remove(channel);
            if (answer.ok())
                done(answer.value);
            else if (answer.error.code != ErrorCode::Cancelled)
                emit failed(answer.error);
        },
        urgency);
}

void MemoryAnswers::forget()
{
    for (const QByteArray& channel : std::as_const(m_pending)) {
        if (m_view.session()) m_view.session()->cancel(&m_view, channel);
    }
    m_pending.clear();
    m_facts.reset();
    m_buffers.reset();
    m_alive.reset();
    m_askedWindow = m_askedBuffers = {};
    m_askedPixels = 0;
}

void MemoryAnswers::askFacts(RankId rank)
{
    ask<MemoryFacts>(
        "facts", [rank](TraceQuery& trace) { return askMemoryFacts(trace, rank); },
        [this](std::shared_ptr<const MemoryFacts> facts) {
            m_facts = std::move(facts);
            emit factsKnown();
        });
}

bool MemoryAnswers::needWindow(const MemoryInSight& sight)
{
    if (!isFiner(sight, m_askedWindow, m_askedPixels) && coversWithRoom(m_askedWindow, sight.shown, sight.whole))
        return false;
    // A question on its way is not given up while its answer would serve: asking anew with every move would never show
    // anything but what was there before.
    if (m_pending.contains("window") && m_askedWindow.begin <= std::max(sight.shown.begin, sight.whole.begin) &&
        m_askedWindow.end >= std::min(sight.shown.end, sight.whole.end) &&
        !isFiner(sight, m_askedWindow, m_askedPixels, kCoarsest))
        return false;
    const TimeRange range = aligned(widened(sight.shown, kMargin, sight.whole), sight.nsPerPixel);
    const double share = static_cast<double>(range.length().ns) /
                         static_cast<double>(std::max<std::int64_t>(1, sight.shown.length().ns));
    const int pixels = std::max(1, static_cast<int>(sight.columns * share + 1));
    m_askedWindow = range;
    m_askedPixels = pixels;
    ask<MemoryWindowAnswer>(
        "window",
        [facts = m_facts, range, pixels](TraceQuery& trace) { return askMemoryWindow(trace, *facts, range, pixels); },
        [this](const std::shared_ptr<const MemoryWindowAnswer>& answer) { emit windowKnown(*answer); });
    return true;
}

void MemoryAnswers::needBuffers(const MemoryInSight& sight)
{
    const bool all = m_buffers && isComplete(*m_buffers->list);
    const bool coarse = !all && m_askedBuffers.length().ns > 4 * sight.shown.length().ns;
    const bool unplaced = sight.place != BlockQuestion::Place::None && m_buffers && !m_buffers->placed;
    if (coarse || unplaced || !coversWithRoom(m_askedBuffers, sight.shown, sight.whole)) askBuffers(sight);
}

void MemoryAnswers::placeBuffersAnew(const MemoryInSight& sight)
{
    m_buffers.reset();
    if (m_facts) askBuffers(sight);
}

void MemoryAnswers::askBuffers(const MemoryInSight& sight)
{
    const TimeRange range = widened(sight.shown, kMargin / 2, sight.whole);
    m_askedBuffers = range;
    const BlockQuestion question{m_facts->rank.rank, range, sight.place, m_buffers};
    // Placing thousands of blocks takes tens of milliseconds: never in the way of the curve.
    ask<BlockPicture>(
        "buffers", [question](TraceQuery& trace) { return askBlocks(trace, question); },
        [this](std::shared_ptr<const BlockPicture> picture) {
            m_buffers = std::move(picture);
            emit buffersKnown();
        },
        sight.place == BlockQuestion::Place::None ? Urgency::Background : Urgency::Frame);
}

void MemoryAnswers::askAlive(Instant at)
{
    ask<AliveAnswer>(
        "alive", [facts = m_facts, at](TraceQuery& trace) { return fourwalls::askAlive(trace, *facts, at); },
        [this](std::shared_ptr<const AliveAnswer> answer) {
            m_alive = std::move(answer);
            emit aliveKnown();
        });
}

void MemoryAnswers::selectSliceAt(Instant at)
{
    ask<std::optional<SelectedSlice>>(
        "slice", [rank = m_facts->rank.rank, at](TraceQuery& trace) { return askSliceAt(trace, rank, at); },
        [this](const std::shared_ptr<const std::optional<SelectedSlice>>& slice) {
            if (*slice) m_view.selection()->setSlice(**slice);
        });
}

} // namespace fourwalls::views
