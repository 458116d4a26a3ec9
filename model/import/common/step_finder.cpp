// SPDX-License-Identifier: Apache-2.0
// The sources of steps in their order, each with what it must show to be believed.
#include "model/import/common/step_finder.h"

#include "model/base/median.h"
#include "model/import/common/step_periodicity.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kBudgetOfSteps = std::size_t{6} << 20;
constexpr std::size_t kMostPasses = 2'000'000;
constexpr std::size_t kMostKernelNames = 100'000;
constexpr std::size_t kMostPeriodKernels = 2'000'000;
constexpr std::int64_t kNotLaunched = std::numeric_limits<std::int64_t>::min();
constexpr double kCovered = 0.8;      ///< of the work between the first and the last pass lies in passes
constexpr double kSpanned = 0.5;      ///< of all work lies between them
constexpr double kMarkedPart = 0.2;   ///< of the work from a mark on: shorter marks are points
constexpr double kClearPeriod = 0.95; ///< likeness of stretches that nobody marked
constexpr std::size_t kClearSteps = 3;
constexpr std::size_t kClearKernels = 10;
constexpr std::size_t kLongestShown = 60;

std::string shortKernel(std::string name)
{
    if (name.compare(0, 5, "void ") == 0) name.erase(0, 5);
    if (name.size() > kLongestShown) name = name.substr(0, kLongestShown) + "\xe2\x80\xa6";
    return name;
}

/// Whether there is a step that figures may be of: all that a source gives may be cut.
bool hasMeasured(const std::optional<FoundSteps>& found)
{
    return found &&
           std::ranges::any_of(found->steps, [](const StepRecord& step) { return step.state == StepState::Measured; });
}

} // namespace

struct StepFinder::Judged {
    std::string key;
    std::vector<MarkedStep> marks;
    std::optional<std::int64_t> earlierEnd;
    double inside = 0, medianLength = 0;
    bool numbered = false, function = false;
};

StepFinder::StepFinder(StepChoice choice, const std::string& scratch)
    : m_choice(std::move(choice))
    , m_chunks(std::make_unique<ChunkStore>(scratch, kBudgetOfSteps))
    , m_rows(*m_chunks)
    , m_host(*m_chunks)
{}

bool StepFinder::interesting(std::string_view name) const
{
    if (m_choice.kind == StepChoice::Kind::Range &&
        (name == m_choice.name || namePattern(name) == namePattern(m_choice.name)))
        return true;
    const IterationName known = iterationName(name);
    return known.kind != IterationName::Kind::None ||
           (m_choice.kind == StepChoice::Kind::Range && known.key == m_choice.name);
}

void StepFinder::addRange(std::string_view name, int lane, std::int64_t begin, std::int64_t end)
{
    if (end < begin || m_passes >= kMostPasses) return;
    const IterationName known = iterationName(name);
    if (m_choice.kind == StepChoice::Kind::Range) {
        const std::string plain = namePattern(name);
        if (name == m_choice.name || plain == namePattern(m_choice.name) || known.key == m_choice.name) {
            m_loops[m_choice.name].passes.push_back({begin, end, lane, known.number});
            ++m_passes;
        }
        return;
    }
    if (known.kind == IterationName::Kind::None) return;
    Loop& loop = m_loops[known.key];
    loop.kind = known.kind;
    loop.passes.push_back({begin, end, lane, known.number});
    ++m_passes;
}

void StepFinder::addHost(std::int64_t begin, std::int64_t end)
{
    if (!m_hostBegin || begin < *m_hostBegin) m_hostBegin = begin;
    m_hostEnd = std::max(m_hostEnd, end);
    if (m_works == 0)
        m_host.push_back(begin);
    else if (!m_host.empty())
        m_host.clear();
}

void StepFinder::addWork(std::string_view name, int lane, std::int64_t begin, std::int64_t end,
                         std::optional<std::int64_t> launchAt, bool compute)
{
    if (!m_workBegin || begin < *m_workBegin) m_workBegin = begin;
    m_workEnd = m_works == 0 ? end : std::max(m_workEnd, end);
    ++m_works;
    m_workSum += static_cast<double>(end - begin);
    if (launchAt) ++m_launchedWork;
    std::int32_t id = kCopyOrCollective;
    if (compute) {
        const auto*& recent = m_recentNames[recentSlot(name)];
        if (!recent || recent->first != name) {
            auto known = m_nameIds.find(std::string(name));
            if (known == m_nameIds.end() && m_names.size() < kMostKernelNames) {
                known = m_nameIds.emplace(std::string(name), static_cast<std::int32_t>(m_names.size())).first;
                m_names.push_back(&known->first);
            }
            recent = known == m_nameIds.end() ? nullptr : &*known;
        }
        if (recent) id = recent->second;
    }
    add({begin, end, launchAt.value_or(kNotLaunched), lane, id});
}

/// Passes of a loop by time. Those of several threads that overlap are kept if their numbers tell them to be one.
std::vector<MarkedStep> StepFinder::marksOf(std::vector<Pass> passes) const
{
    std::stable_sort(passes.begin(), passes.end(), [](const Pass& a, const Pass& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    const bool numbered = std::all_of(passes.begin(), passes.end(), [](const Pass& pass) { return pass.number >= 0; });
    std::vector<MarkedStep> marks;
    for (const Pass& pass : passes) {
        if (!numbered && !marks.empty() && pass.begin < marks.back().end)
            continue; // within it: a pass of an inner loop
        MarkedStep mark;
        mark.number = numbered ? pass.number : static_cast<int>(marks.size());
        mark.begin = pass.begin;
        mark.end = pass.end;
        marks.push_back(mark);
    }
    return marks;
}

/// What the device (or else the host) did within each mark. Returns when work that was launched before them ended.
std::optional<std::int64_t> StepFinder::fillWork(std::vector<MarkedStep>& marks) const
{
    std::optional<std::int64_t> earlier;
    std::size_t last = 0;
    // Marks may overlap a little; the latest that began counts.
    const auto markAt = [&](std::int64_t at) -> MarkedStep* {
        const auto holds = [&](std::size_t i) {
            return marks[i].begin <= at && (i + 1 == marks.size() || at < marks[i + 1].begin);
        };
        if (!holds(last)) {
            const auto after = std::upper_bound(marks.begin(), marks.end(), at,
                                                [](std::int64_t t, const MarkedStep& mark) { return t < mark.begin; });
            if (after == marks.begin()) return nullptr;
            last = static_cast<std::size_t>(after - marks.begin()) - 1;
        }
        return at < marks[last].end ? &marks[last] : nullptr;
    };
    if (marks.empty()) return earlier;
    const std::int64_t firstBegin = marks.front().begin;
    std::vector<std::int64_t> lastServed(marks.size(), kNotLaunched); ///< launches with work
    const auto index = [&marks](const MarkedStep& mark) { return static_cast<std::size_t>(&mark - marks.data()); };
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const Row row = m_rows[i];
        if (row.name == kLaunch) {
            if (MarkedStep* mark = markAt(row.begin)) ++mark->launches;
            continue;
        }
        if (isLaunched() && row.launchAt == kNotLaunched) {
            if (!earlier || row.end > *earlier) earlier = row.end;
            continue;
        }
        const std::int64_t at = isLaunched() ? row.launchAt : row.begin;
        MarkedStep* mark = markAt(at);
        if (!mark) {
            if (at < firstBegin && (!earlier || row.end > *earlier)) earlier = row.end;
            continue;
        }
        mark->workBegin = std::min(mark->workBegin.value_or(row.begin), row.begin);
        mark->workEnd = std::max(mark->workEnd.value_or(row.end), row.end);
        mark->substance += static_cast<double>(row.end - row.begin);
        ++mark->launched;
        lastServed[index(*mark)] = std::max(lastServed[index(*mark)], at);
    }
    if (isLaunched()) {
        for (std::size_t i = 0; i < m_rows.size(); ++i)
            if (const Row row = m_rows[i]; row.name == kLaunch)
                if (MarkedStep* mark = markAt(row.begin); mark && row.begin > lastServed[index(*mark)])
                    ++mark->unserved;
    } else {
        for (MarkedStep& mark : marks) mark.launches = 0;
    }
    if (m_works == 0)
        for (std::size_t i = 0; i < m_host.size(); ++i)
            if (MarkedStep* mark = markAt(m_host[i])) mark->substance += 1;
    return earlier;
}

std::optional<StepFinder::Judged> StepFinder::judged(const std::string& key, const Loop& loop) const
{
    Judged result;
    result.key = key;
    result.function = loop.kind == IterationName::Kind::Function;
    result.marks = marksOf(loop.passes);
    result.numbered =
        std::all_of(loop.passes.begin(), loop.passes.end(), [](const Pass& pass) { return pass.number >= 0; });
    const std::size_t least = loop.kind == IterationName::Kind::Serving || result.numbered ? 1 : 2;
    if (result.marks.size() < least) return std::nullopt;
    result.earlierEnd = fillWork(result.marks);
    const std::int64_t first = result.marks.front().begin, last = result.marks.back().end;
    double within = 0, between = 0, all = m_workSum;
    std::vector<std::int64_t> lengths;
    for (const MarkedStep& mark : result.marks) {
        within += m_works > 0 ? mark.substance : static_cast<double>(mark.end - mark.begin);
        lengths.push_back(mark.end - mark.begin);
    }
    if (m_works > 0) {
        for (std::size_t i = 0; i < m_rows.size(); ++i) {
            const Row row = m_rows[i];
            if (row.name == kLaunch) continue;
            const std::int64_t at = isLaunched() ? row.launchAt : row.begin;
            if (at >= first && at < last) between += static_cast<double>(row.end - row.begin);
            // Work that nothing launched in the recording may be of passes before it.
            if (isLaunched() && row.launchAt == kNotLaunched) all -= static_cast<double>(row.end - row.begin);
        }
    } else {
        between = static_cast<double>(last - first);
        all = m_hostBegin ? static_cast<double>(m_hostEnd - *m_hostBegin) : between;
    }
    if (within <= 0 || within < kCovered * between || between < kSpanned * all) return std::nullopt;
    result.inside = within;
    result.medianLength = static_cast<double>(upperMedian(std::move(lengths)));
    return result;
}

std::optional<FoundSteps> StepFinder::fromProfiler() const
{
    FoundSteps found{FoundSteps::Source::Marks, {}, m_marksName, true};
    const auto loop = m_loops.find("ProfilerStep");
    std::vector<MarkedStep> marks;
    std::optional<std::int64_t> earlier;
    if (loop != m_loops.end()) {
        marks = marksOf(loop->second.passes);
        earlier = fillWork(marks);
    }
    const bool moved =
        std::any_of(marks.begin(), marks.end(), [](const MarkedStep& mark) { return mark.workEnd.has_value(); });
    if (!m_projected.empty() && !(moved && isLaunched())) {
        marks.clear();
        earlier.reset();
        for (const Projected& each : m_projected) {
            MarkedStep mark;
            mark.number = each.number;
            mark.begin = each.begin;
            mark.end = each.end;
            mark.projected = true;
            marks.push_back(mark);
        }
        // Some profilers mark where a step begins and not how long it lasts: of the last one the end is unknown then.
        MarkedStep& last = *std::max_element(
            marks.begin(), marks.end(), [](const MarkedStep& a, const MarkedStep& b) { return a.begin < b.begin; });
        std::int64_t begin = last.begin, end = last.end; // of all its streams
        for (const MarkedStep& mark : marks)
            if (mark.number == last.number) begin = std::min(begin, mark.begin), end = std::max(end, mark.end);
        if (static_cast<double>(end - begin) < kMarkedPart * static_cast<double>(m_workEnd - begin)) {
            last.end = m_workEnd;
            last.cut = true;
        }
    }
    if (marks.empty()) return std::nullopt;
    found.steps = recogniseSteps(std::move(marks), earlier);
    return found;
}

std::optional<FoundSteps> StepFinder::fromRanges(bool chosen) const
{
    FoundSteps found{FoundSteps::Source::Ranges, {}, {}, false};
    if (chosen) {
        const auto loop = m_loops.find(m_choice.name);
        if (loop == m_loops.end()) return std::nullopt;
        std::vector<MarkedStep> marks = marksOf(loop->second.passes);
        const auto earlier = fillWork(marks);
        found.by = "range " + m_choice.name;
        found.numbered = std::all_of(loop->second.passes.begin(), loop->second.passes.end(),
                                     [](const Pass& pass) { return pass.number >= 0; });
        found.steps = recogniseSteps(std::move(marks), earlier);
        return found;
    }
    std::optional<Judged> best;
    for (const auto& [key, loop] : m_loops) {
        using Kind = IterationName::Kind;
        if (loop.kind != Kind::Iteration && loop.kind != Kind::Serving && loop.kind != Kind::Function) continue;
        std::optional<Judged> each = judged(key, loop);
        if (!each) continue;
        const bool alike = best && each->inside > 0.95 * best->inside && best->inside > 0.95 * each->inside;
        const bool better =
            !best ||
            (alike ? (each->function != best->function ? best->function : each->medianLength > best->medianLength)
                   : each->inside > best->inside);
        if (better) best = std::move(each);
    }
    if (!best) return std::nullopt;
    found.by = "range " + best->key;
    found.numbered = best->numbered;
    found.steps = recogniseSteps(std::move(best->marks), best->earlierEnd);
    return found;
}

/// Steps from one of these instants to the next; what lies before the first and behind the last is cut.
std::vector<MarkedStep> StepFinder::between(std::vector<std::int64_t> ends) const
{
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    const std::int64_t from = std::min(m_hostBegin.value_or(ends.front()), m_workBegin.value_or(ends.front()));
    std::vector<MarkedStep> marks;
    const auto mark = [&marks](std::int64_t begin, std::int64_t end, bool cut) {
        if (end <= begin) return;
        MarkedStep each;
        each.begin = begin;
        each.end = end;
        each.cut = cut;
        marks.push_back(each);
    };
    mark(from, ends.front(), true);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) mark(ends[i], ends[i + 1], false);
    mark(ends.back(), std::max({m_hostEnd, m_works > 0 ? m_workEnd : ends.back(), ends.back()}), true);
    for (std::size_t i = 0; i < marks.size(); ++i) marks[i].number = static_cast<int>(i);
    return marks;
}

std::optional<FoundSteps> StepFinder::fromOptimizer() const
{
    // Where a step has several, the one that comes last ends it.
    const Loop* last = nullptr;
    std::string name;
    std::int64_t lastEnd = 0;
    for (const auto& [key, loop] : m_loops) {
        if (loop.kind != IterationName::Kind::Optimizer || loop.passes.size() < 2) continue;
        std::int64_t end = loop.passes.front().end;
        for (const Pass& pass : loop.passes) end = std::max(end, pass.end);
        if (last && end <= lastEnd) continue;
        last = &loop;
        name = key;
        lastEnd = end;
    }
    if (!last) return std::nullopt;
    std::vector<std::int64_t> ends;
    for (const Pass& pass : last->passes) ends.push_back(pass.end);
    std::vector<MarkedStep> marks = between(std::move(ends));
    const auto earlier = fillWork(marks);
    // A first stretch with as many pieces of work as the second is a whole step. Behind the last there may be hardly any.
    if (marks.size() >= 3 && marks[0].cut && marks[1].launched > 0 &&
        marks[0].launched * 100 >= marks[1].launched * 95 && marks[0].launched * 100 <= marks[1].launched * 105)
        marks.front().cut = false;
    if (marks.size() >= 3 && marks.back().cut && marks.back().substance <= 0.02 * marks[marks.size() - 2].substance)
        marks.pop_back();
    FoundSteps found{FoundSteps::Source::Ranges, {}, "range " + name, false};
    found.steps = recogniseSteps(std::move(marks), earlier);
    return found;
}

std::optional<FoundSteps> StepFinder::fromPeriod() const
{
    std::map<std::int32_t, double> byLane;
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (const Row row = m_rows[i]; row.name >= 0) byLane[row.lane] += static_cast<double>(row.end - row.begin) + 1;
    const auto most = std::max_element(byLane.begin(), byLane.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == byLane.end()) return std::nullopt;
    std::vector<StreamKernel> stream;
    for (std::size_t i = 0; i < m_rows.size() && stream.size() < kMostPeriodKernels; ++i)
        if (const Row row = m_rows[i]; row.name >= 0 && row.lane == most->first)
            stream.push_back({row.begin, row.end, row.name});
    std::stable_sort(stream.begin(), stream.end(),
                     [](const StreamKernel& a, const StreamKernel& b) { return a.start < b.start; });
    std::vector<bool> isOptimizer;
    for (const std::string* name : m_names) isOptimizer.push_back(optimizerKernel(*name));
    const auto period = findPeriod(stream, isOptimizer);
    // Nobody marked these steps: the repetition must be clear, and be nearly all that the device did.
    if (!period || period->likeness < kClearPeriod || period->boundaries.size() < kClearSteps + 1 ||
        period->kernels < kClearKernels)
        return std::nullopt;
    if (!period->byOptimizer && !hasLayers(stream, period->boundaries[1], period->boundaries[2])) return std::nullopt;
    const std::size_t covered = period->boundaries.back() - period->boundaries.front();
    if (static_cast<double>(covered) < kCovered * static_cast<double>(stream.size())) return std::nullopt;
    std::vector<MarkedStep> marks;
    for (std::size_t i = 0; i + 1 < period->boundaries.size(); ++i) {
        const std::size_t from = period->boundaries[i], to = period->boundaries[i + 1];
        MarkedStep mark;
        mark.number = static_cast<int>(i);
        mark.begin = stream[from].start;
        mark.end = std::max(stream[from].start, stream[to - 1].end);
        mark.projected = true;
        for (std::size_t k = from; k < to; ++k) mark.substance += static_cast<double>(stream[k].end - stream[k].start);
        marks.push_back(mark);
    }
    FoundSteps found{FoundSteps::Source::Period, {}, {}, false};
    found.by = "period of " + shortKernel(*m_names[static_cast<std::size_t>(stream[period->boundaries.front()].name)]);
    found.steps = recogniseSteps(std::move(marks));
    return found;
}

std::optional<FoundSteps> StepFinder::fromKernel() const
{
    std::vector<char> wanted;
    const bool exact = m_nameIds.count(m_choice.name) > 0;
    for (const std::string* name : m_names)
        wanted.push_back(exact ? *name == m_choice.name : name->find(m_choice.name) != std::string::npos);
    std::vector<std::int64_t> starts;
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (const Row row = m_rows[i]; row.name >= 0 && wanted[static_cast<std::size_t>(row.name)] != 0)
            starts.push_back(row.begin);
    if (starts.empty()) return std::nullopt;
    std::vector<MarkedStep> marks = between(std::move(starts));
    for (MarkedStep& mark : marks) mark.projected = true;
    FoundSteps found{FoundSteps::Source::Ranges, {}, "kernel " + m_choice.name, false};
    found.steps = recogniseSteps(std::move(marks));
    return found;
}

std::optional<FoundSteps> StepFinder::fromLength() const
{
    const std::optional<FoundSteps> all = whole();
    if (!all) return std::nullopt;
    const TimeRange range = all->steps.front().range;
    if (range.length().ns / m_choice.periodNs > 1'000'000) return std::nullopt;
    std::vector<MarkedStep> marks;
    for (std::int64_t at = range.begin.ns; at < range.end.ns; at += m_choice.periodNs) {
        MarkedStep mark;
        mark.number = static_cast<int>(marks.size());
        mark.begin = at;
        mark.end = std::min(range.end.ns, at + m_choice.periodNs);
        mark.cut = mark.end - at < m_choice.periodNs;
        mark.projected = true;
        marks.push_back(mark);
    }
    FoundSteps found{FoundSteps::Source::Ranges, {}, stepsByText(m_choice), false};
    found.steps = recogniseSteps(std::move(marks));
    return found;
}

std::optional<FoundSteps> StepFinder::whole() const
{
    if (m_works == 0 && !m_hostBegin) return std::nullopt;
    StepRecord step;
    step.range = m_works > 0 ? TimeRange{Instant{*m_workBegin}, Instant{m_workEnd}}
                             : TimeRange{Instant{*m_hostBegin}, Instant{m_hostEnd}};
    if (step.range.empty()) return std::nullopt;
    return FoundSteps{FoundSteps::Source::Whole, {step}, std::string(kWholeTrace), false};
}

Result<FoundSteps> StepFinder::find()
{
    using Kind = StepChoice::Kind;
    std::optional<FoundSteps> found;
    switch (m_choice.kind) {
    case Kind::Auto:
        found = fromProfiler();
        if (!hasMeasured(found)) found = fromRanges(false);
        if (!hasMeasured(found)) found = fromOptimizer();
        if (!hasMeasured(found)) found = fromPeriod();
        if (!hasMeasured(found)) found = whole();
        break;
    case Kind::Marks: found = fromProfiler(); break;
    case Kind::Range: found = fromRanges(true); break;
    case Kind::Kernel: found = fromKernel(); break;
    case Kind::Period: found = fromLength(); break;
    case Kind::Whole: found = whole(); break;
    }
    FOURWALLS_TRY(m_chunks->status());
    if (!found && !m_choice.automatic())
        return Error{ErrorCode::InvalidArgument, "nothing in this trace gives steps by " + stepsByText(m_choice),
                     "--steps-by", "`fourwalls-cli steps FILE` lists what it has"};
    return found.value_or(FoundSteps{});
}

} // namespace fourwalls::importers
