// SPDX-License-Identifier: Apache-2.0
// See xspace_names.h. Messages and field numbers: xplane.proto of tsl (openxla/xla).
#include "model/import/xspace/xspace_names.h"

#include <algorithm>
#include <array>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestXName = 4096; ///< of an event; a TPU's are whole lines of HLO
constexpr std::size_t kLongestStat = 1000;
constexpr std::size_t kMostXNames = 1'000'000;
constexpr std::size_t kMostXNameBytes = std::size_t{512} << 20;
constexpr std::size_t kBytesOfEntry = 200;                            ///< that a name takes beside its text
constexpr std::size_t kMostXPlanes = 10'000, kMostXLines = 1'000'000; ///< lines: of all planes
constexpr std::size_t kMostPendingBytes = std::size_t{64} << 20;

XStat statOf(std::string_view name)
{
    using Row = std::pair<std::string_view, XStat>;
    static constexpr std::array<Row, 11> kTable{{{"correlation_id", XStat::Correlation},
                                                 {"step_num", XStat::StepNumber},
                                                 {"hlo_op", XStat::HloOp},
                                                 {"hlo_module", XStat::HloModule},
                                                 {"hlo_category", XStat::HloCategory},
                                                 {"kernel_details", XStat::KernelDetails},
                                                 {"memcpy_details", XStat::MemcpyDetails},
                                                 {"device_vendor", XStat::DeviceVendor},
                                                 {"memory_size", XStat::MemorySize},
                                                 {"profile_start_time", XStat::StartTime},
                                                 {"jax_version", XStat::JaxVersion}}};
    for (const auto& [known, stat] : kTable)
        if (known == name) return stat;
    return XStat::Other;
}

XNameKind nameKindOf(std::string_view name)
{
    if (xStarts(name, "$")) return XNameKind::PythonFunction;
    if (xStarts(name, "Memcpy")) return XNameKind::Copy;
    if (xStarts(name, "Memset")) return XNameKind::Set;
    const bool driver = xStarts(name, "cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z';
    return driver || xStarts(name, "hip") || xStarts(name, "cuda") ? XNameKind::Call : XNameKind::Plain;
}

/// An entry of a map: a key and a message.
template <class Read>
std::int64_t readEntry(ProtobufReader& in, Read&& read)
{
    std::int64_t key = 0;
    in.enter();
    while (in.next()) {
        if (in.field() == 1) key = in.integer();
        if (in.field() != 2 || !in.isMessage()) continue;
        in.enter();
        while (in.next()) read();
        in.leave();
    }
    in.leave();
    return key;
}

void readStat(ProtobufReader& in, std::vector<XRawStat>& stats)
{
    XRawStat stat;
    readRawStat(in, stat);
    if (stats.size() < 1000) stats.push_back(std::move(stat));
}

} // namespace

bool xStarts(std::string_view text, std::string_view with)
{
    return text.substr(0, with.size()) == with;
}

namespace {

template <class Fields>
void readStatFields(Fields& in, XRawStat& stat)
{
    stat.id = stat.number = 0;
    stat.reference = false;
    stat.text.clear();
    while (in.next()) {
        switch (in.field()) {
        case 1: stat.id = in.integer(); break;
        case 2: stat.number = static_cast<std::int64_t>(std::clamp(in.real(), -9e18, 9e18)); break;
        case 3:
        case 4: stat.number = in.integer(); break;
        case 5: in.text(stat.text, kLongestStat); break;
        case 7:
            stat.number = in.integer();
            stat.reference = true;
            break;
        default: break;
        }
    }
}

} // namespace

void readRawStat(ProtobufReader& in, XRawStat& stat)
{
    in.enter();
    readStatFields(in, stat);
    in.leave();
}

void readRawStat(ProtobufMessage& in, XRawStat& stat)
{
    ProtobufMessage fields(in.bytes());
    readStatFields(fields, stat);
    in.end(fields);
}

std::string_view xTextOf(const XPlane& plane, const XRawStat& stat)
{
    if (!stat.reference) return stat.text;
    const StatName* const name = plane.stat(stat.number);
    return name ? std::string_view(name->name) : std::string_view();
}

Status XSpaceNames::read(const std::string& path, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(std::unique_ptr<ByteSource> source, openByteSource(path));
    ProtobufReader in(std::move(source), path);
    while (in.next()) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", path, ""};
        if (in.field() == 2) ++errors;
        if (in.field() != 1 || !in.isMessage()) continue;
        if (planes.size() >= kMostXPlanes) {
            ++namesLeftOut;
            continue;
        }
        planes.emplace_back();
        readPlane(in, planes.back());
    }
    if (in.damaged()) return in.error();
    return {};
}

void XSpaceNames::readPlane(ProtobufReader& in, XPlane& plane)
{
    m_pendingStats.clear();
    m_pendingBytes = 0;
    in.enter();
    while (in.next()) {
        if (!in.isMessage()) continue;
        switch (in.field()) {
        case 2: in.text(plane.name, 200); break;
        case 3: readLineHead(in, plane); break;
        case 4: readEventName(in, plane); break;
        case 5: readStatName(in, plane); break;
        case 6:
            if (roomForName(plane, kLongestStat)) readStat(in, m_statsOfPlane[planes.size() - 1]);
            break;
        default: break;
        }
    }
    in.leave();
    // Descriptions of stats may stand behind those of events.
    for (const auto& [event, stat] : m_pendingStats) {
        const StatName* const name = plane.stat(stat.id);
        if (!name || name->stat != XStat::HloCategory) continue;
        if (EventName* const found = plane.events.find(event)) found->category = xTextOf(plane, stat);
    }
    plane.events.each([](EventName& event) {
        event.work = hloWork(event.name, event.category);
        if (event.work == HloWork::Communication) event.collective = hloCollective(event.name);
        // The text has done its work: what is shown is the operation's name.
        if (xStarts(event.name, "%")) event.name = event.name.substr(1, event.name.find(" = ") - 1);
        event.kind = nameKindOf(event.name);
    });
}

void XSpaceNames::readLineHead(ProtobufReader& in, XPlane& plane)
{
    XLine line;
    std::string display;
    in.enter();
    while (in.next()) {
        switch (in.field()) {
        case 1: line.id = in.integer(); break;
        case 2: in.text(line.name, 200); break;
        case 3: line.startNs = in.integer(); break;
        case 11: in.text(display, 200); break;
        default: break;
        }
    }
    in.leave();
    if (line.name.empty()) line.name = display;
    if (++m_lines <= kMostXLines)
        plane.lines.push_back(std::move(line));
    else
        ++namesLeftOut;
}

bool XSpaceNames::roomForName(const XPlane& plane, std::size_t bytes)
{
    m_nameBytes += bytes + kBytesOfEntry;
    if (plane.events.size() + plane.stats.size() < kMostXNames && m_nameBytes < kMostXNameBytes) return true;
    ++namesLeftOut;
    return false;
}

void XSpaceNames::readEventName(ProtobufReader& in, XPlane& plane)
{
    EventName event;
    std::string display;
    const std::size_t firstStat = m_pendingStats.size();
    const std::int64_t id = readEntry(in, [&] {
        if (in.field() == 2) in.text(event.name, kLongestXName);
        if (in.field() == 4) in.text(display, kLongestXName);
        if (in.field() != 5 || !in.isMessage()) return;
        XRawStat stat;
        readRawStat(in, stat);
        if (stat.number == 0 && stat.text.empty()) return;
        m_pendingBytes += stat.text.size() + sizeof stat;
        if (m_pendingBytes < kMostPendingBytes)
            m_pendingStats.emplace_back(0, std::move(stat));
        else
            ++namesLeftOut;
    });
    for (std::size_t i = firstStat; i < m_pendingStats.size(); ++i) m_pendingStats[i].first = id;
    // Of a kernel both are its name; of an operation of HLO the name is its text, which says more.
    if (event.name.empty()) event.name = std::move(display);
    if (roomForName(plane, event.name.size())) plane.events.set(id, std::move(event));
}

void XSpaceNames::readStatName(ProtobufReader& in, XPlane& plane)
{
    StatName stat;
    const std::int64_t id = readEntry(in, [&] {
        if (in.field() == 2) in.text(stat.name, kLongestXName);
    });
    stat.stat = statOf(stat.name);
    if (roomForName(plane, stat.name.size())) plane.stats.set(id, std::move(stat));
}

const XRawStat* XSpaceNames::planeStat(std::size_t plane, XStat wanted) const
{
    const auto stats = m_statsOfPlane.find(plane);
    if (stats == m_statsOfPlane.end()) return nullptr;
    for (const XRawStat& stat : stats->second) {
        const StatName* const name = planes[plane].stat(stat.id);
        if (name && name->stat == wanted) return &stat;
    }
    return nullptr;
}

} // namespace fourwalls::importers
