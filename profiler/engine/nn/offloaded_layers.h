// SPDX-License-Identifier: Apache-2.0
// What the layers of one forward pass keep for their backward pass, away in the host's pool in between (as in vDNN, Rhu
// et al. 2016, arXiv:1602.08124): a layer's tensors leave while the next layer computes and come back while the one
// behind it runs backward.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::engine {

class OffloadedLayers {
public:
    /// Starts to move a layer's tensors to the pool; `saved` is empty afterwards and must stay where it is. Saved has
    /// forEachTensor. Of the layers before it, all have left when this returns. layer: as the recorder counts it.
    template <class Saved>
    void leave(RankContext& rank, std::size_t index, std::int32_t layer, Saved& saved)
    {
        if (index >= m_layers.size()) m_layers.resize(index + 1);
        Kept kept;
        kept.layer = layer;
        saved.forEachTensor([&kept](Tensor& tensor) {
            if (tensor.defined()) kept.slots.push_back({&tensor, 0});
        });
        m_layers[index] = moveOut(rank, std::move(kept));
    }

    /// The layer's tensors are there again when this returns; those of the layer before start to come. Does nothing for
    /// layers that have not left.
    void bring(RankContext& rank, std::size_t index);

private:
    struct Slot {
        Tensor* tensor;
        std::size_t home; // among `homes`: some tensors of a layer are the same
    };
    struct Kept {
        std::int32_t layer = -1;
        std::vector<Slot> slots;
        std::vector<Tensor> homes;  // in the pool; empty: the layer is here
        std::vector<Tensor> coming; // in the rank's memory
        Instant left, back;
    };
    Kept moveOut(RankContext& rank, Kept kept);
    static void startBringing(RankContext& rank, Kept& kept);

    // What has left with the layer before: the next one may keep the same (its input).
    struct Copied {
        std::weak_ptr<const void> buffer;
        const void* data;
        Tensor home;
    };
    std::vector<Copied> m_previous;
    Instant m_previousLeft;
    std::vector<Kept> m_layers;
};

} // namespace fourwalls::engine
