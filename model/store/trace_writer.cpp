// SPDX-License-Identifier: Apache-2.0
// The writer thread and what is defined beside it.
#include "model/store/trace_writer.h"

#include "model/store/finish.h"
#include "model/store/record_intake.h"
#include "model/store/record_producer.h"
#include "model/store/recording.h"
#include "model/trace/audit_counter.h"
#include "model/trace/interner.h"

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::store {
namespace {

/// A batch larger than this is committed before its time, so that the writer's memory stays small.
constexpr std::size_t kLargestBatch = std::size_t{8} << 20;

using Clock = std::chrono::steady_clock;

std::int64_t threadCpuNs()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

struct TraceWriter::State final : ProducerHost {
    explicit State(Recording file, WriterOptions writerOptions, std::string name)
        : recording(std::move(file))
        , options(std::move(writerOptions))
        , path(std::move(name))
    {}

    std::int64_t internString(const std::string& text) override
    {
        const std::lock_guard lock(definitions);
        const auto [found, isNew] = stringIds.try_emplace(text, static_cast<std::int64_t>(strings.size()));
        if (isNew) strings.push_back(text);
        return found->second;
    }

    void wakeWriter() override
    {
        {
            const std::lock_guard lock(wake);
            pressed = true;
        }
        wakeUp.notify_one();
    }

    void addAudit(const AuditRecord& record)
    {
        for (AuditRecord& known : audits) {
            if (known.name != record.name || known.severity != record.severity) continue;
            known.count += record.count;
            auditsChanged = true;
            return;
        }
        audits.push_back(record);
        auditsChanged = true;
    }

    void run();
    void drainAll();
    void drain(WordQueue& queue);
    NewDefinitions newDefinitions();
    void commit(bool durable);
    SinkStatistics totals() const;

    // The writer thread's own.
    Recording recording;
    Batch batch;
    RecordIntake intake{batch, [this](std::int64_t id) {
                            const std::lock_guard lock(definitions);
                            return strings[static_cast<std::size_t>(id)];
                        }};
    std::size_t savedOps = 0, savedTracks = 0, savedGroups = 0, savedCounters = 0, savedStrings = 0;

    const WriterOptions options;
    const std::string path;

    std::mutex definitions; ///< guards the interners, strings and audits
    Interner<OpInfo, OpId> ops;
    Interner<TrackInfo, TrackId> tracks;
    Interner<ProcessGroupInfo, GroupId> groups;
    Interner<CounterInfo, CounterId> counters;
    std::unordered_map<std::string, std::int64_t> stringIds;
    std::vector<std::string> strings;
    std::vector<AuditRecord> audits;
    bool auditsChanged = false;

    mutable std::mutex channelsMutex;
    std::vector<std::shared_ptr<ProducerChannel>> channels;
    SinkStatistics retired; ///< of channels that are gone
    std::int64_t retiredWaits = 0, retiredDrops = 0;

    std::mutex wake;
    std::condition_variable wakeUp;
    bool pressed = false, ending = false;
    std::condition_variable settledChanged;
    std::int64_t asked = 0, settled = 0; ///< calls of settle

    std::atomic<std::int64_t> committed{0}, writerCpuNs{0};
    std::atomic<bool> failed{false};
    Status failure; ///< written by the writer thread before `failed`
    Status outOfMemory =
        Error{ErrorCode::Io, "out of memory", path, "end other programs"}; ///< made while there is memory
    bool finished = false;
    std::thread thread; ///< last: it uses everything above
};

void TraceWriter::State::run()
{
    auto nextCommit = Clock::now() + options.batchInterval;
    auto nextSync = Clock::now() + options.syncInterval;
    while (true) {
        bool last = false;
        std::int64_t asks = 0;
        {
            std::unique_lock lock(wake);
            wakeUp.wait_until(lock, nextCommit, [this] { return pressed || ending; });
            pressed = false;
            last = ending;
            asks = asked;
        }
        try {
            drainAll();
            const auto now = Clock::now();
            if (last || asks > settled || now >= nextCommit || batch.bytes() >= kLargestBatch) {
                const bool durable = now >= nextSync; // ending a trace has its own
                commit(durable);
                nextCommit = now + options.batchInterval;
                if (durable) nextSync = now + options.syncInterval;
            }
        } catch (const std::bad_alloc&) {
            batch = {};
            if (!failed) failure = std::move(outOfMemory);
            failed = true; // producers go on, and what they hand over is dropped
        }
        writerCpuNs.store(threadCpuNs(), std::memory_order_relaxed);
        if (asks > settled) {
            const std::lock_guard lock(wake);
            settled = asks;
            settledChanged.notify_all();
        }
        if (last) return;
    }
}

void TraceWriter::State::drainAll()
{
    std::vector<std::shared_ptr<ProducerChannel>> current;
    {
        const std::lock_guard lock(channelsMutex);
        current = channels;
    }
    for (const auto& channel : current) {
        const bool closed = channel->queue.closed(); // asked first: what came before closing is then visible
        drain(channel->queue);
        if (!closed) continue;
        const std::lock_guard lock(channelsMutex);
        retired.events += channel->events;
        retired.waiting.ns += channel->waitingNs;
        retiredWaits += channel->waits;
        retiredDrops += channel->dropped;
        std::erase(channels, channel);
    }
}

void TraceWriter::State::drain(WordQueue& queue)
{
    WordQueue::Reader in = queue.read();
    std::int64_t taken = 0;
    while (!in.atEnd()) {
        const WordHead head(in.next());
        intake.take(head, in);
        // Producers get space back early, and one queue cannot grow the batch without bound.
        if ((++taken & 0xfff) != 0) continue;
        queue.release(in);
        if (batch.bytes() >= kLargestBatch) commit(false);
    }
    queue.release(in);
}

NewDefinitions TraceWriter::State::newDefinitions()
{
    NewDefinitions fresh;
    const std::lock_guard lock(definitions);
    const auto takeNew = [](const auto& items, std::size_t& saved, std::size_t& first, auto& to) {
        first = saved;
        to.assign(items.begin() + static_cast<std::ptrdiff_t>(saved), items.end());
        saved = items.size();
    };
    takeNew(ops.items(), savedOps, fresh.firstOp, fresh.ops);
    takeNew(tracks.items(), savedTracks, fresh.firstTrack, fresh.tracks);
    takeNew(groups.items(), savedGroups, fresh.firstGroup, fresh.groups);
    takeNew(counters.items(), savedCounters, fresh.firstCounter, fresh.counters);
    takeNew(strings, savedStrings, fresh.firstString, fresh.strings);
    if (std::exchange(auditsChanged, false)) fresh.audit = audits;
    return fresh;
}

void TraceWriter::State::commit(bool durable)
{
    if (failed) { // nobody waits for a full queue that is never emptied
        batch = {};
        return;
    }
    const std::int64_t rows = batch.rows();
    if (Status status = recording.commit(newDefinitions(), batch, durable); !status.ok()) {
        failure = status;
        failed = true;
        return;
    }
    committed.fetch_add(rows, std::memory_order_release);
}

SinkStatistics TraceWriter::State::totals() const
{
    const std::lock_guard lock(channelsMutex);
    SinkStatistics sum = retired;
    for (const auto& channel : channels) {
        sum.events += channel->events.load(std::memory_order_relaxed);
        sum.waiting.ns += channel->waitingNs.load(std::memory_order_relaxed);
    }
    sum.writerCpu.ns = writerCpuNs.load(std::memory_order_relaxed);
    return sum;
}

TraceWriter::TraceWriter(std::unique_ptr<State> state) : m_state(std::move(state)) {}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path, const TraceHeader& header,
                                                         WriterOptions options)
{
    FOURWALLS_TRY_ASSIGN(Recording recording, Recording::create(path, header));
    auto state = std::make_unique<State>(std::move(recording), std::move(options), path);
    state->thread = std::thread([raw = state.get()] { raw->run(); });
    return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(state)));
}

namespace {

template <class StateType>
void endThread(StateType& state)
{
    if (!state.thread.joinable()) return;
    {
        const std::lock_guard lock(state.wake);
        state.ending = true;
    }
    state.wakeUp.notify_one();
    state.thread.join();
}

} // namespace

TraceWriter::~TraceWriter()
{
    endThread(*m_state);
}

OpId TraceWriter::defineOp(const OpInfo& info)
{
    const std::lock_guard lock(m_state->definitions);
    return m_state->ops.intern(info);
}

TrackId TraceWriter::defineTrack(const TrackInfo& info)
{
    const std::lock_guard lock(m_state->definitions);
    return m_state->tracks.intern(info);
}

GroupId TraceWriter::defineGroup(const ProcessGroupInfo& info)
{
    const std::lock_guard lock(m_state->definitions);
    return m_state->groups.intern(info);
}

CounterId TraceWriter::defineCounter(const CounterInfo& info)
{
    const std::lock_guard lock(m_state->definitions);
    return m_state->counters.intern(info);
}

std::unique_ptr<TraceProducer> TraceWriter::openProducer()
{
    auto channel = std::make_shared<ProducerChannel>(m_state->options.queueBytes);
    {
        const std::lock_guard lock(m_state->channelsMutex);
        m_state->channels.push_back(channel);
    }
    return std::make_unique<RecordProducer>(*m_state, std::move(channel), m_state->options.whenFull);
}

void TraceWriter::audit(const AuditRecord& record)
{
    const std::lock_guard lock(m_state->definitions);
    m_state->addAudit(record);
}

SinkStatistics TraceWriter::statistics() const
{
    return m_state->totals();
}

void TraceWriter::settle()
{
    std::unique_lock lock(m_state->wake);
    if (m_state->ending) return;
    const std::int64_t own = ++m_state->asked;
    m_state->pressed = true;
    m_state->wakeUp.notify_one();
    m_state->settledChanged.wait(lock, [this, own] { return m_state->settled >= own; });
}

std::int64_t TraceWriter::recordsCommitted() const
{
    return m_state->committed.load(std::memory_order_acquire);
}

Status TraceWriter::finish(const TraceClosing& closing)
{
    State& state = *m_state;
    if (std::exchange(state.finished, true))
        return Error{ErrorCode::Internal, "the trace was finished twice", state.path, ""};
    endThread(state);
    std::int64_t waits = 0, drops = 0;
    {
        const std::lock_guard lock(state.channelsMutex);
        waits = state.retiredWaits;
        drops = state.retiredDrops;
        for (const auto& channel : state.channels) {
            waits += channel->waits;
            drops += channel->dropped;
        }
    }
    auditCount(*this, AuditCounter::QueueFullWaits, waits);
    auditCount(*this, AuditCounter::QueueFullDrops, drops);
    auditCount(*this, AuditCounter::InvalidRecords, state.intake.invalidRecords(),
               "undefined ids, times out of range or ends before starts");
    state.commit(false);
    if (state.failed) return state.failure;
    FOURWALLS_TRY(state.recording.close(closing));
    return finishInPlace(state.path, {state.options.finishProgress, state.options.finishStop, true});
}

} // namespace fourwalls::store
