// SPDX-License-Identifier: Apache-2.0
// The activity of one rank: its step summaries and its heat map. The slices that count are kept by windows of time
// until all tracks of the rank (and, with pipeline stages, of all ranks) were seen.
#pragma once

#include "model/store/finish_context.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace fourwalls::store {

/// Columns of the heat map: bins of equal width over the whole trace, halved in number from level to level.
struct ActivityBins {
    std::int64_t width = 1; ///< of level 0 [ns], a power of two

    /// The narrowest width that gives at most 4096 bins over the range.
    static ActivityBins over(std::int64_t begin, std::int64_t end);
    int levels = 1;
};

/// The shares of one bin in units of 1/65535 of its width.
struct ActivityShares {
    std::array<std::uint16_t, kActivityClassCount> shares{}; ///< by ActivityClass
    bool empty() const { return shares == decltype(shares){}; }
};

/// Bins of a tile as a BLOB, from the tile's first bin on; trailing empty bins are left out. classes: how many shares
/// a bin has, see Definitions::activityClasses.
void encodeActivityTile(std::string& out, const std::vector<ActivityShares>& bins, int classes);
bool decodeActivityTile(std::string_view bytes, std::vector<ActivityShares>& bins, int classes);

class ActivityFinisher {
public:
    ActivityFinisher(FinishContext& context, std::int32_t rank);

    /// A slice of one of the rank's tracks, in the order of forEachSorted per track.
    void add(const OpInfo& op, const SliceRow& slice);
    /// The rank's tracks are complete: gives unused memory back.
    void seal();
    const std::map<StepIndex, TimeRange>& pipelineWindows() const { return m_pipelineWindows; }
    /// Puts rank_bin and step_summary. hulls: see RankStepSummarizer::finish.
    void finish(const std::map<StepIndex, TimeRange>& hulls);

private:
    static constexpr std::int64_t kWindows = 256;
    std::int64_t windowOf(std::int64_t at) const;

    FinishContext& m_context;
    std::int32_t m_rank;
    bool m_pipelined;
    std::int64_t m_begin, m_windowWidth;
    std::vector<SliceStream> m_windows;
    const StepLookup* m_lookup = nullptr; ///< null for ranks without steps
    std::map<StepIndex, TimeRange> m_pipelineWindows;
};

} // namespace fourwalls::store
