// SPDX-License-Identifier: Apache-2.0
// See offloaded_layers.h.
#include "profiler/engine/nn/offloaded_layers.h"

#include <algorithm>
#include <utility>

namespace fourwalls::engine {

namespace {

// Copies are recorded under the layer that they belong to, whichever one computes.
class LayerTag {
public:
    LayerTag(Recorder& recorder, std::int32_t layer) : m_recorder(recorder), m_saved(recorder.place())
    {
        Recorder::Place place = m_saved;
        place.layer = layer;
        recorder.setPlace(place);
    }
    ~LayerTag() { m_recorder.setPlace(m_saved); }
    LayerTag(const LayerTag&) = delete;
    LayerTag& operator=(const LayerTag&) = delete;

private:
    Recorder& m_recorder;
    Recorder::Place m_saved;
};

} // namespace

OffloadedLayers::Kept OffloadedLayers::moveOut(RankContext& rank, Kept kept)
{
    HostPool& pool = *rank.offloaded;
    const LayerTag tag(rank.recorder, kept.layer);
    pool.settle(0);
    std::vector<Tensor> leaving;
    std::vector<Copied> copied;
    const auto findIn = [](const std::vector<Copied>& list, const Tensor& tensor) {
        return std::find_if(list.begin(), list.end(), [&tensor](const Copied& other) {
            return other.data == tensor.data() && other.buffer.lock() == tensor.buffer().lock() &&
                   other.home.shape() == tensor.shape() && other.home.type() == tensor.type();
        });
    };
    kept.left = m_previousLeft;
    for (Slot& slot : kept.slots) {
        Tensor& tensor = *slot.tensor;
        const auto own = findIn(copied, tensor);
        slot.home = static_cast<std::size_t>(own - copied.begin());
        if (own == copied.end()) {
            const auto before = findIn(m_previous, tensor);
            Tensor home;
            if (before != m_previous.end()) {
                home = before->home;
            } else {
                home = pool.make(tensor.shape(), tensor.type(), MemoryCategory::Activations, tensor.layout());
                kept.left = pool.toHost(tensor, home);
                leaving.push_back(tensor);
            }
            copied.push_back({tensor.buffer(), tensor.data(), home});
            kept.homes.push_back(home);
        }
        tensor.reset();
    }
    m_previous = std::move(copied);
    m_previousLeft = kept.left;
    pool.keepUntil(kept.left, std::move(leaving));
    if (!pool.overlaps()) pool.settle(0);
    return kept;
}

void OffloadedLayers::startBringing(RankContext& rank, Kept& kept)
{
    if (kept.homes.empty() || !kept.coming.empty()) return;
    HostPool& pool = *rank.offloaded;
    const LayerTag tag(rank.recorder, kept.layer);
    for (const Tensor& home : kept.homes) {
        kept.coming.push_back(pool.onDevice(home, MemoryCategory::Activations));
        kept.back = pool.toDevice(home, kept.coming.back(), kept.left);
    }
}

void OffloadedLayers::bring(RankContext& rank, std::size_t index)
{
    HostPool& pool = *rank.offloaded;
    pool.settle(1);
    if (index < m_layers.size()) {
        Kept& kept = m_layers[index];
        startBringing(rank, kept);
        pool.waitUntil(kept.back);
        for (const Slot& slot : kept.slots)
            if (!kept.coming.empty()) *slot.tensor = kept.coming[slot.home];
        kept = {};
    }
    if (pool.overlaps() && index > 0 && index - 1 < m_layers.size()) startBringing(rank, m_layers[index - 1]);
}

} // namespace fourwalls::engine
