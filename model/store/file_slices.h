// SPDX-License-Identifier: Apache-2.0
// The slices of a file: windows of them, single ones, search by name, and what ranks do per column.
#pragma once

#include "model/store/file_connection.h"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fourwalls::store {

class FileSlices : public virtual SliceQuestions {
public:
    /// file: must outlive this.
    explicit FileSlices(FileConnection& file) : m_file(file) {}

    Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop) override;
    Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels) override;
    Result<SliceView> slice(SliceId id) override;
    Result<SearchResult> search(const SearchQuery& query, std::stop_token stop) override;
    Status scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop) override;

private:
    struct Run {
        std::int64_t id = 0, first = 0, last = 0;
        std::int32_t track = 0;
        int lane = 0, runClass = 0;
    };
    struct LaneLevels {
        int finest = 0, top = -1; ///< top < finest: no bins
    };
    /// Runs and levels of one track, loaded when it is first shown.
    struct TrackData {
        std::vector<Run> runs; ///< by lane, then class
        std::map<int, LaneLevels> levels;
        std::int64_t damaged = 0;
    };

    Result<const TrackData*> trackData(TrackId track);
    Result<std::optional<Run>> runOf(std::int64_t id);
    std::optional<Run> runFromRow(const sqlite::Statement& row) const;
    std::optional<SliceView> sliceFromRow(const sqlite::Statement& row, const Run& run) const;
    /// The first id of the run from which slices that reach beyond `left` must be read.
    Result<std::int64_t> firstReaching(const Run& run, std::int64_t left);
    Status exactSlices(const Run& run, TimeRange range, SliceWindow& window, std::vector<SliceView>& to);
    Status binsOf(TrackId track, int lane, int level, TimeRange range, SliceWindow& window, std::vector<SliceBin>& to);

    FileConnection& m_file;
    std::unordered_map<TrackId, TrackData> m_tracks;
};

} // namespace fourwalls::store
