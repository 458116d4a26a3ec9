// SPDX-License-Identifier: Apache-2.0
// See allocator_text.h. The text may come from a stranger's file.
#include "model/trace/allocator_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tuple>

namespace fourwalls {

namespace {

constexpr std::int64_t kSmall = 1, kPrivate = 2, kExpandable = 4;
constexpr std::int64_t kMostRank = std::numeric_limits<std::int32_t>::max();

/// One array of a fixed number of integers or nulls.
template <std::size_t N>
using NumberRow = std::array<std::optional<std::int64_t>, N>;

template <std::size_t N>
void appendRow(std::string& text, const NumberRow<N>& row)
{
    if (text.size() > 1) text += ',';
    for (std::size_t i = 0; i < N; ++i) {
        text += i == 0 ? '[' : ',';
        text += row[i] ? std::to_string(*row[i]) : std::string("null");
    }
    text += ']';
}

class RowScanner {
public:
    explicit RowScanner(std::string_view text) : m_text(text) {}

    bool take(std::string_view word)
    {
        if (m_text.substr(0, word.size()) != word) return false;
        m_text.remove_prefix(word.size());
        return true;
    }
    bool atEnd() const { return m_text.empty(); }

    template <std::size_t N>
    bool takeRow(NumberRow<N>& row)
    {
        for (std::size_t i = 0; i < N; ++i) {
            if (!take(i == 0 ? "[" : ",")) return false;
            row[i].reset();
            if (take("null")) continue;
            std::int64_t number = 0;
            const auto [end, failure] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), number);
            if (failure != std::errc{}) return false;
            m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
            row[i] = number;
        }
        return take("]");
    }

private:
    std::string_view m_text;
};

/// visit(row) returns whether the row is sound.
template <std::size_t N, class Visit>
bool readRows(std::string_view text, std::size_t most, const Visit& visit)
{
    RowScanner in(text);
    if (!in.take("[")) return false;
    if (in.take("]")) return in.atEnd();
    std::size_t count = 0;
    do {
        NumberRow<N> row;
        if (++count > most || !in.takeRow(row) || !visit(row)) return false;
    } while (in.take(","));
    return in.take("]") && in.atEnd();
}

bool isWithin(const std::optional<std::int64_t>& number, std::int64_t least, std::int64_t most)
{
    return number && *number >= least && *number <= most;
}
bool isTime(const std::optional<std::int64_t>& number)
{
    return isWithin(number, -kLargestTimeNs, kLargestTimeNs);
}
/// Leaves the first `most` in the order; the number of the others.
template <class Row, class Before>
std::int64_t leaveFirst(std::vector<Row>& rows, std::size_t most, const Before& before)
{
    if (rows.size() <= most) return 0;
    const auto limit = rows.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(rows.begin(), limit, rows.end(), before);
    const auto left = static_cast<std::int64_t>(rows.end() - limit);
    rows.erase(limit, rows.end());
    return left;
}
std::int64_t lifeOf(const AllocatorSegment& segment)
{
    return segment.end ? (*segment.end - segment.start).ns : std::numeric_limits<std::int64_t>::max();
}

std::optional<std::int64_t> numberOf(const std::optional<Instant>& at)
{
    return at ? std::optional(at->ns) : std::nullopt;
}

} // namespace

std::string segmentsText(const std::vector<AllocatorSegment>& segments)
{
    std::string text = "[";
    for (const AllocatorSegment& each : segments) {
        const std::int64_t flags =
            (each.small ? kSmall : 0) | (each.privatePool ? kPrivate : 0) | (each.expandable ? kExpandable : 0);
        appendRow<7>(
            text, {each.rank.value, each.address, each.bytes, each.start.ns, numberOf(each.end), each.stream, flags});
    }
    return text + ']';
}

std::string blocksText(const std::vector<AllocatorBlock>& blocks)
{
    std::string text = "[";
    for (const AllocatorBlock& each : blocks)
        appendRow<4>(text, {each.rank.value, each.buffer.value, each.bytes, numberOf(each.letGo)});
    return text + ']';
}

std::optional<std::vector<AllocatorSegment>> segmentsOf(std::string_view text)
{
    std::vector<AllocatorSegment> segments;
    const bool sound = readRows<7>(text, kMostSegments, [&](const NumberRow<7>& row) {
        const bool inLimits = isWithin(row[0], 0, kMostRank) && isWithin(row[1], 0, kMostAddress) &&
                              isWithin(row[2], 1, kMostSegmentBytes) && isTime(row[3]) && (!row[4] || isTime(row[4])) &&
                              row[5] && isWithin(row[6], 0, kSmall | kPrivate | kExpandable);
        if (!inLimits) return false;
        AllocatorSegment made;
        made.rank = RankId(static_cast<std::int32_t>(*row[0]));
        made.address = *row[1];
        made.bytes = *row[2];
        made.start = Instant{*row[3]};
        if (row[4]) made.end = Instant{*row[4]};
        made.stream = *row[5];
        made.small = (*row[6] & kSmall) != 0;
        made.privatePool = (*row[6] & kPrivate) != 0;
        made.expandable = (*row[6] & kExpandable) != 0;
        segments.push_back(made);
        return true;
    });
    return sound ? std::optional(std::move(segments)) : std::nullopt;
}

std::optional<std::vector<AllocatorBlock>> blocksOf(std::string_view text)
{
    std::vector<AllocatorBlock> blocks;
    const bool sound = readRows<4>(text, kMostBlocks, [&](const NumberRow<4>& row) {
        if (!isWithin(row[0], 0, kMostRank) || !row[1] || !isWithin(row[2], 0, kMostSegmentBytes) ||
            (row[3] && !isTime(row[3])))
            return false;
        AllocatorBlock made;
        made.rank = RankId(static_cast<std::int32_t>(*row[0]));
        made.buffer = AllocationId{*row[1]};
        made.bytes = *row[2];
        if (row[3]) made.letGo = Instant{*row[3]};
        blocks.push_back(made);
        return true;
    });
    return sound ? std::optional(std::move(blocks)) : std::nullopt;
}

void sortAllocatorState(TraceClosing& closing)
{
    std::sort(closing.segments.begin(), closing.segments.end(),
              [](const AllocatorSegment& left, const AllocatorSegment& right) {
                  return std::tuple(left.rank, left.address, left.start) <
                         std::tuple(right.rank, right.address, right.start);
              });
    std::sort(closing.blocks.begin(), closing.blocks.end(),
              [](const AllocatorBlock& left, const AllocatorBlock& right) {
                  return std::tuple(left.rank, left.buffer) < std::tuple(right.rank, right.buffer);
              });
}

AllocatorLeftOut limitAllocatorState(TraceClosing& closing)
{
    AllocatorLeftOut left;
    left.segments =
        leaveFirst(closing.segments, kMostSegments, [](const AllocatorSegment& one, const AllocatorSegment& other) {
            return std::tuple(-lifeOf(one), one.rank, one.address, one.start) <
                   std::tuple(-lifeOf(other), other.rank, other.address, other.start);
        });
    left.blocks = leaveFirst(closing.blocks, kMostBlocks, [](const AllocatorBlock& one, const AllocatorBlock& other) {
        return std::tuple(-one.bytes, one.rank, one.buffer) < std::tuple(-other.bytes, other.rank, other.buffer);
    });
    sortAllocatorState(closing);
    return left;
}

} // namespace fourwalls
