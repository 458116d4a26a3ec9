// SPDX-License-Identifier: Apache-2.0
// Finds the steps of one rank in what was recorded of it: the profiler's marks, else ranges that look like passes of a
// loop, else kernels that repeat, else one step that is the whole trace. A person may choose instead.
#pragma once

#include "model/base/chunk_store.h"
#include "model/base/paged_array.h"
#include "model/import/common/import_steps.h"
#include "model/import/common/name_memo.h"
#include "model/import/common/step_choice.h"
#include "model/import/common/step_names.h"
#include "model/trace/trace_sink.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// The steps of one rank and how they were found.
struct FoundSteps {
    enum class Source : std::uint8_t { None, Whole, Period, Ranges, Marks };
    Source source = Source::None;
    std::vector<StepRecord> steps; ///< in the file's times
    std::string by;                ///< "ProfilerStep", "range train_step", "period of …", "whole trace"
    bool numbered = false;         ///< by the file; else counted from 0 here
};

class StepFinder {
public:
    /// scratch: folder for what does not fit into memory; empty: the system's.
    explicit StepFinder(StepChoice choice = {}, const std::string& scratch = {});

    /// What the profiler's marks are called: "ProfilerStep" if nothing else is said.
    void nameMarks(std::string name)
    {
        if (!name.empty()) m_marksName = std::move(name);
    }

    /// A range, annotation or function on the host by its name; call it for each. Cheap for names that are no steps if
    /// the caller remembers what interesting() said of them.
    bool interesting(std::string_view name) const;
    void addRange(std::string_view name, int lane, std::int64_t begin, std::int64_t end);
    /// A call that launches work.
    void addLaunch(std::int64_t at) { add({at, at, at, -1, kLaunch}); }
    /// Any other slice of the host.
    void addHost(std::int64_t begin, std::int64_t end);
    /// A piece of work on the device. launchAt: when the host launched it, as far as known. compute: no copy or collective.
    void addWork(std::string_view name, int lane, std::int64_t begin, std::int64_t end,
                 std::optional<std::int64_t> launchAt, bool compute);
    /// A step as the profiler shows it on the device; counts only where nothing tells which work a mark launched.
    void addProjected(int number, std::int64_t begin, std::int64_t end) { m_projected.push_back({number, begin, end}); }

    /// Errors: InvalidArgument if a person chose what this rank has nothing of; Io of the scratch file.
    Result<FoundSteps> find();

private:
    enum : std::int32_t { kLaunch = -1, kCopyOrCollective = -2 };
    struct Row { ///< work, or a launch
        std::int64_t begin, end, launchAt;
        std::int32_t lane, name; ///< name: dense id of a compute kernel's; or one of the above
    };
    struct Pass {
        std::int64_t begin, end;
        std::int32_t lane, number;
    };
    struct Loop {
        IterationName::Kind kind = IterationName::Kind::None;
        std::vector<Pass> passes;
    };
    struct Projected {
        int number;
        std::int64_t begin, end;
    };
    struct Judged;

    void add(const Row& row) { m_rows.push_back(row); }
    std::vector<MarkedStep> marksOf(std::vector<Pass> passes) const;
    std::optional<std::int64_t> fillWork(std::vector<MarkedStep>& marks) const;
    std::optional<Judged> judged(const std::string& key, const Loop& loop) const;
    std::optional<FoundSteps> fromProfiler() const;
    std::optional<FoundSteps> fromRanges(bool chosen) const;
    std::optional<FoundSteps> fromOptimizer() const;
    std::optional<FoundSteps> fromPeriod() const;
    std::optional<FoundSteps> fromKernel() const;
    std::optional<FoundSteps> fromLength() const;
    std::optional<FoundSteps> whole() const;
    std::vector<MarkedStep> between(std::vector<std::int64_t> ends) const;
    bool isLaunched() const { return m_launchedWork > 0; }

    StepChoice m_choice;
    std::string m_marksName = "ProfilerStep";
    std::unique_ptr<ChunkStore> m_chunks;
    PagedArray<Row> m_rows;
    PagedArray<std::int64_t> m_host;     ///< begins of slices, as long as there is no device work
    std::map<std::string, Loop> m_loops; ///< by IterationName::key; the chosen range under its name
    std::unordered_map<std::string, std::int32_t> m_nameIds;
    std::array<const std::pair<const std::string, std::int32_t>*, kRecentSlots> m_recentNames{}; ///< by recentSlot()
    std::vector<const std::string*> m_names;
    std::vector<Projected> m_projected;
    std::optional<std::int64_t> m_hostBegin, m_workBegin;
    std::int64_t m_hostEnd = 0, m_workEnd = 0, m_works = 0, m_launchedWork = 0;
    double m_workSum = 0;
    std::size_t m_passes = 0;
};

/// The steps of a run, rank by rank.
class RunSteps {
public:
    /// What this rank's finder finds. shiftNs: added to its times.
    void add(RankId rank, std::int64_t shiftNs, StepFinder& finder);

    /// Errors: as StepFinder::find, if no rank has what a person chose.
    Status check() const;
    /// Hands all steps to the sink. Ranks that have nothing but the whole trace get none where others have more, and
    /// steps that were only counted are numbered like those of the first rank that they lie in. Returns what
    /// TraceClosing::stepsBy shall say. Errors: as check().
    Result<std::string> writeTo(TraceSink& sink);

private:
    struct Rank {
        RankId rank;
        std::int64_t shiftNs = 0;
        FoundSteps found;
    };
    std::vector<Rank> m_ranks;
    Status m_failure;
};

} // namespace fourwalls::importers
