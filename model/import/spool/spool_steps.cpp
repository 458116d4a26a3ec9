// SPDX-License-Identifier: Apache-2.0
// Marks on the host, moved to the device by what was launched within them.
#include "model/import/spool/spool_steps.h"

#include "model/base/median.h"
#include "model/import/common/import_steps.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/step_periodicity.h"
#include "model/trace/operator_phase.h"
#include "profiler/collect/step_mark.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostSteps = 10'000'000;

/// N of "step 12", "iteration_3", "ProfilerStep#7"; -1 for a text of that kind without a number, -2 for others.
int stepOfText(std::string_view text)
{
    const auto step = collect::stepOfName(text);
    if (!step) return -2;
    const bool fits = step->number && *step->number >= 0 && *step->number < 1'000'000'000;
    return fits ? static_cast<int>(*step->number) : -1;
}

MarkedStep hostMark(int number, std::int64_t begin, std::int64_t end)
{
    MarkedStep mark;
    mark.number = number;
    mark.begin = begin;
    mark.end = end;
    return mark;
}

/// Kernels by the time at which they were launched.
class Launched {
public:
    explicit Launched(const SpoolTables& tables)
    {
        m_work.reserve(tables.kernels.size());
        for (const SpoolKernel& kernel : tables.kernels) {
            const std::optional<Launch> launch =
                kernel.correlation != 0 ? tables.links.find(kernel.correlation) : std::nullopt;
            if (launch) m_work.push_back({launch->at, kernel.start, kernel.end});
        }
        std::sort(m_work.begin(), m_work.end(), [](const Work& a, const Work& b) { return a.at < b.at; });
    }

    /// The mark as it appears on the device; as it is if nothing was launched within it. kernels: how many were.
    MarkedStep onDevice(const MarkedStep& mark, std::size_t& kernels) const
    {
        const auto before = [](const Work& work, std::int64_t at) { return work.at < at; };
        const auto from = std::lower_bound(m_work.begin(), m_work.end(), mark.begin, before);
        const auto to = std::lower_bound(from, m_work.end(), mark.end, before);
        kernels = static_cast<std::size_t>(to - from);
        if (from == to) return mark;
        MarkedStep moved = mark;
        moved.begin = from->start;
        moved.end = from->end;
        moved.projected = true;
        for (auto work = from; work != to; ++work) {
            moved.begin = std::min(moved.begin, work->start);
            moved.end = std::max(moved.end, work->end);
            moved.substance += static_cast<double>(work->end - work->start);
        }
        return moved;
    }

private:
    struct Work {
        std::int64_t at, start, end;
    };
    std::vector<Work> m_work;
};

std::vector<MarkedStep> marksOfJob(const SpoolTables& tables)
{
    std::vector<collect::StepMark> sorted = tables.stepMarks;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    std::vector<MarkedStep> marks;
    bool open = false;
    for (const collect::StepMark& each : sorted) {
        const auto at = spoolTime(each.time);
        if (!at || each.step < 0 || each.step > 1'000'000'000) continue;
        if (open) marks.back().end = std::max(marks.back().begin, *at);
        open = each.ends == 0 && tables.recordedAt(each.time); // the job marks its steps outside windows, too
        if (open) marks.push_back(hostMark(static_cast<int>(each.step), *at, tables.lastNs));
        if (marks.size() > kMostSteps) break;
    }
    return marks;
}

std::vector<MarkedStep> marksOfRanges(const SpoolTables& tables, bool& numbered)
{
    std::unordered_map<std::uint32_t, int> known;
    std::vector<MarkedStep> withNumber, without;
    for (const SpoolRange& range : tables.ranges) {
        auto found = known.find(range.name);
        if (found == known.end()) found = known.emplace(range.name, stepOfText(tables.string(range.name))).first;
        if (found->second == -2) continue;
        (found->second >= 0 ? withNumber : without).push_back(hostMark(found->second, range.begin, range.end));
    }
    numbered = !withNumber.empty();
    if (numbered) return withNumber;
    std::sort(without.begin(), without.end(), [](const MarkedStep& a, const MarkedStep& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<MarkedStep> outermost;
    for (const MarkedStep& mark : without)
        if (outermost.empty() || mark.begin >= outermost.back().end) outermost.push_back(mark);
    for (std::size_t i = 0; i < outermost.size(); ++i) outermost[i].number = static_cast<int>(i);
    return outermost;
}

/// Steps end with their optimizer. Where a step has several, the one that comes last counts.
std::vector<MarkedStep> marksOfOptimizer(const SpoolTables& tables)
{
    const SpoolRange* last = nullptr;
    std::vector<const SpoolRange*> ranges;
    for (const SpoolRange& range : tables.ranges) {
        if (phaseOfOperator(tables.string(range.name)) != Phase::Optimizer) continue;
        ranges.push_back(&range);
        if (!last || range.end > last->end) last = &range;
    }
    std::erase_if(ranges, [last](const SpoolRange* range) { return range->name != last->name; });
    std::sort(ranges.begin(), ranges.end(),
              [](const SpoolRange* a, const SpoolRange* b) { return a->begin < b->begin; });
    std::vector<MarkedStep> marks;
    std::int64_t from = tables.firstNs;
    for (const SpoolRange* range : ranges) {
        if (range->end <= from) continue;
        // What lies before a pause of the recording belongs to a step that is not recorded.
        for (const collect::Window& window : tables.windows)
            if (const auto at = spoolTime(window.time); at && window.on != 0 && *at <= range->begin)
                from = std::max(from, *at);
        marks.push_back(hostMark(static_cast<int>(marks.size()), from, range->end));
        from = range->end;
    }
    return marks;
}

/// Whether recording was switched between two times by something else than the marks of steps themselves.
bool cutBetween(const SpoolTables& tables, std::uint64_t from, std::uint64_t to)
{
    return std::any_of(tables.windows.begin(), tables.windows.end(), [&](const collect::Window& window) {
        const auto reason = static_cast<collect::WindowReason>(window.reason);
        return window.time >= from && window.time <= to && reason != collect::WindowReason::Steps &&
               reason != collect::WindowReason::Every;
    });
}

/// Steps between the ends of their optimizers, as the recorder has counted them. firstIsGuessed: the first one has no end
/// of an optimizer before it, so that it begins with the recording.
std::vector<MarkedStep> marksBetweenOptimizers(const SpoolTables& tables, bool& firstIsGuessed)
{
    std::vector<collect::StepMark> ends = tables.optimizerEnds;
    std::stable_sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    std::erase_if(ends, [](const collect::StepMark& end) {
        return !spoolTime(end.time) || end.step < 1 || end.step > 1'000'000'000;
    });
    std::vector<MarkedStep> marks;
    firstIsGuessed = !ends.empty() && ends.front().step == 1 && (tables.windows.empty() || tables.windows[0].on != 0);
    if (firstIsGuessed) marks.push_back(hostMark(0, tables.firstNs, *spoolTime(ends.front().time)));
    for (std::size_t i = 0; i + 1 < ends.size() && marks.size() < kMostSteps; ++i) {
        if (!tables.recordedAt(ends[i].time) || cutBetween(tables, ends[i].time, ends[i + 1].time)) continue;
        marks.push_back(
            hostMark(static_cast<int>(ends[i].step), *spoolTime(ends[i].time), *spoolTime(ends[i + 1].time)));
    }
    return marks;
}

/// What came before the first optimizer is a step only if it looks like one.
void dropUnlikelyFirst(std::vector<MarkedStep>& marks, const Launched& launched)
{
    if (marks.size() < 2) return;
    std::vector<std::size_t> kernels(marks.size(), 0);
    for (std::size_t i = 0; i < marks.size(); ++i) launched.onDevice(marks[i], kernels[i]);
    const std::size_t usual = upperMedian(std::vector<std::size_t>(kernels.begin() + 1, kernels.end()));
    if (kernels.front() * 10 < usual * 9 || kernels.front() * 10 > usual * 11) marks.erase(marks.begin());
}

/// All marks on the device if most of them have work there.
std::vector<MarkedStep> projected(const std::vector<MarkedStep>& marks, const Launched& launched,
                                  std::vector<std::size_t>& kernels)
{
    std::vector<MarkedStep> moved;
    kernels.assign(marks.size(), 0);
    std::size_t withWork = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        moved.push_back(launched.onDevice(marks[i], kernels[i]));
        withWork += moved.back().projected ? 1 : 0;
    }
    if (withWork * 2 <= marks.size()) return marks;
    return moved;
}

/// Whether recording was off between two times.
bool pausedBetween(const SpoolTables& tables, std::int64_t from, std::int64_t to)
{
    return std::any_of(tables.windows.begin(), tables.windows.end(), [&](const collect::Window& window) {
        const auto at = spoolTime(window.time);
        return window.on == 0 && at && *at >= from && *at <= to;
    });
}

/// Steps with a pause of the recording behind them end with their own work: the next recorded one is no neighbour.
void endAtPauses(std::vector<StepRecord>& steps, const SpoolTables& tables, const std::vector<MarkedStep>& host,
                 const std::vector<MarkedStep>& device)
{
    for (std::size_t i = 0; i < host.size(); ++i) {
        std::int64_t next = INT64_MAX; // begin of the mark behind it
        for (std::size_t j = i + 1; j < host.size() && next == INT64_MAX; ++j)
            if (host[j].begin > host[i].begin) next = host[j].begin;
        if (!pausedBetween(tables, host[i].begin, next)) continue;
        const auto step = std::find_if(steps.begin(), steps.end(),
                                       [&](const StepRecord& each) { return each.range.begin.ns == device[i].begin; });
        if (step != steps.end())
            step->range.end.ns =
                std::clamp(step->range.end.ns, step->range.begin.ns, std::max(step->range.begin.ns, device[i].end));
    }
}

SpoolSteps fromMarks(const SpoolTables& tables, std::vector<MarkedStep> marks, const Launched& launched,
                     const char* source, bool numbered)
{
    std::sort(marks.begin(), marks.end(), [](const MarkedStep& a, const MarkedStep& b) { return a.begin < b.begin; });
    std::vector<std::size_t> kernels;
    SpoolSteps result;
    const std::vector<MarkedStep> moved = projected(marks, launched, kernels);
    result.steps = recogniseSteps(moved);
    if (!tables.windows.empty()) endAtPauses(result.steps, tables, marks, moved);
    result.source = source;
    result.numbered = numbered;
    const bool onDevice = std::any_of(kernels.begin(), kernels.end(), [](std::size_t count) { return count > 0; });
    result.detail = std::to_string(result.steps.size()) + " steps from " + source +
                    (onDevice ? ", as they appear on the device" : ", as timed on the host");
    return result;
}

SpoolSteps fromKernels(const SpoolTables& tables)
{
    // The stream that computes most.
    std::unordered_map<std::uint32_t, int> names; // string: dense id; -1: communication
    std::vector<bool> isOptimizer;
    std::map<std::int32_t, double> work;
    for (const SpoolKernel& kernel : tables.kernels) {
        auto found = names.find(kernel.name);
        if (found == names.end()) {
            const std::string_view text = tables.string(kernel.name);
            const bool communicates = isCommunicationKernel(text);
            if (!communicates) isOptimizer.push_back(optimizerKernel(text));
            found = names.emplace(kernel.name, communicates ? -1 : static_cast<int>(isOptimizer.size()) - 1).first;
        }
        if (found->second >= 0) work[kernel.lane] += static_cast<double>(kernel.end - kernel.start) + 1;
    }
    const auto most =
        std::max_element(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    SpoolSteps result;
    if (most == work.end()) return result;
    std::vector<StreamKernel> stream;
    for (const SpoolKernel& kernel : tables.kernels)
        if (kernel.lane == most->first && names[kernel.name] >= 0)
            stream.push_back({kernel.start, kernel.end, names[kernel.name]});
    std::stable_sort(stream.begin(), stream.end(),
                     [](const StreamKernel& a, const StreamKernel& b) { return a.start < b.start; });
    const auto period = findPeriod(stream, isOptimizer);
    if (!period) return result;
    std::vector<MarkedStep> marks;
    for (std::size_t i = 0; i + 1 < period->boundaries.size(); ++i) {
        const std::size_t from = period->boundaries[i], to = period->boundaries[i + 1];
        MarkedStep mark =
            hostMark(static_cast<int>(i), stream[from].start, std::max(stream[from].start, stream[to - 1].end));
        mark.projected = true;
        marks.push_back(mark);
    }
    result.steps = recogniseSteps(std::move(marks));
    result.source = "repeating kernels";
    result.detail = std::to_string(period->kernels) + " kernels repeat, alike to " +
                    std::to_string(static_cast<int>(period->likeness * 100 + 0.5)) + " %; a step begins " +
                    (period->byOptimizer ? "behind the optimizer's kernels" : "behind the longest gap");
    return result;
}

} // namespace

SpoolSteps stepsOfSpool(const SpoolTables& tables)
{
    const Launched launched(tables);
    if (const auto marks = marksOfJob(tables); !marks.empty())
        return fromMarks(tables, marks, launched, "step marks", true);
    bool numbered = false;
    if (const auto marks = marksOfRanges(tables, numbered); marks.size() >= (numbered ? 1u : 2u))
        return fromMarks(tables, marks, launched, "NVTX ranges", numbered);
    bool firstIsGuessed = false;
    if (auto marks = marksBetweenOptimizers(tables, firstIsGuessed); !marks.empty()) {
        if (firstIsGuessed) dropUnlikelyFirst(marks, launched);
        return fromMarks(tables, marks, launched, "optimizer ranges", true);
    }
    if (auto marks = marksOfOptimizer(tables); marks.size() >= 3) {
        dropUnlikelyFirst(marks, launched);
        for (std::size_t i = 0; i < marks.size(); ++i) marks[i].number = static_cast<int>(i);
        return fromMarks(tables, marks, launched, "optimizer ranges", false);
    }
    return fromKernels(tables);
}

} // namespace fourwalls::importers
