// SPDX-License-Identifier: Apache-2.0
// The sink that writes a .fourwalls file: a lock-free queue per producer, one writer thread that commits small
// batches while recording, and a finish that turns the recording into the final database.
#pragma once

#include "model/trace/trace_sink.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace fourwalls::store {

/// What a producer does when its queue is full. Both are counted in the trace's audit.
enum class QueueFull {
    Wait, ///< the producer waits (the engine: nothing is lost; the time is reported as overhead)
    Drop  ///< the record is dropped (for a program that must never wait)
};

struct WriterOptions {
    QueueFull whenFull = QueueFull::Wait;
    std::chrono::milliseconds batchInterval{150};  ///< between commits; a kill loses at most this and one commit
    std::chrono::milliseconds syncInterval{2000};  ///< between commits that reach the disk; bounds a power loss
    std::size_t queueBytes = std::size_t{4} << 20; ///< per producer, rounded up to a power of two
    std::function<void(double)> finishProgress;    ///< called by finish with 0..1; may be empty
    std::stop_token finishStop{}; ///< finish then gives up: Cancelled, and the recording stays as it is
};

/// Writes one trace. While recording, the file at `path` is a readable recording up to its last batch; finish
/// replaces it by the finished trace. Destroying an unfinished writer leaves the recording, which opens as incomplete.
class TraceWriter final : public TraceSink {
public:
    /// Starts a recording at `path`. An existing trace there is replaced.
    /// Errors: InvalidArgument if something else than a trace lies there; Io if the file cannot be created.
    static Result<std::unique_ptr<TraceWriter>> create(const std::string& path, const TraceHeader& header,
                                                       WriterOptions options = {});
    ~TraceWriter() override;

    OpId defineOp(const OpInfo& info) override;
    TrackId defineTrack(const TrackInfo& info) override;
    GroupId defineGroup(const ProcessGroupInfo& info) override;
    CounterId defineCounter(const CounterInfo& info) override;
    std::unique_ptr<TraceProducer> openProducer() override;
    void audit(const AuditRecord& record) override;
    SinkStatistics statistics() const override;
    void settle() override;
    Status finish(const TraceClosing& closing) override;

    /// Records that a kill of this process can no longer take away.
    std::int64_t recordsCommitted() const;

private:
    struct State;
    explicit TraceWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

} // namespace fourwalls::store
