// SPDX-License-Identifier: Apache-2.0
// Producers, their queues and the writer thread.
#include "model/store/trace_writer.h"

#include "model/store/finish.h"
#include "model/store/record_words.h"
#include "model/store/recording.h"
#include "model/trace/interner.h"

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
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

struct TraceWriter::State {
    explicit State(Recording file, WriterOptions writerOptions, std::string name)
        : recording(std::move(file)), options(std::move(writerOptions)), path(std::move(name))
    {
    }

    class Producer;

    /// What a producer and the writer share.
    struct Channel {
        explicit Channel(std::size_t bytes) : queue(bytes) {}
        WordQueue queue;
        std::atomic<std::int64_t> events{0}, waitingNs{0}, waits{0}, dropped{0};
    };

    std::int64_t internString(const std::string& text)
    {
        const std::lock_guard lock(definitions);
        const auto [found, isNew] = stringIds.try_emplace(text, static_cast<std::int64_t>(strings.size()));
        if (isNew) strings.push_back(text);
        return found->second;
    }

    void wakeWriter()
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
    void take(const WordHead& head, WordQueue::Reader& in);
    bool keepSpan(std::int64_t start, std::int64_t duration);
    bool keepTime(std::int64_t at);
    NewDefinitions newDefinitions();
    void commit(bool durable);
    SinkStatistics totals() const;

    // The writer thread's own.
    Recording recording;
    Batch batch;
    std::int64_t invalidRecords = 0;
    std::vector<std::string> eventTexts; ///< by string id, as far as events needed them
    std::size_t savedOps = 0, savedTracks = 0, savedGroups = 0, savedCounters = 0, savedStrings = 0;
    std::int64_t rowsInBatch = 0;

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
    std::vector<std::shared_ptr<Channel>> channels;
    SinkStatistics retired; ///< of channels that are gone
    std::int64_t retiredWaits = 0, retiredDrops = 0;

    std::mutex wake;
    std::condition_variable wakeUp;
    bool pressed = false, ending = false;

    std::atomic<std::int64_t> committed{0}, writerCpuNs{0};
    std::atomic<bool> failed{false};
    Status failure; ///< written by the writer thread before `failed`
    bool finished = false;
    std::thread thread; ///< last: it uses everything above
};

class TraceWriter::State::Producer final : public TraceProducer {
public:
    Producer(State& state, std::shared_ptr<Channel> channel) : m_state(state), m_channel(std::move(channel)) {}
    ~Producer() override { m_channel->queue.close(); }
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    void slice(const SliceRecord& record) override
    {
        const auto flags = static_cast<std::uint8_t>((record.microbatch ? 1 : 0) | (record.correlation ? 2 : 0));
        WordRecord words(WordKind::Slice, static_cast<std::uint32_t>(record.track.value), flags);
        words.add(record.op.value, record.microbatch ? record.microbatch->value : 0);
        words.add(record.start.ns);
        words.add(record.duration.ns);
        if (record.correlation) words.add(record.correlation->value);
        push(words);
    }

    void allocated(RankId rank, const AllocationRecord& record) override
    {
        const auto flags = static_cast<std::uint8_t>((record.op ? 1 : 0) | (record.microbatch ? 2 : 0));
        WordRecord words(WordKind::Allocation, static_cast<std::uint32_t>(rank.value), flags,
                         static_cast<std::uint8_t>(record.category));
        words.add(record.id.value);
        words.add(record.at.ns);
        words.add(record.bytes);
        words.add(record.address);
        words.add(record.op ? record.op->value : 0, record.microbatch ? record.microbatch->value : 0);
        push(words);
    }

    void freed(RankId rank, AllocationId id, Instant at) override
    {
        WordRecord words(WordKind::Free, static_cast<std::uint32_t>(rank.value));
        words.add(id.value);
        words.add(at.ns);
        push(words);
    }

    void counter(const CounterRecord& record) override
    {
        WordRecord words(WordKind::Counter, static_cast<std::uint32_t>(record.counter.value));
        words.add(record.at.ns);
        words.add(record.value);
        push(words);
    }

    void collective(const CollectiveRecord& record) override
    {
        WordRecord words(WordKind::Collective, static_cast<std::uint32_t>(record.track.value), record.peer ? 1 : 0,
                         static_cast<std::uint8_t>(record.operation));
        words.add(record.start.ns);
        words.add(record.lastArrival.ns);
        words.add(record.end.ns);
        words.add(record.group.value, record.peer ? record.peer->value : 0);
        words.add(record.sequence);
        words.add(record.payloadBytes);
        words.add(record.wireBytes);
        words.add(static_cast<std::int32_t>(idOf(record.algorithm)), static_cast<std::int32_t>(idOf(record.protocol)));
        push(words);
    }

    void flow(const FlowRecord& record) override
    {
        WordRecord words(WordKind::Flow, static_cast<std::uint32_t>(record.fromTrack.value));
        words.add(static_cast<std::int32_t>(idOf(record.kind)), record.toTrack.value);
        words.add(record.from.ns);
        words.add(record.to.ns);
        push(words);
    }

    void step(RankId rank, const StepRecord& record) override
    {
        const auto flags = static_cast<std::uint8_t>((record.loss ? 1 : 0) | (record.learningRate ? 2 : 0) |
                                                     (record.gradientNorm ? 4 : 0) | (record.warmup ? 8 : 0));
        WordRecord words(WordKind::Step, static_cast<std::uint32_t>(rank.value), flags);
        words.add(std::int64_t{record.step.value});
        words.add(record.range.begin.ns);
        words.add(record.range.end.ns);
        words.add(record.loss.value_or(0));
        words.add(record.learningRate.value_or(0));
        words.add(record.gradientNorm.value_or(0));
        words.add(record.samples);
        words.add(record.tokens);
        push(words);
    }

    void event(const EventRecord& record) override
    {
        WordRecord words(WordKind::Event, static_cast<std::uint32_t>(record.rank ? record.rank->value : 0),
                         record.rank ? 1 : 0, static_cast<std::uint8_t>(record.kind));
        words.add(record.at.ns);
        words.add(m_state.internString(record.text));
        push(words);
    }

private:
    std::int64_t idOf(const std::string& text)
    {
        const auto known = m_strings.find(text);
        if (known != m_strings.end()) return known->second;
        return m_strings[text] = m_state.internString(text);
    }

    void push(const WordRecord& record)
    {
        WordQueue& queue = m_channel->queue;
        if (!queue.push(record.words())) {
            if (m_state.options.whenFull == QueueFull::Drop) {
                m_channel->dropped.fetch_add(1, std::memory_order_relaxed);
                m_state.wakeWriter();
                return;
            }
            waitAndPush(record);
        }
        // Relaxed load and store: only this thread writes it.
        m_channel->events.store(m_channel->events.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (queue.halfFull()) {
            if (!m_pressed) m_state.wakeWriter();
            m_pressed = true;
        } else {
            m_pressed = false;
        }
    }

    void waitAndPush(const WordRecord& record)
    {
        const auto begin = Clock::now();
        do {
            m_state.wakeWriter();
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        } while (!m_channel->queue.push(record.words()));
        const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
        m_channel->waitingNs.fetch_add(waited.count(), std::memory_order_relaxed);
        m_channel->waits.fetch_add(1, std::memory_order_relaxed);
    }

    State& m_state;
    std::shared_ptr<Channel> m_channel;
    std::unordered_map<std::string, std::int64_t> m_strings;
    bool m_pressed = false;
};

void TraceWriter::State::run()
{
    auto nextCommit = Clock::now() + options.batchInterval;
    auto nextSync = Clock::now() + options.syncInterval;
    while (true) {
        bool last = false;
        {
            std::unique_lock lock(wake);
            wakeUp.wait_until(lock, nextCommit, [this] { return pressed || ending; });
            pressed = false;
            last = ending;
        }
        drainAll();
        const auto now = Clock::now();
        if (last || now >= nextCommit || batch.bytes() >= kLargestBatch) {
            const bool durable = now >= nextSync; // ending a trace has its own
            commit(durable);
            nextCommit = now + options.batchInterval;
            if (durable) nextSync = now + options.syncInterval;
        }
        writerCpuNs.store(threadCpuNs(), std::memory_order_relaxed);
        if (last) return;
    }
}

void TraceWriter::State::drainAll()
{
    std::vector<std::shared_ptr<Channel>> current;
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
        take(head, in);
        // Producers get space back early, and one queue cannot grow the batch without bound.
        if ((++taken & 0xfff) != 0) continue;
        queue.release(in);
        if (batch.bytes() >= kLargestBatch) commit(false);
    }
    queue.release(in);
}

bool TraceWriter::State::keepSpan(std::int64_t start, std::int64_t duration)
{
    if (!validSpan(start, duration)) {
        ++invalidRecords;
        return false;
    }
    batch.cover(start, start + duration);
    return true;
}

bool TraceWriter::State::keepTime(std::int64_t at) { return keepSpan(at, 0); }

void TraceWriter::State::take(const WordHead& head, WordQueue::Reader& in)
{
    switch (head.kind) {
    case WordKind::Slice: {
        SliceRow row;
        const auto [op, microbatch] = takePair(in);
        row.op = op;
        if (head.flags & 1) row.microbatch = microbatch;
        row.start = takeInteger(in);
        row.duration = takeInteger(in);
        if (head.flags & 2) row.correlation = takeInteger(in);
        if (op < 0) ++invalidRecords;
        else if (keepSpan(row.start, row.duration)) batch.add(BatchKind::Slices, head.id, row);
        break;
    }
    case WordKind::Allocation: {
        AllocationEvent row;
        row.buffer = takeInteger(in);
        row.at = takeInteger(in);
        row.bytes = takeInteger(in);
        row.address = takeInteger(in);
        const auto [op, microbatch] = takePair(in);
        if (head.flags & 1) row.op = op;
        if (head.flags & 2) row.microbatch = microbatch;
        row.category = static_cast<MemoryCategory>(head.small);
        if (head.small >= kMemoryCategoryCount) ++invalidRecords;
        else if (keepTime(row.at)) batch.add(BatchKind::Allocations, head.id, row);
        break;
    }
    case WordKind::Free: {
        AllocationEvent row;
        row.free = true;
        row.buffer = takeInteger(in);
        row.at = takeInteger(in);
        if (keepTime(row.at)) batch.add(BatchKind::Allocations, head.id, row);
        break;
    }
    case WordKind::Counter: {
        CounterRow row;
        row.at = takeInteger(in);
        row.value = takeReal(in);
        if (keepTime(row.at)) batch.add(BatchKind::Counters, head.id, row);
        break;
    }
    case WordKind::Collective: {
        CollectiveRow row;
        row.track = head.id;
        row.operation = head.small;
        row.start = takeInteger(in);
        row.lastArrival = takeInteger(in);
        row.end = takeInteger(in);
        const auto [group, peer] = takePair(in);
        row.group = group;
        if (head.flags & 1) row.peer = peer;
        row.sequence = takeInteger(in);
        row.payloadBytes = takeInteger(in);
        row.wireBytes = takeInteger(in);
        const auto [algorithm, protocol] = takePair(in);
        row.algorithm = algorithm;
        row.protocol = protocol;
        if (group < 0 || row.track < 0 || !validTime(row.end) || !validTime(row.lastArrival)) ++invalidRecords;
        else if (keepSpan(row.start, row.end - row.start)) batch.add(BatchKind::Collectives, head.id, row);
        break;
    }
    case WordKind::Flow: {
        FlowRow row;
        row.fromTrack = head.id;
        const auto [kind, toTrack] = takePair(in);
        row.kind = kind;
        row.toTrack = toTrack;
        row.from = takeInteger(in);
        row.to = takeInteger(in);
        if (row.fromTrack < 0 || toTrack < 0 || !validTime(row.from) || !validTime(row.to)) ++invalidRecords;
        else batch.add(BatchKind::Flows, 0, row);
        break;
    }
    case WordKind::Step: {
        StepRecord row;
        row.step = StepIndex(static_cast<std::int32_t>(takeInteger(in)));
        row.range.begin.ns = takeInteger(in);
        row.range.end.ns = takeInteger(in);
        const double loss = takeReal(in), rate = takeReal(in), norm = takeReal(in);
        if (head.flags & 1) row.loss = loss;
        if (head.flags & 2) row.learningRate = rate;
        if (head.flags & 4) row.gradientNorm = norm;
        row.warmup = (head.flags & 8) != 0;
        row.samples = takeInteger(in);
        row.tokens = takeInteger(in);
        if (!validTime(row.range.begin.ns) || !validTime(row.range.end.ns)) ++invalidRecords;
        else if (keepSpan(row.range.begin.ns, row.range.length().ns)) batch.add(BatchKind::Steps, head.id, row);
        break;
    }
    case WordKind::Event: {
        EventRow row;
        row.kind = head.small;
        if (head.flags & 1) row.rank = head.id;
        row.at = takeInteger(in);
        const std::int64_t text = takeInteger(in);
        {
            const std::lock_guard lock(definitions);
            row.text = strings[static_cast<std::size_t>(text)];
        }
        if (keepTime(row.at)) batch.add(BatchKind::Events, 0, row);
        break;
    }
    }
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

TraceWriter::~TraceWriter() { endThread(*m_state); }

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
    auto channel = std::make_shared<State::Channel>(m_state->options.queueBytes);
    {
        const std::lock_guard lock(m_state->channelsMutex);
        m_state->channels.push_back(channel);
    }
    return std::make_unique<State::Producer>(*m_state, std::move(channel));
}

void TraceWriter::audit(const AuditRecord& record)
{
    const std::lock_guard lock(m_state->definitions);
    m_state->addAudit(record);
}

SinkStatistics TraceWriter::statistics() const { return m_state->totals(); }

std::int64_t TraceWriter::recordsCommitted() const { return m_state->committed.load(std::memory_order_acquire); }

Status TraceWriter::finish(const TraceClosing& closing)
{
    State& state = *m_state;
    if (std::exchange(state.finished, true))
        return Error{ErrorCode::Internal, "the trace was finished twice", state.path, ""};
    endThread(state);
    const auto count = [&](const char* name, AuditSeverity severity, std::int64_t events, const char* detail) {
        if (events > 0) audit({name, severity, events, detail});
    };
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
    count("queue_full_waits", AuditSeverity::Info, waits, "a producer waited for the writer");
    count("queue_full_drops", AuditSeverity::Dropped, drops, "records lost because the writer was busy");
    count("invalid_records", AuditSeverity::Skipped, state.invalidRecords,
          "undefined ids, times out of range or ends before starts");
    state.commit(false);
    if (state.failed) return state.failure;
    FOURWALLS_TRY(state.recording.close(closing));
    return finishInPlace(state.path, {state.options.finishProgress, {}, true});
}

} // namespace fourwalls::store
