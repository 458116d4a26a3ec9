// SPDX-License-Identifier: Apache-2.0
// Keys, names, kinds and order of lanes.
#include "model/import/common/lane_index.h"

#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace fourwalls::importers {

namespace {

std::string withoutTrailingSpace(std::string text)
{
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

/// A process name may be a whole command line, whose arguments are nobody's business.
std::string programOf(const std::string& name)
{
    const std::size_t dash = name.find(" -");
    const std::size_t equals = name.find('=');
    std::size_t cut = std::min(dash, name.size());
    if (equals < cut) cut = std::min(cut, name.find(' '));
    return withoutTrailingSpace(name.substr(0, std::min<std::size_t>(cut, 100)));
}

} // namespace

void LaneIndex::makeKey(LaneRole role, std::string_view pid, std::string_view tid)
{
    m_key.assign(1, static_cast<char>('a' + static_cast<int>(role)));
    m_key.append(pid);
    m_key.push_back('\0');
    m_key.append(tid);
}

bool LaneIndex::isLane(int lane, LaneRole role, std::string_view pid, std::string_view tid) const
{
    if (lane < 0) return false;
    const Lane& known = m_lanes[static_cast<std::size_t>(lane)];
    return known.role == role && known.tid == tid && known.pid == pid;
}

int LaneIndex::known(LaneRole role, std::string_view pid, std::string_view tid)
{
    int& recent = m_recent[recentSlot(role, tid)];
    if (isLane(recent, role, pid, tid)) return recent;
    makeKey(role, pid, tid);
    const auto found = m_byKey.find(m_key);
    return found == m_byKey.end() ? -1 : (recent = found->second);
}

int LaneIndex::find(LaneRole role, std::string_view pid, std::string_view tid)
{
    int& recent = m_recent[recentSlot(role, tid)];
    if (isLane(recent, role, pid, tid)) return recent;
    makeKey(role, pid, tid);
    const auto [found, isNew] = m_byKey.try_emplace(m_key, static_cast<int>(m_lanes.size()));
    if (isNew) m_lanes.push_back({role, std::string(pid), std::string(tid), {}});
    return recent = found->second;
}

void LaneIndex::nameThread(std::string_view pid, std::string_view tid, std::string name)
{
    m_threadNames.insert_or_assign({std::string(pid), std::string(tid)}, std::move(name));
}

std::string LaneIndex::threadName(std::string_view pid, std::string_view tid) const
{
    const auto found = m_threadNames.find({std::string(pid), std::string(tid)});
    return found != m_threadNames.end() ? found->second : "thread " + std::string(tid);
}

TrackKind LaneIndex::kindOf(const Lane& lane) const
{
    switch (lane.role) {
    case LaneRole::Stream: {
        const auto* const most = std::max_element(std::begin(lane.work), std::end(lane.work));
        const auto work = static_cast<Work>(most - std::begin(lane.work));
        return work == Work::Compute         ? TrackKind::ComputeStream
               : work == Work::Communication ? TrackKind::CommStream
                                             : TrackKind::CopyStream;
    }
    case LaneRole::Annotations:
    case LaneRole::DeviceRanges:
    case LaneRole::Synchronisation: return TrackKind::Markers;
    case LaneRole::Thread:
    case LaneRole::PythonFrames: return TrackKind::CpuThread;
    case LaneRole::Async:
    case LaneRole::Profiler: break;
    }
    return TrackKind::Other;
}

std::string LaneIndex::nameOf(const Lane& lane, bool severalDevices, bool severalProcesses) const
{
    const auto stream = [&] {
        const auto named = m_threadNames.find({lane.pid, lane.tid});
        const auto process = m_processNames.find(lane.pid);
        if (m_keepStreamNames && process != m_processNames.end()) {
            const std::string own = named != m_threadNames.end() ? withoutTrailingSpace(named->second) : lane.tid;
            return process->second == "Ascend Hardware" ? own : process->second + ": " + own;
        }
        std::string number =
            lane.tid.compare(0, 7, "stream ") == 0 ? withoutTrailingSpace(lane.tid.substr(7)) : lane.tid;
        // Waits for a whole context or device have this number.
        if (number == "4294967295" || number == "-1") number = kAllStreams;
        return (severalDevices ? "device " + lane.pid + " " : std::string()) +
               (number.starts_with(kAllStreams) ? "" : "stream ") + number;
    };
    const auto thread = [&] {
        const auto named = m_threadNames.find({lane.pid, lane.tid});
        const std::string own =
            named != m_threadNames.end() ? withoutTrailingSpace(named->second) : "thread " + lane.tid;
        if (!severalProcesses) return own;
        const auto process = m_processNames.find(lane.pid);
        const std::string program = process == m_processNames.end() ? std::string() : programOf(process->second);
        return (program.empty() ? "process " + lane.pid : program + " " + lane.pid) + ": " + own;
    };
    switch (lane.role) {
    case LaneRole::Stream: return stream();
    case LaneRole::Annotations: return stream() + (m_keepStreamNames ? " tasks" : " annotations");
    case LaneRole::Synchronisation: return stream() + " waits";
    case LaneRole::Thread: return thread();
    case LaneRole::PythonFrames: return thread() + " frames";
    case LaneRole::Async: return "async " + (lane.tid.empty() ? "events" : lane.tid);
    case LaneRole::Profiler: return "profiler";
    case LaneRole::DeviceRanges: return lane.tid;
    }
    return lane.tid;
}

std::vector<TrackId> LaneIndex::defineTracks(TraceSink& sink, RankId rank) const
{
    std::set<std::string_view> devices, processes;
    for (const Lane& lane : m_lanes) {
        if (lane.role == LaneRole::Stream || lane.role == LaneRole::Annotations) devices.insert(lane.pid);
        if (lane.role == LaneRole::Thread || lane.role == LaneRole::PythonFrames) processes.insert(lane.pid);
    }
    // Streams on top, then threads, each by number where it is one.
    const auto rowOf = [](LaneRole role) {
        switch (role) {
        case LaneRole::Annotations:
        case LaneRole::DeviceRanges: return 0;
        case LaneRole::Stream: return 1;
        case LaneRole::Thread: return 2;
        case LaneRole::PythonFrames: return 3;
        case LaneRole::Synchronisation: return 4;
        case LaneRole::Async: return 5;
        case LaneRole::Profiler: break;
        }
        return 6;
    };
    const auto key = [&](std::size_t i) {
        const Lane& lane = m_lanes[i];
        return std::make_tuple(rowOf(lane.role), integerFromText(lane.pid).value_or(INT64_MAX),
                               integerFromText(lane.tid).value_or(INT64_MAX), std::string_view(lane.tid), i);
    };
    std::vector<std::size_t> order(m_lanes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });

    std::vector<TrackId> tracks(m_lanes.size());
    std::set<std::string> used;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const Lane& lane = m_lanes[order[place]];
        std::string name = nameOf(lane, devices.size() > 1, processes.size() > 1).substr(0, 200);
        // Two lanes of one name would become one track.
        if (!used.insert(name).second) {
            name += " (" + lane.pid.substr(0, 100) + "/" + lane.tid.substr(0, 100) + ")";
            while (!used.insert(name).second) name += "'";
        }
        tracks[order[place]] = sink.defineTrack({rank, kindOf(lane), name, static_cast<int>(place)});
    }
    return tracks;
}

} // namespace fourwalls::importers
