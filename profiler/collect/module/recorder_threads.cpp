// SPDX-License-Identifier: Apache-2.0
// The recording's two threads. The writer turns what was queued into records of the spool; it alone touches the file.
// The sampler flushes CUPTI, samples devices and clocks, and does what signal handlers may not.
#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <signal.h>

namespace fourwalls::collect::module {

namespace {

constexpr int kTickMs = 200; // a kill loses no more of the program's own events
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;
constexpr std::int64_t kClockJumpNs = 1'000'000;

} // namespace

void* Recorder::writerBody(void* recorder)
{
    static_cast<Recorder*>(recorder)->write();
    return nullptr;
}

void Recorder::write()
{
    const RecordTexts kept(
        [](void* raw, const char* address) {
            static_cast<RawKeeper*>(raw)->keepText(address);
            return address;
        },
        &m_raw);
    ActivityRecords activities(m_cupti.library(), m_cupti.filter(), m_sink, m_raw.on() ? kept : RecordTexts());
    activities.skip(&m_skipped);
    watchSpool();
    bool last = false;
    while (!last) {
        m_writerAlarm.wait(kTickMs);
        last = m_writerEnds.load(); // read before the queues: what was queued before the end is written
        activities.ignoreThread(m_samplerThread.load());
        EventChunk* chunk = m_queue.takeAll();
        m_definitions.writeNew(m_sink);
        while (chunk != nullptr) {
            for (std::size_t at = 0; at < chunk->filled;) {
                QueuedEvent event;
                std::memcpy(&event, chunk->bytes + at, sizeof event);
                m_sink.addEvent(event, chunk->bytes + at + sizeof event);
                at += event.bytes;
            }
            EventChunk* const next = chunk->next;
            m_queue.release(chunk);
            chunk = next;
        }
        writeBuffers(activities);
        chooseDetail(activities);
        watchGraphs(activities);
        if (activities.suspiciousTimes() > m_suspiciousSaid * 10) {
            m_suspiciousSaid = activities.suspiciousTimes();
            m_sink.addMessage(
                MessageCode::TimesSuspicious, Severity::Warning, static_cast<std::int64_t>(m_suspiciousSaid),
                "CUPTI gave records without times or with their end before their start; if they are many, "
                "lower or raise FOURWALLS_POOL_LIMIT or record fewer steps");
        }
        writeStatus();
        if (last) writeEnd(m_endReason);
        const int error = m_file.flush();
        if (error != 0 && m_fileError == 0) {
            m_fileError = error;
            std::fprintf(stderr, "fourwalls: %s cannot be written any more (%s): the rest is not recorded\n", m_path,
                         std::strerror(error));
            giveUp(EndReason::WriteFailed);
        }
    }
    m_file.close();
}

void Recorder::writeBuffers(ActivityRecords& activities)
{
    for (FilledBuffer buffer = m_pool.nextFilled(); buffer.bytes != nullptr; buffer = m_pool.nextFilled()) {
        if (m_raw.on()) m_raw.keep(buffer, m_cupti.library().version);
        activities.convert(buffer);
        m_pool.release(buffer);
    }
    if (const char* problem = m_raw.takeProblem()) {
        m_sink.addMessage(MessageCode::Other, Severity::Warning, 0, problem);
    }
}

void Recorder::writeStatus()
{
    const std::uint64_t lost = m_queue.lost();
    if (lost > m_lostEvents) m_sink.lose(LossKind::QueueFull, lost - m_lostEvents);
    m_lostEvents = lost;
    if (const std::uint64_t refused = m_refusedBuffers.exchange(0)) m_sink.lose(LossKind::BufferRefused, refused);
    if (const std::uint64_t dropped = m_cupti.takeDropped() + m_discardedRecords.exchange(0)) {
        m_sink.lose(LossKind::CuptiDropped, dropped);
    }
    m_file.noteTime(realtime());
    if (!m_wrapSaid && m_file.overwrittenRecords() > 0) {
        m_wrapSaid = true;
        m_sink.addMessage(MessageCode::RingWrapped, Severity::Info,
                          static_cast<std::int64_t>(m_file.overwrittenUntil()),
                          "the spool reached FOURWALLS_MAX_BYTES: the oldest events are overwritten from here on");
    }
    const std::uint64_t now = monotonic();
    const bool due = now >= m_nextStatus;
    if (due || (m_settings.spoolLimit != 0 && m_file.bytes() >= m_settings.spoolLimit)) watchSpool();
    if (!due && !m_writerEnds.load()) return;
    m_nextStatus = now + kSecond;
    writeThreadCosts();
    m_sink.writeLosses();
    OwnCost cost{};
    cost.time = realtime();
    cost.callbackNs = callbackNs.load(std::memory_order_relaxed);
    cost.callbacks = callbacks.load(std::memory_order_relaxed);
    cost.writerCpuNs = threadCpu();
    cost.flushNs = m_flushNs.load(std::memory_order_relaxed);
    cost.records = m_file.records();
    cost.written = m_file.bytes();
    cost.bufferBytes = m_pool.peakBytes();
    cost.queuePeak = m_queue.peakBytes() + cost.bufferBytes;
    m_sink.add(RecordKind::OwnCost, cost);
}

void Recorder::writeEnd(EndReason reason)
{
    if (m_file.overwrittenRecords() > 0) {
        m_sink.lose(LossKind::RingOverwritten, m_file.overwrittenRecords(), m_file.overwrittenBytes());
        m_sink.addMessage(MessageCode::RingWrapped, Severity::Info,
                          static_cast<std::int64_t>(m_file.overwrittenUntil()),
                          "events before this time were overwritten by younger ones");
        m_sink.writeLosses();
    }
    End end{};
    end.time = realtime();
    end.records = m_file.records();
    end.reason = static_cast<std::uint32_t>(reason);
    m_sink.add(RecordKind::End, end);
}

void* Recorder::samplerBody(void* recorder)
{
    static_cast<Recorder*>(recorder)->sample();
    static_cast<Recorder*>(recorder)->m_samplerEnded.store(true);
    return nullptr;
}

void Recorder::sample()
{
    m_samplerThread.store(threadId());
    const int period = m_settings.sampleMs > 0 ? std::min(m_settings.sampleMs, kTickMs) : kTickMs;
    sampleClock();
    while (!m_samplerEnds.load()) {
        m_samplerAlarm.wait(period);
        m_samplerCpuNs.store(threadCpu(), std::memory_order_relaxed);
        if (handleSignals() || handleEnd()) return;
        if (m_toLow.exchange(false)) m_cupti.setDetail(Detail::Low);
        if (m_toWholeGraphs.exchange(false)) m_cupti.recordWholeGraphs();
        if (m_cudaSeen.load()) m_devices.leaveCapturesAlone();
        disableWhenDrained();
        const std::uint64_t now = monotonic();
        if (now >= m_nextFlush) {
            m_nextFlush = now + kTickMs * kMs;
            m_cupti.flush(false);
            watchCupti(now);
            m_flushNs.fetch_add(monotonic() - now, std::memory_order_relaxed);
        }
        if (now >= m_nextClock) sampleClock();
        noteChildren();
        if (now >= m_nextNames) {
            m_nextNames = now + kSecond;
            m_threadNames.look();
        }
        if (m_settings.sampleMs > 0 && m_settings.parts.nvml && now >= m_nextSample) {
            m_nextSample = now + static_cast<std::uint64_t>(m_settings.sampleMs) * kMs;
            describeDevices();
            if (!capturing()) continue;
            NvmlSample samples[DeviceSampler::kMostDevices];
            const std::size_t count = m_devices.sample(samples, DeviceSampler::kMostDevices);
            for (std::size_t i = 0; i < count; ++i) push(RecordKind::NvmlSample, samples[i]);
            if (m_devices.isNotListed() && !m_notListedSaid) {
                m_notListedSaid = true;
                message(MessageCode::NvmlMissing, Severity::Info, 0,
                        "NVML knows this process by another number (a container?): memory in use is that of the whole "
                        "GPU");
            }
            sayLostDevice();
        }
    }
    noteChildren();
    m_threadNames.look();
    sampleClock();
}

void Recorder::sayLostDevice()
{
    if (m_lostSaid || m_devices.lost() < 0) return;
    m_lostSaid = true;
    char text[192];
    std::snprintf(text, sizeof text,
                  "GPU %d is lost, as NVML says (it has fallen off the bus): nothing more of it is sampled; the "
                  "system's log has the reason (dmesg, Xid)",
                  m_devices.lost());
    message(MessageCode::DeviceLost, Severity::Error, m_devices.lost(), text);
}

void Recorder::describeDevices()
{
    const std::uint64_t now = monotonic();
    if (now < m_nextMemory || !m_cudaSeen.load()) return;
    m_nextMemory = now + kSecond;
    if (!m_devicesKnown && m_devices.driverVersion() != 0) {
        m_devicesKnown = true;
        const char* problem = nullptr;
        if (!m_devices.begin(&problem)) message(MessageCode::NvmlMissing, Severity::Warning, 0, problem);
        char text[128];
        std::snprintf(text, sizeof text, "collector %s, CUDA driver %d, CUPTI %u", FOURWALLS_VERSION,
                      m_devices.driverVersion(), m_cupti.library().version);
        message(MessageCode::Versions, Severity::Info, m_devices.driverVersion(), text);
    }
    m_devices.findDevices();
    MemoryInfo infos[DeviceSampler::kMostDevices];
    const std::size_t count = m_devices.memory(infos, DeviceSampler::kMostDevices);
    for (std::size_t i = 0; i < count; ++i) push(RecordKind::MemoryInfo, infos[i]);
}

void Recorder::sampleClock()
{
    ClockPair pair{};
    pair.realtime = realtime();
    pair.monotonic = monotonic();
    pair.cupti = m_cupti.timestamp();
    pair.uncertainty = monotonic() - pair.monotonic;
    push(RecordKind::ClockPair, pair);
    m_nextClock = pair.monotonic + kSecond;

    const auto offset = static_cast<std::int64_t>(pair.realtime - pair.monotonic);
    const std::int64_t jump = offset - m_clockOffset;
    if (m_clockOffset != 0 && (jump > kClockJumpNs || jump < -kClockJumpNs)) {
        message(MessageCode::ClockSet, Severity::Warning, jump, "the machine's clock was set while it recorded");
    }
    m_clockOffset = offset;
}

void Recorder::noteChildren()
{
    constexpr std::uint32_t kMostSaid = 32;
    for (const std::uint32_t forked = childrenForked(); m_childrenSeen < forked; ++m_childrenSeen) {
        if (m_childrenSeen > kMostSaid) continue;
        const bool more = m_childrenSeen == kMostSaid;
        message(MessageCode::Fork, Severity::Info, more ? 0 : childPid(m_childrenSeen),
                more ? "more children were forked; they are not said one by one"
                     : "the process forked a child; it is not recorded unless it initialises CUDA itself");
    }
}

bool Recorder::handleEnd()
{
    const std::uint32_t reason = m_giveUp.load();
    if (reason == 0) return false;
    stop(static_cast<EndReason>(reason), MessageCode::Other, 0);
    return true;
}

bool Recorder::handleSignals()
{
    if (m_toggle.exchange(false)) capture(!capturing(), WindowReason::Signal);
    const int number = m_pendingSignal.exchange(0);
    if (number == 0) return false;
    stop(EndReason::Signal, MessageCode::Terminated, number);
    resendSignal(number);
    return true;
}

} // namespace fourwalls::collect::module
