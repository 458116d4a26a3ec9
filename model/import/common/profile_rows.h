// SPDX-License-Identifier: Apache-2.0
// A foreign profile as rows. A reader of a vendor's format says what its file has; what becomes of it (ranks, lanes,
// launches, steps, collectives, clocks) is settled in one place for all of them, rows_import.cpp.
#pragma once

#include "model/base/result.h"
#include "model/import/common/collective_detail.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/lane_index.h"
#include "model/import/common/trace_categories.h"
#include "model/import/common/trace_facts.h"
#include "model/import/common/trace_import.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// One device of a file: it becomes a rank.
struct RowRank {
    std::string device;           ///< its model; empty: not said
    std::int64_t memoryBytes = 0; ///< 0: not said
    std::optional<int> number;    ///< the rank, where the file says it
    int host = 0;                 ///< index of the rank on whose lanes the rows of its process stand
};

/// What a file says before its rows are read.
struct ProfileDescription {
    std::string path;
    std::string producer; ///< "rocprofv3", "JAX 0.4.30"
    std::string marks;    ///< what its steps are called: "ProfilerStep", "XLA step"
    std::vector<RowRank> ranks;
    std::optional<int> worldSize;
    std::optional<std::int64_t> unixNs; ///< Unix time of the file's time 0; absent: no wall clock
    std::string backend;                ///< transport of its collectives ("rccl", "hccl"); empty: not said
    bool cpuOnly = false;               ///< no accelerator ran anything: operators of the host are the work
    std::string times = "measured";     ///< how the lengths of its rows came about
    std::string communicationTimes;     ///< those of communication; empty: as `times`
    ClockKind clock = ClockKind::Wall;  ///< what its times are
};

/// A stretch of time on a lane. Texts are valid during the call.
struct ProfileRow {
    int rank = 0; ///< index into ProfileDescription::ranks
    Category category = Category::Other;
    LaneRole role = LaneRole::Thread;
    std::string_view process, lane; ///< key of the lane, see LaneIndex
    FineTime start, end;
    std::string_view name, detail;
    std::optional<std::int64_t> bytes;                   ///< of a copy or set
    std::optional<std::int64_t> correlation;             ///< equal on a call and on the work that it launched
    const std::vector<std::int64_t>* launches = nullptr; ///< correlations of work that an operator of the host launched
    const CollectiveDetail* collective = nullptr;        ///< of work; on a host's row: of the work that it launches
    std::optional<int> step;                             ///< the pass of the training loop that it is
};

struct ProfileSample {
    int rank = 0;
    std::string_view counter;
    CounterUnit unit = CounterUnit::None;
    std::int64_t at = 0;
    double value = 0;
};

/// A buffer that lived from `start` to `end`; without an end to the end of the trace.
struct ProfileBuffer {
    int rank = 0;
    std::string_view name;
    std::int64_t bytes = 0, start = 0;
    std::optional<std::int64_t> end;
    MemoryCategory category = MemoryCategory::Other;
};

class ProfileVisitor {
public:
    virtual ~ProfileVisitor() = default;
    virtual void row(const ProfileRow& row) = 0;
    /// Whether details of device work, and which launch it came of, are looked at: what takes time may be left out.
    virtual bool wantsDetails() const { return true; }
    virtual void sample(const ProfileSample& /*sample*/) {}
    virtual void buffer(const ProfileBuffer& /*buffer*/) {}
    /// An instant with a text.
    virtual void mark(int /*rank*/, std::int64_t /*at*/, std::string_view /*text*/) {}
    /// Where processes of the device have names, its streams are called what the file calls them.
    virtual void nameProcess(int /*rank*/, std::string_view /*process*/, std::string_view /*name*/) {}
    virtual void nameThread(int /*rank*/, std::string_view /*process*/, std::string_view /*lane*/,
                            std::string_view /*name*/)
    {}
};

class ProfileReader {
public:
    virtual ~ProfileReader() = default;
    virtual const ProfileDescription& description() const = 0;
    /// Hands over every row, in any order; asked for several times, it gives the same rows. Errors: Io, Format, Cancelled.
    virtual Status read(ProfileVisitor& visitor, std::stop_token stop) = 0;
    /// What the last pass met and left out.
    virtual void audit(TraceSink& sink) const = 0;
    /// Events of the file that the last pass met, kept or not.
    virtual std::int64_t events() const = 0;
    /// What to do if the file has no row that can be shown: the hint of the refusal.
    virtual std::string whatToRecord() const = 0;
};

/// The import of files of one run. Errors: Unsupported for a file without any row; InvalidArgument for files of different
/// runs; what the readers meet.
Result<std::unique_ptr<TraceImport>> importRows(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                const ImportOptions& options);

/// The facts of one file: see docs/import.md.
Result<TraceFacts> factsOfRows(ProfileReader& reader, const ImportOptions& options);

/// Opens a reader per path and imports them all.
template <class Reader>
Result<std::unique_ptr<TraceImport>> importWith(const std::vector<std::string>& paths, const ImportOptions& options)
{
    std::vector<std::unique_ptr<ProfileReader>> readers;
    for (const std::string& path : paths) {
        Result<std::unique_ptr<ProfileReader>> reader = Reader::open(path, options);
        if (leftOut(options, path, reader)) continue;
        if (!reader.ok()) return reader.error();
        readers.push_back(std::move(*reader));
    }
    return importRows(std::move(readers), options);
}

template <class Reader>
Result<TraceFacts> factsWith(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<ProfileReader> reader, Reader::open(path, options));
    return factsOfRows(*reader, options);
}

} // namespace fourwalls::importers
