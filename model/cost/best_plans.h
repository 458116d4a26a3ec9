// SPDX-License-Identifier: Apache-2.0
// What a search keeps of the plans that it prices: the best ones, and those that a closer look could make best.
#pragma once

#include "model/cost/plan_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace fourwalls::cost {

/// Feasible first, then by the objective; ties by time, by memory, then by what is simpler, so that results are repeatable.
class Better {
public:
    explicit Better(SearchObjective objective) : m_objective(objective) {}

    bool operator()(const SearchedPlan& a, const SearchedPlan& b) const
    {
        const auto key = [this](const SearchedPlan& p) {
            return std::tuple(!p.feasible, p.feasible ? valueOf(p, m_objective) : p.peakBytes, p.seconds, p.peakBytes,
                              p.plan.tp, p.plan.pp, p.plan.cp, p.plan.ep, p.plan.vpp, p.plan.zero, p.plan.microbatches,
                              p.plan.shard, static_cast<int>(p.plan.recompute), p.plan.sequenceParallel,
                              static_cast<int>(p.plan.schedule), static_cast<int>(p.plan.order));
        };
        const auto first = key(a), second = key(b);
        if (first != second) return first < second;
        return std::tie(a.plan.stageLayers, a.plan.stageRecompute) <
               std::tie(b.plan.stageLayers, b.plan.stageRecompute);
    }

private:
    SearchObjective m_objective;
};

/// The best so many plans seen; the worst of them on top of a heap.
class BestPlans {
public:
    BestPlans(std::size_t most, SearchObjective objective) : m_most(most), m_better(objective) {}

    void offer(const SearchedPlan& plan)
    {
        if (m_heap.size() == m_most) {
            if (!m_better(plan, m_heap.front())) return;
            std::pop_heap(m_heap.begin(), m_heap.end(), m_better);
            m_heap.pop_back();
        }
        m_heap.push_back(plan);
        std::push_heap(m_heap.begin(), m_heap.end(), m_better);
    }
    const std::vector<SearchedPlan>& plans() const { return m_heap; }

private:
    std::size_t m_most;
    Better m_better;
    std::vector<SearchedPlan> m_heap;
};

/// A plan that a split of its layers, or its simulation, could make one of the best.
struct SplitCandidate {
    double least = 0;  ///< of what the search makes least, under any split
    double likely = 0; ///< the same as far as can be told: which candidates are looked at first
    SearchedPlan plan;
    bool looked = false;
};

/// Some of the candidates, those that could become best: on top of the heap the one that could become it least.
class SplitCandidates {
public:
    explicit SplitCandidates(SearchObjective objective) : m_better(objective) {}

    /// Returns the one that there is no place for, if there is none left.
    std::optional<SplitCandidate> offer(SplitCandidate candidate)
    {
        constexpr std::size_t kMost = 2000;
        const auto isLess = [this](const SplitCandidate& a, const SplitCandidate& b) { return precedes(a, b); };
        std::optional<SplitCandidate> out;
        if (m_heap.size() == kMost) {
            if (!precedes(candidate, m_heap.front())) return candidate;
            std::pop_heap(m_heap.begin(), m_heap.end(), isLess);
            out = std::move(m_heap.back());
            m_heap.pop_back();
        }
        m_heap.push_back(std::move(candidate));
        std::push_heap(m_heap.begin(), m_heap.end(), isLess);
        return out;
    }
    const std::vector<SplitCandidate>& all() const { return m_heap; }
    /// All, most hopeful first; takes them.
    std::vector<SplitCandidate> sorted()
    {
        std::sort(m_heap.begin(), m_heap.end(),
                  [this](const SplitCandidate& a, const SplitCandidate& b) { return precedes(a, b); });
        return std::move(m_heap);
    }

private:
    bool precedes(const SplitCandidate& a, const SplitCandidate& b) const
    {
        return a.likely != b.likely ? a.likely < b.likely : m_better(a.plan, b.plan);
    }

    Better m_better;
    std::vector<SplitCandidate> m_heap;
};

} // namespace fourwalls::cost
