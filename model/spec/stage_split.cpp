// SPDX-License-Identifier: Apache-2.0
// See stage_split.h.
#include "model/spec/stage_split.h"

#include <algorithm>

namespace fourwalls {

std::vector<std::int64_t> splitLayers(std::int64_t layers, int positions, StageSplit split)
{
    const std::int64_t count = std::max(1, positions);
    const bool ends = split == StageSplit::EndsCount ||
                      (split == StageSplit::Automatic && layers % count != 0 && (layers + 2) % count == 0);
    const std::int64_t items = ends && count > 1 ? layers + 2 : layers;
    std::vector<std::int64_t> result(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        result[static_cast<std::size_t>(i)] = items / count + (i < items % count ? 1 : 0);
    if (items > layers) {
        // Positions of a single item stay empty of layers rather than negative.
        --result.front();
        --result.back();
        if (result.back() < 0) {
            result.back() = 0;
            --*std::max_element(result.begin(), result.end());
        }
    }
    return result;
}

} // namespace fourwalls
