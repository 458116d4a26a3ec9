// SPDX-License-Identifier: Apache-2.0
// Lives against the optimizer's runs.
#include "model/import/common/memory_categories.h"

#include "model/trace/saturating_sum.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls::importers {

namespace {

constexpr Instant kNever{kLargestTimeNs};

/// Among weights and what has their sizes: under Adam every weight has two buffers of state as large as itself, and with
/// gradients that stay a third.
void splitStatic(const std::vector<BufferLife>& buffers, const std::vector<std::size_t>& fixed,
                 std::vector<MemoryCategory>& categories)
{
    std::map<std::int64_t, std::vector<std::size_t>> bySize;
    for (const std::size_t i : fixed) bySize[buffers[i].bytes].push_back(i);
    for (auto& [bytes, alike] : bySize) {
        std::sort(alike.begin(), alike.end(),
                  [&](std::size_t a, std::size_t b) { return buffers[a].address < buffers[b].address; });
        const std::size_t share = alike.size() % 3 == 0 ? 3 : alike.size() % 4 == 0 ? 4 : 1;
        if (share == 1) continue;
        const std::size_t each = alike.size() / share;
        for (std::size_t i = each; i < alike.size(); ++i)
            categories[alike[i]] =
                share == 4 && i < 2 * each ? MemoryCategory::Gradients : MemoryCategory::OptimizerState;
    }
}

/// Of buffers that live between two runs: those alive when most of them are.
void splitPassing(const std::vector<BufferLife>& buffers, const std::vector<std::size_t>& passing,
                  std::vector<MemoryCategory>& categories)
{
    std::vector<std::tuple<Instant, std::int64_t>> changes;
    for (const std::size_t i : passing) {
        changes.emplace_back(buffers[i].begin, buffers[i].bytes);
        changes.emplace_back(buffers[i].end.value_or(kNever), -buffers[i].bytes);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t now = 0, most = -1;
    Instant peak;
    for (const auto& [at, change] : changes) {
        addTo(now, change);
        if (now > most) most = now, peak = at;
    }
    for (const std::size_t i : passing) {
        const bool atPeak = buffers[i].begin <= peak && peak < buffers[i].end.value_or(kNever);
        categories[i] = atPeak ? MemoryCategory::Activations : MemoryCategory::Temporaries;
    }
}

} // namespace

std::vector<MemoryCategory> inferCategories(const std::vector<BufferLife>& buffers,
                                            const std::vector<TimeRange>& optimizer, bool adam)
{
    std::vector<MemoryCategory> categories(buffers.size(), MemoryCategory::Other);
    if (optimizer.empty()) return categories;
    std::vector<std::size_t> fixed;
    std::map<std::size_t, std::vector<std::size_t>> passing; // by the run that follows
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Instant begin = buffers[i].begin, end = buffers[i].end.value_or(kNever);
        // The first run that ends behind the buffer's begin: the one that it was allocated in, or the next.
        const auto run = std::upper_bound(optimizer.begin(), optimizer.end(), begin,
                                          [](Instant at, const TimeRange& range) { return at < range.end; });
        const bool within = run != optimizer.end() && run->contains(begin);
        if (within) {
            const bool stays = std::next(run) != optimizer.end() ? end > std::next(run)->begin : end == kNever;
            categories[i] = stays ? MemoryCategory::OptimizerState : MemoryCategory::Temporaries;
        } else if (begin < optimizer.front().begin && end > optimizer.back().end &&
                   (optimizer.size() > 1 || end == kNever)) {
            categories[i] = MemoryCategory::Weights;
            fixed.push_back(i);
        } else if (run != optimizer.end() && end > run->begin) {
            categories[i] = MemoryCategory::Gradients;
        } else {
            passing[static_cast<std::size_t>(run - optimizer.begin())].push_back(i);
        }
    }
    // State that was allocated within the history is not to be looked for among the weights.
    const bool stateKnown =
        std::find(categories.begin(), categories.end(), MemoryCategory::OptimizerState) != categories.end();
    if (adam && !stateKnown) splitStatic(buffers, fixed, categories);
    for (const auto& [run, indices] : passing) splitPassing(buffers, indices, categories);
    return categories;
}

} // namespace fourwalls::importers
