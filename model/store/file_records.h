// SPDX-License-Identifier: Apache-2.0
// Counters, steps, collectives, flows and events of a file.
#pragma once

#include "model/store/file_connection.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::store {

class FileRecords : public virtual RecordQuestions {
public:
    /// file: must outlive this.
    explicit FileRecords(FileConnection& file) : m_file(file) {}

    Result<std::vector<CounterSample>> counter(CounterId counter, TimeRange range, int pixels) override;
    Result<std::vector<StepView>> steps(RankId rank) override;
    Result<std::vector<CollectiveView>> collectives(std::optional<RankId> rank, TimeRange range,
                                                    std::size_t limit) override;
    Result<std::vector<FlowRecord>> flows(TrackId track, TimeRange range, std::size_t limit) override;
    Result<std::vector<EventRecord>> events(TimeRange range, std::size_t limit, std::optional<EventKind> kind) override;
    Status scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop) override;
    Status scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop) override;

private:
    std::optional<FlowRecord> flowFromRow(const sqlite::Statement& row) const;
    bool isTrack(const std::optional<std::int64_t>& value) const;
    const std::string& string(std::int64_t id) const;

    FileConnection& m_file;
};

} // namespace fourwalls::store
