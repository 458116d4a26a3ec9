// SPDX-License-Identifier: Apache-2.0
// Candidates from recurring windows, judged by names per stretch; then the place in the period where a step begins.
#include "model/import/common/step_periodicity.h"

#include "model/base/ascii.h"
#include "model/base/median.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostSearched = 500'000; ///< kernels that candidates are taken from
constexpr std::size_t kShortest = 4;           ///< kernels of a step
constexpr std::size_t kMostCandidates = 32;    ///< periods that are judged
constexpr std::array<std::size_t, 6> kWindows{1, 2, 4, 8, 16, 32};
constexpr double kRegular = 0.8; ///< share of distances that must be alike
constexpr double kAlike = 0.9;   ///< likeness times share of the stream that is covered
constexpr double kAsGood = 0.04; ///< a shorter period may be that much worse than the best

/// Kernels from `first` on that begin alike: the occurrences of one window.
struct Occurrences {
    std::size_t window = 0;
    std::vector<std::size_t> at;
    std::size_t period = 0; ///< median distance
};

/// Names hashed over a window that slides: the polynomial of the last `window` names.
std::vector<std::uint64_t> hashes(const std::vector<StreamKernel>& kernels, std::size_t count, std::size_t window)
{
    constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15ULL;
    std::uint64_t power = 1, hash = 0;
    for (std::size_t i = 0; i < window; ++i) power *= kBase;
    std::vector<std::uint64_t> result;
    if (count < window) return result;
    result.reserve(count - window + 1);
    const auto mixed = [&](std::size_t i) {
        std::uint64_t x = static_cast<std::uint64_t>(kernels[i].name) + 0x5851F42D4C957F2DULL;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
        return x ^ (x >> 27);
    };
    for (std::size_t i = 0; i < count; ++i) {
        hash = hash * kBase + mixed(i);
        if (i >= window) hash -= power * mixed(i - window);
        if (i + 1 >= window) result.push_back(hash);
    }
    return result;
}

bool alikeDistance(std::size_t distance, std::size_t period)
{
    const std::size_t apart = distance > period ? distance - period : period - distance;
    return apart <= std::max<std::size_t>(2, period / 10);
}

/// Windows that come back at least twice, at regular distances.
std::vector<Occurrences> candidates(const std::vector<StreamKernel>& kernels, std::size_t count)
{
    std::vector<Occurrences> found;
    for (const std::size_t window : kWindows) {
        const std::vector<std::uint64_t> hash = hashes(kernels, count, window);
        std::vector<std::size_t> order(hash.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return hash[a] != hash[b] ? hash[a] < hash[b] : a < b; });
        for (std::size_t from = 0; from < order.size();) {
            std::size_t to = from + 1;
            while (to < order.size() && hash[order[to]] == hash[order[from]]) ++to;
            if (to - from >= 3) {
                std::vector<std::size_t> distances;
                for (std::size_t i = from + 1; i < to; ++i) distances.push_back(order[i] - order[i - 1]);
                const std::size_t period = upperMedian(distances);
                const auto regular = std::count_if(distances.begin(), distances.end(),
                                                   [&](std::size_t d) { return alikeDistance(d, period); });
                if (period >= kShortest &&
                    static_cast<double>(regular) >= kRegular * static_cast<double>(distances.size()))
                    found.push_back({window,
                                     {order.begin() + static_cast<std::ptrdiff_t>(from),
                                      order.begin() + static_cast<std::ptrdiff_t>(to)},
                                     period});
            }
            from = to;
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Occurrences& a, const Occurrences& b) { return a.period < b.period; });
    return found;
}

/// Candidates of (nearly) one period: a range of the list.
struct Cluster {
    std::size_t first = 0, last = 0;
    std::size_t best = 0; ///< the one that occurs most often
    double likeness = 0, covered = 0;
    std::size_t size() const { return last - first; }
};

std::vector<Cluster> clustersOf(const std::vector<Occurrences>& list)
{
    std::vector<Cluster> clusters;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (clusters.empty() || list[i].period > list[clusters.back().first].period * 102 / 100 + 1)
            clusters.push_back({i, i, i, 0, 0});
        Cluster& cluster = clusters.back();
        cluster.last = i + 1;
        if (list[i].at.size() > list[cluster.best].at.size()) cluster.best = i;
    }
    std::stable_sort(clusters.begin(), clusters.end(),
                     [](const Cluster& a, const Cluster& b) { return a.size() > b.size(); });
    if (clusters.size() > kMostCandidates) clusters.resize(kMostCandidates);
    return clusters;
}

/// How alike the stretches between occurrences are, name by name. A name that most stretches lack but several have
/// speaks against them; one that a single stretch has does not (an evaluation, a first call). Where an optimizer is
/// recognised, every stretch must have it.
double likeness(const std::vector<StreamKernel>& kernels, const std::vector<bool>& isOptimizer,
                const std::vector<std::size_t>& at)
{
    const std::size_t stretches = at.size() - 1;
    struct Seen {
        std::int32_t name;
        std::uint32_t stretch, times;
    };
    std::vector<Seen> seen;
    std::vector<std::uint32_t> times(isOptimizer.size(), 0);
    std::vector<std::int32_t> names;
    std::size_t withOptimizer = 0;
    for (std::size_t s = 0; s < stretches; ++s) {
        bool optimizer = false;
        names.clear();
        for (std::size_t i = at[s]; i < at[s + 1]; ++i) {
            const auto name = static_cast<std::size_t>(kernels[i].name);
            if (times[name]++ == 0) names.push_back(kernels[i].name);
            optimizer = optimizer || isOptimizer[name];
        }
        withOptimizer += optimizer ? 1 : 0;
        for (const std::int32_t name : names)
            seen.push_back(
                {name, static_cast<std::uint32_t>(s), std::exchange(times[static_cast<std::size_t>(name)], 0)});
    }
    std::sort(seen.begin(), seen.end(),
              [](const Seen& a, const Seen& b) { return a.name != b.name ? a.name < b.name : a.times < b.times; });
    double alike = 0, judged = 0;
    for (std::size_t from = 0; from < seen.size();) {
        std::size_t to = from, mode = 0;
        while (to < seen.size() && seen[to].name == seen[from].name) {
            std::size_t run = to;
            while (run < seen.size() && seen[run].name == seen[from].name && seen[run].times == seen[to].times) ++run;
            mode = std::max(mode, run - to);
            to = run;
        }
        const std::size_t present = to - from, absent = stretches - present;
        from = to;
        if (absent >= mode && present < 2) continue;
        judged += 1;
        if (absent < mode) alike += static_cast<double>(mode) / static_cast<double>(stretches);
    }
    if (judged == 0) return 0;
    const bool known = std::find(isOptimizer.begin(), isOptimizer.end(), true) != isOptimizer.end();
    return alike / judged * (known ? static_cast<double>(withOptimizer) / static_cast<double>(stretches) : 1);
}

/// Where a step begins behind an optimizer: for every occurrence (one per step) the next place at which a run of its
/// kernels ends that is followed by a third of a step without any. Empty unless most occurrences have one.
std::vector<std::size_t> behindOptimizer(const std::vector<StreamKernel>& kernels, const std::vector<bool>& isOptimizer,
                                         const std::vector<std::size_t>& at, std::size_t period)
{
    const std::size_t count = kernels.size();
    const auto optimizer = [&](std::size_t i) { return isOptimizer[static_cast<std::size_t>(kernels[i].name)]; };
    std::vector<std::size_t> ends; // one past the last kernel of a run
    for (std::size_t i = 0; i < count; ++i) {
        if (!optimizer(i)) continue;
        std::size_t next = i + 1;
        const std::size_t far = std::min(count, i + 1 + period / 3);
        while (next < far && !optimizer(next)) ++next;
        if (next == far) ends.push_back(i + 1);
    }
    std::vector<std::size_t> begins;
    std::size_t missing = 0;
    for (const std::size_t from : at) {
        const auto end = std::lower_bound(ends.begin(), ends.end(), from);
        if (end == ends.end() || *end > from + period + period / 10)
            ++missing;
        else if (begins.empty() || *end > begins.back())
            begins.push_back(*end);
    }
    if (missing * 5 > at.size() || begins.size() + missing + at.size() / 5 < at.size()) return {};
    return begins;
}

/// The occurrences in front of which the stream rests longest: where the host prepares the next step.
std::size_t behindGap(const std::vector<Occurrences>& list, const Cluster& cluster,
                      const std::vector<StreamKernel>& kernels)
{
    const std::size_t most = list[cluster.best].at.size();
    std::size_t chosen = cluster.best;
    std::int64_t widest = -1;
    for (std::size_t i = cluster.first; i < cluster.last; ++i) {
        if (list[i].at.size() + 1 < most) continue;
        std::vector<std::int64_t> gaps;
        for (const std::size_t at : list[i].at)
            if (at > 0) gaps.push_back(std::max<std::int64_t>(0, kernels[at].start - kernels[at - 1].end));
        if (gaps.empty() || upperMedian(gaps) <= widest) continue;
        widest = upperMedian(gaps);
        chosen = i;
    }
    return chosen;
}

/// All occurrences of a window that was found in the first `searched` kernels.
std::vector<std::size_t> everywhere(const Occurrences& found, const std::vector<StreamKernel>& kernels,
                                    std::size_t searched)
{
    if (searched >= kernels.size()) return found.at;
    const std::vector<std::uint64_t> all = hashes(kernels, kernels.size(), found.window);
    const std::uint64_t wanted = all[found.at.front()];
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] == wanted) at.push_back(i);
    return at;
}

/// A step that the window cuts has the kernels of a step. A short rest with others means that what repeats is something
/// smaller: the layers of a single pass, between an embedding and a head.
bool endsOtherwise(const std::vector<StreamKernel>& kernels, std::size_t names, const FoundPeriod& found)
{
    if (kernels.size() - found.boundaries.back() >= found.kernels) return false;
    std::vector<bool> known(names, false);
    for (std::size_t i = found.boundaries.front(); i < found.boundaries.back(); ++i)
        known[static_cast<std::size_t>(kernels[i].name)] = true;
    for (std::size_t i = found.boundaries.back(); i < kernels.size(); ++i)
        if (!known[static_cast<std::size_t>(kernels[i].name)]) return true;
    return false;
}

} // namespace

bool hasLayers(const std::vector<StreamKernel>& kernels, std::size_t from, std::size_t to)
{
    constexpr std::size_t kWindow = 4, kTimes = 4;
    std::map<std::array<std::int32_t, kWindow>, std::vector<std::size_t>> places;
    for (std::size_t i = from; i + kWindow <= std::min(to, kernels.size()); ++i)
        places[{kernels[i].name, kernels[i + 1].name, kernels[i + 2].name, kernels[i + 3].name}].push_back(i);
    return std::any_of(places.begin(), places.end(), [&](const auto& each) {
        const std::vector<std::size_t>& at = each.second;
        if (at.size() < kTimes) return false;
        std::vector<std::size_t> distances;
        for (std::size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
        const std::size_t usual = upperMedian(distances);
        const auto regular =
            std::count_if(distances.begin(), distances.end(), [&](std::size_t d) { return alikeDistance(d, usual); });
        return usual >= kWindow && static_cast<double>(regular) >= kRegular * static_cast<double>(distances.size()) &&
               (at.back() - at.front() + usual) * 2 >= to - from;
    });
}

bool optimizerKernel(std::string_view name)
{
    static constexpr std::array<std::string_view, 9> kParts{
        "multi_tensor_apply", "adam",    "fused_sgd", "FusedSgd",   "LAMBStage",
        "FusedOptimizer",     "adagrad", "adafactor", "lion_kernel"};
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
        return std::search(name.begin(), name.end(), part.begin(), part.end(),
                           [&](char a, char b) { return lowerCase(a) == lowerCase(b); }) != name.end();
    });
}

std::optional<FoundPeriod> findPeriod(const std::vector<StreamKernel>& kernels, const std::vector<bool>& isOptimizer)
{
    const std::size_t count = std::min(kernels.size(), kMostSearched);
    const std::vector<Occurrences> list = candidates(kernels, count);
    std::vector<Cluster> clusters = clustersOf(list);
    const auto quality = [](const Cluster& cluster) { return cluster.likeness * std::min(1.0, cluster.covered); };
    double best = 0;
    for (Cluster& cluster : clusters) {
        const Occurrences& each = list[cluster.best];
        cluster.likeness = likeness(kernels, isOptimizer, each.at);
        // Before the first step a job prepares itself, with any number of kernels; behind it there are steps.
        cluster.covered = static_cast<double>(each.at.back() - each.at.front() + each.period) /
                          static_cast<double>(count - each.at.front());
        best = std::max(best, quality(cluster));
    }
    if (best < kAlike) return std::nullopt;
    const Cluster* chosen = nullptr;
    for (const Cluster& cluster : clusters)
        if (quality(cluster) >= best - kAsGood && (!chosen || list[cluster.best].period < list[chosen->best].period))
            chosen = &cluster;

    FoundPeriod found;
    found.likeness = chosen->likeness;
    const Occurrences& anchor = list[chosen->best];
    found.kernels = anchor.period;
    found.boundaries = behindOptimizer(kernels, isOptimizer, everywhere(anchor, kernels, count), anchor.period);
    found.byOptimizer = !found.boundaries.empty();
    if (!found.byOptimizer) found.boundaries = everywhere(list[behindGap(list, *chosen, kernels)], kernels, count);
    // The ends of the stream: whole steps count.
    const std::size_t period = found.kernels;
    const auto whole = [&](std::size_t length) { return length + std::max<std::size_t>(1, period / 50) >= period; };
    if (found.boundaries.front() > 0 && whole(found.boundaries.front()))
        found.boundaries.insert(found.boundaries.begin(),
                                found.boundaries.front() - std::min(found.boundaries.front(), period));
    const std::size_t left = kernels.size() - found.boundaries.back();
    if (whole(left)) found.boundaries.push_back(found.boundaries.back() + std::min(left, period + period / 50));
    if (found.boundaries.size() < 3 || endsOtherwise(kernels, isOptimizer.size(), found)) return std::nullopt;
    return found;
}

} // namespace fourwalls::importers
