// SPDX-License-Identifier: Apache-2.0
// Hulls, ranges, then states.
#include "model/import/common/import_steps.h"

#include "model/base/median.h"

#include <algorithm>
#include <set>

namespace fourwalls::importers {

namespace {

constexpr double kFifth = 0.2;
constexpr double kTwentieth = 0.05;
constexpr std::int64_t kTellingLaunches = 8; ///< fewer tell nothing of how many have work

/// Marks by time; those of one number that overlap are joined.
std::vector<MarkedStep> hullsOf(std::vector<MarkedStep> marks)
{
    std::stable_sort(marks.begin(), marks.end(), [](const MarkedStep& a, const MarkedStep& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<MarkedStep> hulls;
    for (MarkedStep& mark : marks) {
        mark.end = std::max(mark.end, mark.begin);
        MarkedStep* same = nullptr;
        for (std::size_t back = 0; back < 8 && back < hulls.size() && !same; ++back) {
            MarkedStep& earlier = hulls[hulls.size() - 1 - back];
            if (earlier.number == mark.number && mark.begin < earlier.end) same = &earlier;
        }
        if (!same) {
            hulls.push_back(mark);
            continue;
        }
        same->end = std::max(same->end, mark.end);
        if (mark.workBegin && (!same->workBegin || *mark.workBegin < *same->workBegin))
            same->workBegin = mark.workBegin;
        if (mark.workEnd && (!same->workEnd || *mark.workEnd > *same->workEnd)) same->workEnd = mark.workEnd;
        same->substance = std::max(same->substance, mark.substance);
        same->launches = std::max(same->launches, mark.launches);
        same->launched = std::max(same->launched, mark.launched);
        same->unserved = std::max(same->unserved, mark.unserved);
        same->cut = same->cut || mark.cut;
    }
    std::set<int> numbers;
    for (const MarkedStep& mark : hulls) numbers.insert(mark.number);
    if (numbers.size() < hulls.size())
        for (std::size_t i = 0; i < hulls.size(); ++i) hulls[i].number = static_cast<int>(i);
    for (std::size_t i = 0; i + 1 < hulls.size(); ++i) hulls[i].end = std::min(hulls[i].end, hulls[i + 1].begin);
    return hulls;
}

/// Where each step ends: its mark, or its device's work. Work that outlives the next step's is none of a loop's (a
/// thread that copies in the background) and does not count.
std::vector<std::int64_t> endsOf(const std::vector<MarkedStep>& marks)
{
    std::vector<std::int64_t> ends(marks.size());
    std::optional<std::int64_t> nextEnd;
    for (std::size_t i = marks.size(); i-- > 0;) {
        const MarkedStep& mark = marks[i];
        ends[i] = std::max(mark.end, mark.workEnd.value_or(mark.end));
        if (!mark.workEnd) continue;
        if (nextEnd && ends[i] >= *nextEnd) ends[i] = mark.end;
        nextEnd = ends[i];
    }
    return ends;
}

void setRanges(const std::vector<MarkedStep>& marks, std::optional<std::int64_t> earlierWorkEnd,
               std::vector<StepRecord>& steps)
{
    const bool projected =
        std::any_of(marks.begin(), marks.end(), [](const MarkedStep& mark) { return mark.projected; });
    const std::vector<std::int64_t> ends = endsOf(marks);
    std::int64_t before = marks.front().begin;
    if (const MarkedStep& first = marks.front(); !projected && earlierWorkEnd && first.workBegin &&
                                                 *earlierWorkEnd <= *first.workBegin &&
                                                 *earlierWorkEnd - first.begin >= (first.end - first.begin) / 2)
        before = std::max(before, *earlierWorkEnd);
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const bool last = i + 1 == marks.size();
        const std::int64_t begin = std::max(marks[i].begin, before);
        std::int64_t end = projected ? (last ? marks[i].end : marks[i + 1].begin) : std::max(begin, ends[i]);
        if (last) end = std::max(end, begin + 1);
        StepRecord step;
        step.step = StepIndex{marks[i].number};
        step.range = {Instant{begin}, Instant{end}};
        steps.push_back(step);
        before = end;
    }
}

/// The upper median of a figure over all steps but one that are not cut; absent without others.
template <typename Figure>
std::optional<double> amongOthers(const std::vector<StepRecord>& steps, std::size_t except, Figure figure)
{
    std::vector<double> values;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (i != except && steps[i].state != StepState::Cut) values.push_back(figure(i));
    if (values.empty()) return std::nullopt;
    return upperMedian(values);
}

void markCut(const std::vector<MarkedStep>& marks, std::vector<StepRecord>& steps)
{
    const auto work = [&](std::size_t i) { return marks[i].substance; };
    const auto length = [&](std::size_t i) { return static_cast<double>(steps[i].range.length().ns); };
    const auto present = [&](std::size_t i) {
        return marks[i].launches == 0 ? 1.0
                                      : static_cast<double>(marks[i].launched) / static_cast<double>(marks[i].launches);
    };
    const auto unserved = [&](std::size_t i) { return static_cast<double>(marks[i].unserved); };
    const bool workKnown =
        std::any_of(marks.begin(), marks.end(), [](const MarkedStep& mark) { return mark.substance > 0; });
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (marks[i].cut) steps[i].state = StepState::Cut;
    // The ends first: what is there cut shall not be what the others are held against.
    std::vector<std::size_t> order{steps.size() - 1, 0};
    for (std::size_t i = 1; i + 1 < steps.size(); ++i) order.push_back(i);
    for (const std::size_t i : order) {
        if (steps[i].state == StepState::Cut) continue;
        if (workKnown) {
            const auto usual = amongOthers(steps, i, work);
            if (usual && work(i) < kFifth * *usual) steps[i].state = StepState::Cut;
            const auto usualPresent = amongOthers(steps, i, present);
            if (usualPresent && marks[i].launches >= kTellingLaunches && present(i) < (1 - kFifth) * *usualPresent)
                steps[i].state = StepState::Cut;
            // The device's record ends within it. Some calls never have work, in no step.
            const double usualUnserved = amongOthers(steps, i, unserved).value_or(0);
            if (marks[i].unserved >= kTellingLaunches && unserved(i) > 2 * usualUnserved &&
                unserved(i) >= kTwentieth * static_cast<double>(marks[i].launches))
                steps[i].state = StepState::Cut;
        } else if (i == 0 || i + 1 == steps.size()) {
            const auto usual = amongOthers(steps, i, length);
            if (usual && length(i) < kFifth * *usual) steps[i].state = StepState::Cut;
        }
    }
}

void markWarmupAndOdd(std::vector<StepRecord>& steps)
{
    std::vector<StepRecord*> whole;
    for (StepRecord& step : steps)
        if (step.state == StepState::Measured) whole.push_back(&step);
    if (whole.size() < 2) return;
    const auto length = [](const StepRecord* step) { return static_cast<double>(step->range.length().ns); };
    const bool slowStart = whole.size() == 2 && length(whole[0]) > length(whole[1]) / kFifth;
    if ((steps.size() >= 3 && whole.front() == &steps.front()) || slowStart) {
        whole.front()->state = StepState::Warmup;
        whole.erase(whole.begin());
    }
    std::vector<double> lengths;
    for (const StepRecord* step : whole) lengths.push_back(length(step));
    const double usual = lowerMedian(std::move(lengths));
    for (StepRecord* step : whole)
        if (length(step) < kFifth * usual || length(step) > usual / kFifth) step->state = StepState::Odd;
}

} // namespace

std::vector<StepRecord> recogniseSteps(std::vector<MarkedStep> marks, std::optional<std::int64_t> earlierWorkEnd)
{
    std::vector<StepRecord> steps;
    if (marks.empty()) return steps;
    marks = hullsOf(std::move(marks));
    setRanges(marks, earlierWorkEnd, steps);
    markCut(marks, steps);
    markWarmupAndOdd(steps);
    return steps;
}

} // namespace fourwalls::importers
