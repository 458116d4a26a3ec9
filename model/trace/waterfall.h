// SPDX-License-Identifier: Apache-2.0
// The waterfall: what a step's time goes into, from the arithmetic that the peak would take down to idling.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace fourwalls {

/// In drawing order. The parts up to Idle add up to the whole step; the four behind it add up to Idle.
enum class WaterfallPart {
    Achieved,
    Recompute,
    MemoryBound,
    Inefficiency,
    OtherCompute, ///< neither FLOPs nor bytes are known
    Compute,      ///< in place of the five above it, where FLOPs or peak are unknown
    Bubble,
    ExposedComm,
    ExposedCopy,
    Idle,
    IdleDataLoading,
    IdleLaunch,
    IdleSynchronisation,
    IdleOther
};
inline constexpr std::size_t kWaterfallParts = 10; ///< those that add up to 1
inline constexpr std::size_t kAllWaterfallParts = 14;

/// Shares of the step time. A part that the trace cannot tell is absent.
class Waterfall {
public:
    struct Share {
        WaterfallPart part;
        double share;
    };

    std::optional<double> at(WaterfallPart part) const { return m_shares[static_cast<std::size_t>(part)]; }
    /// The same; an absent part is nothing.
    double operator[](WaterfallPart part) const { return at(part).value_or(0); }
    void set(WaterfallPart part, double share) { m_shares[static_cast<std::size_t>(part)] = share; }
    void reset(WaterfallPart part) { m_shares[static_cast<std::size_t>(part)].reset(); }
    /// The present ones of those that add up to 1.
    std::vector<Share> parts() const
    {
        std::vector<Share> present;
        for (std::size_t i = 0; i < kWaterfallParts; ++i)
            if (m_shares[i]) present.push_back({static_cast<WaterfallPart>(i), *m_shares[i]});
        return present;
    }
    bool empty() const { return parts().empty(); }
    friend bool operator==(const Waterfall&, const Waterfall&) = default;

private:
    std::array<std::optional<double>, kAllWaterfallParts> m_shares;
};

} // namespace fourwalls
