// SPDX-License-Identifier: Apache-2.0
// Weight gradients that a zero-bubble pipeline computes later than the input gradients of the same micro-batch.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <functional>
#include <utility>
#include <vector>

namespace fourwalls::engine {

class DeferredWork {
public:
    using Work = std::function<void(RankContext&)>;

    /// `work` keeps what it reads alive. layer: it belongs to, -1 for none.
    void add(std::int32_t layer, Work work) { m_items.push_back({layer, std::move(work)}); }
    bool empty() const { return m_items.empty(); }

    /// Computes everything, in the order in which it was added, each item releasing its tensors before the next.
    void run(RankContext& rank)
    {
        for (auto& item : m_items) {
            const Scope op(rank.recorder, SliceKind::Operator, "weight gradient", Phase::BackwardWeight, item.layer);
            item.work(rank);
            item.work = nullptr;
        }
        m_items.clear();
    }

private:
    struct Item {
        std::int32_t layer;
        Work work;
    };
    std::vector<Item> m_items;
};

} // namespace fourwalls::engine
