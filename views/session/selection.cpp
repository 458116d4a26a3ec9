// SPDX-License-Identifier: GPL-3.0-or-later
// The shared selection: setters that keep ranges sensible and emit once per change.
#include "views/session/selection.h"

namespace fourwalls::views {

namespace {
constexpr std::int64_t kShortestRangeNs = 100;
}

Selection::Selection(QObject* parent) : QObject(parent) {}

void Selection::reset(TimeRange whole)
{
    if (whole.empty()) whole.end = whole.begin + Duration{kShortestRangeNs};
    m_whole = whole;
    m_range = whole;
    m_slice.reset();
    m_step.reset();
    m_measured.reset();
    m_cursor.reset();
    m_rank = RankId{};
    emit rangeChanged(m_range);
    emit sliceChanged();
    emit stepChanged();
    emit rankChanged(m_rank);
    emit measuredChanged();
    emit cursorChanged();
}

void Selection::setRange(TimeRange range)
{
    // A tenth of the whole may show on either side; a longer or farther range is moved back.
    const Duration margin{m_whole.length().ns / 10};
    const Instant first = m_whole.begin - margin;
    const Instant last = m_whole.end + margin;
    const Duration longest = last - first;
    Duration length = std::clamp(range.length(), Duration{std::min(kShortestRangeNs, longest.ns)}, longest);
    if (range.length() != length) { // keep the middle
        range.begin = range.begin + Duration{(range.length().ns - length.ns) / 2};
    }
    range.begin = std::clamp(range.begin, first, last - length);
    range.end = range.begin + length;
    if (range == m_range) return;
    m_range = range;
    emit rangeChanged(m_range);
}

void Selection::setSlice(std::optional<SelectedSlice> slice)
{
    const bool same = slice.has_value() == m_slice.has_value() &&
                      (!slice || (slice->slice.id == m_slice->slice.id && slice->op == m_slice->op));
    if (same) return;
    m_slice = std::move(slice);
    emit sliceChanged();
}

void Selection::setStep(std::optional<StepIndex> step)
{
    if (step == m_step) return;
    m_step = step;
    emit stepChanged();
}

void Selection::setRank(RankId rank)
{
    if (rank == m_rank) return;
    m_rank = rank;
    emit rankChanged(m_rank);
}

void Selection::setMeasured(std::optional<TimeRange> range)
{
    if (range == m_measured) return;
    m_measured = range;
    emit measuredChanged();
}

void Selection::setCursor(std::optional<Instant> instant)
{
    if (instant == m_cursor) return;
    m_cursor = instant;
    emit cursorChanged();
}

void Selection::setByteUnit(ByteUnit unit)
{
    if (unit == m_byteUnit) return;
    m_byteUnit = unit;
    emit byteUnitChanged();
}

} // namespace fourwalls::views
