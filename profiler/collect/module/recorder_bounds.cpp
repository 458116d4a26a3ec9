// SPDX-License-Identifier: Apache-2.0
// What keeps the recording's cost within bounds: how much of each launch is recorded, the size of the spool and the room
// on its disk, and what it has cost each thread. The writer watches; what has to be switched, the sampler switches.
#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/statvfs.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

// Recording a call costs a thread 1 to 3 us: at this rate a few percent of it.
constexpr std::uint64_t kManyLaunches = 20'000;
constexpr std::uint64_t kManyLostNodes = 1'000;
constexpr std::uint64_t kQuietNs = 1'000'000'000; // CUPTI asks for no buffer and gives none back
constexpr std::uint64_t kLeftOnDisk = 1ULL << 30;

/// Free bytes of the folder's disk for this user; UINT64_MAX where the system does not say.
std::uint64_t freeBytes(const char* folder)
{
    struct statvfs disk {};
    if (statvfs(folder, &disk) != 0 || disk.f_blocks == 0) return UINT64_MAX;
    return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

} // namespace

void Recorder::chooseDetail(const ActivityRecords& activities)
{
    if (m_detailChosen || m_settings.detail != Detail::Auto) return;
    const auto& launches = activities.launches();
    if (!launches.over && launches.count < kManyLaunches) return;
    m_detailChosen = true;
    const bool low = launches.count >= kManyLaunches;
    char text[224];
    std::snprintf(text, sizeof text, "FOURWALLS_DETAIL=%s, chosen by %llu%s launches in the first second%s",
                  low ? "low" : "normal", static_cast<unsigned long long>(launches.count),
                  launches.over ? "" : " and more",
                  low ? ": calls, waits and events are not recorded one by one; normal records them" : "");
    const Detail chosen = low ? Detail::Low : Detail::Normal;
    m_sink.addMessage(MessageCode::Detail, Severity::Info, static_cast<std::int64_t>(chosen), text);
    if (!low) return;
    m_toLow.store(true);
    m_samplerAlarm.wake();
}

void Recorder::watchGraphs(const ActivityRecords& activities)
{
    const std::uint64_t lost = activities.lostNodes();
    if (m_graphsWhole || !m_settings.parts.graphNodes || lost < kManyLostNodes) return;
    m_graphsWhole = true;
    // Among several subscribers it is settled before the first kind is enabled.
    const bool locked = m_cupti.isShared();
    m_sink.addMessage(MessageCode::WholeGraphs, Severity::Warning, static_cast<std::int64_t>(lost),
                      locked ? "CUPTI loses the times of graph nodes: without graph_nodes (FOURWALLS_WITHOUT) a replay "
                               "is recorded as a whole"
                             : "CUPTI loses the times of graph nodes: from here on a replay is recorded as a whole; "
                               "without graph_nodes (FOURWALLS_WITHOUT) it is from the start");
    if (locked) return;
    m_toWholeGraphs.store(true);
    m_samplerAlarm.wake();
}

void Recorder::watchCupti(std::uint64_t now)
{
    const std::uint64_t buffers =
        m_requestedBuffers.load(std::memory_order_relaxed) + m_completedBuffers.load(std::memory_order_relaxed);
    if (buffers != m_buffersSeen || !m_cupti.active() || m_cupti.isShared() || !capturing()) {
        if (m_tookBackFor != 0 && buffers != m_buffersSeen) {
            char text[192];
            std::snprintf(text, sizeof text,
                          "another profiler had taken the GPU's records over; they were taken back, those of %.1f s "
                          "are missing",
                          static_cast<double>(m_tookBackFor) * 1e-9);
            message(MessageCode::SecondSubscriber, Severity::Warning, static_cast<std::int64_t>(m_tookBackFor), text);
            m_tookBackFor = 0;
        }
        if (m_watchingLaunches) m_cupti.watchLaunches(false);
        m_watchingLaunches = false;
        m_launchedBefore = 0;
        m_buffersSeen = buffers;
        m_quietSince = now;
        return;
    }
    if (buffers == 0 || now - m_quietSince < kQuietNs) return;
    if (!m_watchingLaunches) {
        m_watchingLaunches = true;
        m_launchedBytes.store(0);
        m_cupti.watchLaunches(true);
        return;
    }
    // Launches of which CUPTI says nothing until the next look, and for which its buffers have no room.
    const std::uint64_t before = m_launchedBefore;
    m_launchedBefore = m_launchedBytes.load();
    if (before <= m_pool.outside() * kBufferBytes) return;
    m_tookBackFor += now - m_quietSince;
    m_quietSince = now;
    m_launchedBefore = 0;
    m_launchedBytes.store(0);
    m_cupti.takeBack();
}

void Recorder::giveUp(EndReason reason)
{
    std::uint32_t none = 0;
    if (!m_giveUp.compare_exchange_strong(none, static_cast<std::uint32_t>(reason))) return;
    m_samplerAlarm.wake();
}

void Recorder::watchSpool()
{
    if (m_giveUp.load() != 0 || m_stopping.load()) return;
    const std::uint64_t disk = freeBytes(m_settings.folder);
    if (m_diskReserve == 0) m_diskReserve = std::max<std::uint64_t>(1, std::min(kLeftOnDisk, disk / 10));
    const std::uint64_t limit = m_settings.maxBytes != 0 ? 0 : m_settings.spoolLimit; // a ring has its own
    const std::uint64_t size = m_file.bytes();
    char text[256] = "";
    if (limit != 0 && size >= limit) {
        std::snprintf(
            text, sizeof text,
            "the spool has reached FOURWALLS_SPOOL_LIMIT (%llu MiB): recording stops here, the program goes on",
            static_cast<unsigned long long>(limit >> 20));
    } else if (disk < m_diskReserve) {
        std::snprintf(text, sizeof text,
                      "the spool's disk is almost full (%llu MiB left): recording stops here, the program goes on",
                      static_cast<unsigned long long>(disk >> 20));
    } else if (m_file.isOpen() && access(m_path, F_OK) != 0 && errno == ENOENT) {
        std::snprintf(text, sizeof text,
                      "the spool's folder or file was removed: recording stops, the program goes on");
    }
    if (text[0] == '\0') return;
    m_sink.addMessage(MessageCode::SpoolLimit, Severity::Warning, static_cast<std::int64_t>(size), text);
    std::fprintf(stderr, "fourwalls: [%d] %s\n", getpid(), text);
    giveUp(EndReason::Limit);
}

void Recorder::writeThreadCosts()
{
    for (std::size_t i = 0; i < kMostThreadCosts; ++i) {
        const ThreadCost& from = threadCost(i);
        const std::uint64_t calls = from.calls.load(std::memory_order_relaxed);
        if (calls == m_costsWritten[i]) continue;
        m_costsWritten[i] = calls;
        m_sink.add(RecordKind::RecorderCost, RecorderCost{realtime(), from.nanoseconds.load(std::memory_order_relaxed),
                                                          calls, from.thread.load(std::memory_order_relaxed), 0});
    }
    m_sink.add(RecordKind::RecorderCost, RecorderCost{realtime(), threadCpu(), 0, threadId(), 1});
    m_sink.add(RecordKind::RecorderCost,
               RecorderCost{realtime(), m_samplerCpuNs.load(std::memory_order_relaxed), 0, m_samplerThread.load(), 1});
}

} // namespace fourwalls::collect::module
