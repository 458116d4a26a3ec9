// SPDX-License-Identifier: Apache-2.0
// The second walk over a Chrome trace: every event goes to the sink, or into a counter that says why not.
#pragma once

#include "model/import/chrome/allocator_events.h"
#include "model/import/chrome/chrome_facts.h"
#include "model/import/chrome/chrome_survey.h"
#include "model/import/common/duration_pairs.h"
#include "model/import/common/flow_pairs.h"
#include "model/import/common/name_memo.h"
#include "model/import/common/op_names.h"
#include "model/import/common/run_collectives.h"
#include "model/import/common/spec_inference.h"
#include "model/import/common/step_finder.h"
#include "model/trace/audit_counter.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/trace_sink.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// Where a file's times and ranks go in the run.
struct FilePlacement {
    RankId rank;
    std::int64_t shiftNs = 0;         ///< added to the file's times to get the trace's
    bool pipelined = false;           ///< ranks are stages of a pipeline: sends and receives are its transfers
    SpecEvidence* evidence = nullptr; ///< collects what tells of the network; may be null
    std::function<void(double)> progress;
    std::string scratchFolder; ///< see ImportOptions
    StepChoice steps;
};

/// FLOPs by Arithmetic.
using ArithmeticFlops = std::array<double, kArithmeticCount>;

class ChromeWriter final : public ChromeVisitor {
public:
    /// collectives: of the run; its finish is the caller's.
    ChromeWriter(ChromeSurvey& survey, TraceSink& sink, RunCollectives& collectives, FilePlacement placement,
                 std::int64_t fileSize);

    bool wantsHeader(std::string_view) override { return false; }
    void header(std::string_view, const JsonToken&) override {}
    void event(const ChromeEvent& event) override;
    void progress(std::int64_t read) override;

    /// Hands over what was held back and the audit. Call once, after the walk.
    TraceFacts finish(const ChromeReadReport& report);
    /// What tells of steps, in the file's times; complete after the walk.
    StepFinder& steps() { return m_steps; }
    /// Known FLOPs by what the kernels multiply.
    const ArithmeticFlops& flops() const { return m_flops; }

private:
    void slice(const ChromeEvent& event, Category category, std::int64_t ts, std::optional<std::int64_t> dur);
    void streamSlice(const ChromeEvent& event, Category category, int lane, std::int64_t ts, std::int64_t dur);
    CollectiveDetail detailOf(const ChromeEvent& event, const std::optional<Launch>& launch,
                              const NamedWork& work) const;
    void collective(const CollectiveDetail& detail, const NamedWork& work, int lane, std::int64_t ts, std::int64_t dur,
                    bool requestOnly = false);
    void request(const ChromeEvent& event, const NamedWork& work, int lane, std::int64_t ts, std::int64_t dur);
    void instant(const ChromeEvent& event, std::int64_t ts);
    void counters(const ChromeEvent& event, std::int64_t ts);
    void flow(const ChromeEvent& event, Category category, std::int64_t ts);
    void async(const ChromeEvent& event, Category category, std::int64_t ts, bool begin);
    void tellEvidence() const;
    void emit(int lane, OpId op, std::int64_t ts, std::int64_t dur, std::optional<CorrelationId> correlation = {});
    /// The event's name without JSON's escapes; valid until the next call.
    std::string_view nameOf(const ChromeEvent& event);
    OpId opOf(const ChromeEvent& event, Category category);
    Instant at(std::int64_t ts) const { return Instant{ts + m_placement.shiftNs}; }
    bool inRange(std::int64_t ts, std::int64_t dur) const;
    TrackId track(int lane);

    ChromeSurvey& m_survey;
    TraceSink& m_sink;
    RunCollectives& m_collectives;
    FilePlacement m_placement;
    std::int64_t m_fileSize;
    std::unique_ptr<TraceProducer> m_producer;
    std::vector<TrackId> m_tracks; ///< by lane
    OpNames m_names;
    NameMemo<bool> m_tellsOperands; ///< of kernels
    ChromeFacts m_facts;
    DurationPairs m_pairs;
    FlowPairs m_flows;
    AllocatorEvents m_allocator;
    StepFinder m_steps;
    std::map<std::string, CounterId, std::less<>> m_counterIds;
    std::string m_text, m_decodedName;
    ArithmeticFlops m_flops{};
    std::size_t m_nextRequest = 0; ///< of the survey's, met next
    std::int64_t m_slices = 0, m_instants = 0, m_samples = 0, m_launchFlows = 0, m_metadata = 0, m_memory = 0;
    std::int64_t m_noTime = 0, m_negative = 0, m_outOfRange = 0, m_noDuration = 0, m_unsupported = 0,
                 m_duplicateKeys = 0, m_withoutLaunch = 0, m_launchCalls = 0, m_unreadMemory = 0, m_unreadCounters = 0,
                 m_flowEvents = 0;
};

} // namespace fourwalls::importers
