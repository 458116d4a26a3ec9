// SPDX-License-Identifier: Apache-2.0
// XSpace profiles (.xplane.pb) of JAX, TensorFlow and XLA as rows. Names of planes, lines
// and stats: tsl's xplane_schema (openxla/xla).
#include "model/import/common/import_format.h"
#include "model/import/common/row_feed.h"
#include "model/import/xspace/xspace_names.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr int kMostXDevices = 4096;

/// The number of "/device:TPU:12 SparseCore 1", and what is behind it.
std::optional<std::pair<int, std::string_view>> deviceNumber(std::string_view name, std::string_view prefix)
{
    if (!xStarts(name, prefix)) return std::nullopt;
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [behind, code] = std::from_chars(name.data() + prefix.size(), end, number);
    if (code != std::errc() || number < 0) return std::nullopt;
    std::string_view rest(behind, static_cast<std::size_t>(end - behind));
    while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
    return std::pair(number, rest);
}

class XSpaceReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<XSpaceReader>();
        reader->m_description.path = path;
        FOURWALLS_TRY(reader->m_names.read(path, options.stop));
        reader->settleDevices();
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_events; }
    std::string whatToRecord() const override
    {
        return "record with jax.profiler.trace(…) around some steps that run on the devices";
    }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_events = m_aggregated = m_unnamed = m_ignored = m_unknownDevice = 0;
        for (const XPlane& plane : m_names.planes) nameLanes(plane, visitor);
        m_wantsDetails = visitor.wantsDetails();
        return RowFeed::pass(visitor, [&](RowFeed& rows) { return readPlanes(rows, stop); });
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::AggregatedEvents, m_aggregated);
        auditCount(sink, AuditCounter::Unread, m_ignored, "events of planes that are no timeline of work", "planes");
        auditCount(sink, AuditCounter::UnnamedEvents, m_unnamed);
        auditCount(sink, AuditCounter::UnknownDevice, m_unknownDevice);
        auditCount(sink, AuditCounter::NamesLeftOut, m_names.namesLeftOut);
        auditCount(sink, AuditCounter::ProfilerErrors, m_names.errors);
    }

private:
    // ---- Devices ----------------------------------------------------------------------------------------------------

    void settleDevices()
    {
        std::map<std::pair<int, int>, int> ranks; // kind and number of a device
        std::map<std::pair<int, int>, RowRank> devices;
        const auto note = [&](std::size_t index, XPlane::Kind kind, int number, std::string_view part) {
            XPlane& plane = m_names.planes[index];
            plane.kind = kind;
            plane.part = std::string(part);
            RowRank& device = devices[{static_cast<int>(kind), number}];
            if (device.device.empty()) device.device = kind == XPlane::Kind::Tpu ? "TPU" : deviceName(index);
            if (const XRawStat* memory = m_names.planeStat(index, XStat::MemorySize))
                device.memoryBytes = std::clamp<std::int64_t>(memory->number, 0, std::int64_t{1} << 50);
            ranks[{static_cast<int>(kind), number}] = 0;
        };
        for (std::size_t i = 0; i < m_names.planes.size(); ++i) {
            XPlane& plane = m_names.planes[i];
            if (const auto gpu = deviceNumber(plane.name, "/device:GPU:")) {
                note(i, XPlane::Kind::Gpu, gpu->first, gpu->second);
            } else if (const auto tpu = deviceNumber(plane.name, "/device:TPU:")) {
                note(i, XPlane::Kind::Tpu, tpu->first, tpu->second);
            } else if (xStarts(plane.name, "/device:")) {
                plane.kind = XPlane::Kind::OtherDevice;
                plane.part = plane.name.substr(8);
            } else if (xStarts(plane.name, "/host:") && plane.name != "/host:metadata" &&
                       plane.name != "/host:tfstreamz") {
                plane.kind = XPlane::Kind::Host;
            }
            if (const XRawStat* start = m_names.planeStat(i, XStat::StartTime); start && start->number > 0)
                m_description.unixNs = std::min(start->number, kLargestTimeNs);
            if (const XRawStat* version = m_names.planeStat(i, XStat::JaxVersion))
                m_description.producer = "JAX " + std::string(xTextOf(plane, *version)).substr(0, 40);
            for (const XLine& line : plane.lines)
                // Lines are stored with Unix times, or from the start of the recording.
                if (line.startNs > 1'000'000'000'000'000'000) m_absolute = true;
        }
        if (m_absolute) m_description.unixNs = 0;
        for (auto& [device, rank] : ranks) {
            if (m_description.ranks.size() >= static_cast<std::size_t>(kMostXDevices)) break;
            rank = static_cast<int>(m_description.ranks.size());
            m_description.ranks.push_back(devices[device]);
        }
        for (XPlane& plane : m_names.planes) {
            int number = 0;
            if (plane.kind == XPlane::Kind::Gpu) number = deviceNumber(plane.name, "/device:GPU:")->first;
            if (plane.kind == XPlane::Kind::Tpu) number = deviceNumber(plane.name, "/device:TPU:")->first;
            const auto found = ranks.find({static_cast<int>(plane.kind), number});
            if (found != ranks.end()) plane.rank = found->second;
        }
        m_description.cpuOnly = m_description.ranks.empty();
        if (m_description.ranks.empty()) m_description.ranks.push_back({"CPU", 0, std::nullopt, 0});
        if (m_description.producer.empty()) m_description.producer = "XLA profiler (XSpace)";
        m_description.marks = "XLA step";
    }

    /// The file has no model, only whose it is.
    std::string deviceName(std::size_t index) const
    {
        const XRawStat* const vendor = m_names.planeStat(index, XStat::DeviceVendor);
        const std::string_view text = vendor ? xTextOf(m_names.planes[index], *vendor) : std::string_view();
        return text.empty() ? "GPU" : std::string(text) + " GPU";
    }

    // ---- Rows -------------------------------------------------------------------------------------------------------

    static std::string laneOf(const XPlane& plane, const XLine& line)
    {
        // "Stream #17(Kernel)" is stream 17.
        if (plane.kind == XPlane::Kind::Gpu && xStarts(line.name, "Stream #"))
            return line.name.substr(8, line.name.find('(') == std::string::npos ? std::string::npos
                                                                                : line.name.find('(') - 8);
        return plane.part.empty() ? line.name : plane.part + " " + line.name;
    }

    void nameLanes(const XPlane& plane, ProfileVisitor& visitor) const
    {
        if (plane.kind == XPlane::Kind::Host)
            for (const XLine& line : plane.lines)
                visitor.nameThread(0, plane.name, std::to_string(line.id),
                                   line.name.empty() ? "thread " + std::to_string(line.id) : line.name);
        if (plane.kind == XPlane::Kind::Tpu) visitor.nameProcess(plane.rank, plane.name, "TPU");
    }

    Status readPlanes(RowFeed& rows, const std::stop_token& stop)
    {
        FOURWALLS_TRY_ASSIGN(std::unique_ptr<ByteSource> source, openByteSource(m_description.path));
        ProtobufReader in(std::move(source), m_description.path);
        std::size_t index = 0;
        while (in.next()) {
            if (in.field() != 1 || !in.isMessage()) continue;
            if (index >= m_names.planes.size()) break; // the file has changed since it was opened
            const XPlane& plane = m_names.planes[index++];
            std::size_t line = 0;
            in.enter();
            while (in.next()) {
                if (in.field() != 3 || !in.isMessage()) continue;
                if (line < plane.lines.size()) FOURWALLS_TRY(readLine(in, plane, plane.lines[line], rows, stop));
                ++line;
            }
            in.leave();
        }
        if (in.damaged()) return in.error();
        return {};
    }

    Status readLine(ProtobufReader& in, const XPlane& plane, const XLine& line, RowFeed& rows,
                    const std::stop_token& stop)
    {
        ProfileRow row;
        row.rank = plane.rank;
        row.process = plane.name;
        const bool host = plane.kind == XPlane::Kind::Host;
        m_stats = host || m_wantsDetails || line.name == "Steps";
        m_ignoredLine = plane.kind == XPlane::Kind::Ignored || line.name == "_counters_";
        m_isStream = xStarts(line.name, "Stream #");
        const std::string lane = host ? std::to_string(line.id) : laneOf(plane, line);
        row.lane = lane;
        in.enter();
        while (in.next()) {
            if (in.field() != 4 || !in.isMessage()) continue;
            if ((++m_events & 0xfff) == 0 && (stop.stop_requested() || rows.unwanted()))
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            readEvent(in, plane, line, row, rows);
        }
        in.leave();
        return {};
    }

    /// An event as it stands in the file.
    struct RawEvent {
        std::int64_t id = 0, offsetPs = 0, lengthPs = 0;
        bool aggregated = false;
    };

    template <class Fields>
    void readFields(Fields& in, const XPlane& plane, RawEvent& raw, ProfileRow& row)
    {
        while (in.next()) {
            switch (in.field()) {
            case 1: raw.id = in.integer(); break;
            case 2: raw.offsetPs = in.integer(); break;
            case 3: raw.lengthPs = in.integer(); break;
            case 4:
                if (!m_stats || !in.isMessage()) break;
                readRawStat(in, m_stat);
                takeStat(plane, row);
                break;
            case 5: raw.aggregated = true; break;
            default: break;
            }
        }
    }

    void readEvent(ProtobufReader& in, const XPlane& plane, const XLine& line, ProfileRow& row, RowFeed& rows)
    {
        RawEvent raw;
        row.correlation.reset();
        row.step.reset();
        row.collective = nullptr;
        m_hloOp = m_hloModule = m_details = {};
        if (auto message = in.whole()) {
            readFields(*message, plane, raw, row);
            in.end(*message);
        } else {
            in.enter();
            readFields(in, plane, raw, row);
            in.leave();
        }
        if (in.damaged()) return;
        if (m_ignoredLine) return void(++m_ignored);
        if (raw.aggregated) return void(++m_aggregated);
        const EventName* const event = plane.events.find(raw.id);
        if (!event) return void(++m_unnamed);
        const std::int64_t offsetPs = raw.offsetPs, lengthPs = std::max<std::int64_t>(raw.lengthPs, 0);
        const std::int64_t endPs = offsetPs > INT64_MAX - lengthPs ? offsetPs : offsetPs + lengthPs;
        row.start = timeAt(line, offsetPs);
        row.end = timeAt(line, endPs);
        classify(plane, line, *event, row);
        rows.add(row);
    }

    static FineTime timeAt(const XLine& line, std::int64_t offsetPs)
    {
        std::int64_t ns = offsetPs / 1000, ps = offsetPs % 1000;
        if (ps < 0) {
            ps += 1000;
            --ns;
        }
        const std::int64_t base = std::clamp(line.startNs, -kLargestTimeNs, kLargestTimeNs);
        return {base + ns, static_cast<int>(ps)};
    }

    void takeStat(const XPlane& plane, ProfileRow& row)
    {
        const StatName* const name = plane.stat(m_stat.id);
        if (!name) return;
        switch (name->stat) {
        case XStat::Correlation: row.correlation = m_stat.number; break;
        case XStat::StepNumber:
            if (m_stat.number >= 0 && m_stat.number < 1'000'000'000) row.step = static_cast<int>(m_stat.number);
            break;
        case XStat::HloOp: m_hloOp = keep(m_hloOpText, plane, m_stat); break;
        case XStat::HloModule: m_hloModule = keep(m_hloModuleText, plane, m_stat); break;
        case XStat::KernelDetails:
        case XStat::MemcpyDetails: m_details = keep(m_detailsText, plane, m_stat); break;
        default: break;
        }
    }

    /// A stat's text that outlives it: what a reference names lives as long as the plane.
    static std::string_view keep(std::string& own, const XPlane& plane, const XRawStat& stat)
    {
        if (stat.reference) return xTextOf(plane, stat);
        own = stat.text;
        return own;
    }

    /// "hlo all-reduce.1 of jit_step; grid:16,1,1 block:512,1,1 …"
    void describe(ProfileRow& row)
    {
        m_text.clear();
        if (!m_hloOp.empty()) m_text.append("hlo ").append(m_hloOp);
        if (!m_hloModule.empty()) m_text.append(m_text.empty() ? "module " : " of ").append(m_hloModule);
        while (!m_details.empty() && m_details[0] == ' ') m_details.remove_prefix(1);
        if (!m_details.empty()) m_text.append(m_text.empty() ? "" : "; ").append(m_details);
        if (m_text.size() > 300) m_text.resize(300);
        row.detail = m_text;
    }

    void classify(const XPlane& plane, const XLine& line, const EventName& event, ProfileRow& row)
    {
        row.name = event.name;
        row.bytes.reset();
        describe(row);
        switch (plane.kind) {
        case XPlane::Kind::Gpu: return classifyGpu(line, event, row);
        case XPlane::Kind::Tpu: return classifyTpu(line, event, row);
        case XPlane::Kind::Host: return classifyHost(event, row);
        default: break;
        }
        // Of a device that nobody knows: shown, and no computing.
        ++m_unknownDevice;
        row.role = LaneRole::DeviceRanges;
        row.category = Category::GpuUserAnnotation;
    }

    /// What the profiler sums up on a device: steps, modules, operators, scopes.
    static void summary(const XLine& line, const EventName& event, ProfileRow& row)
    {
        row.role = LaneRole::DeviceRanges;
        row.category = Category::GpuUserAnnotation;
        row.correlation.reset();
        if (line.name != "Steps" || row.step) return;
        int number = 0;
        const char* const end = event.name.data() + event.name.size();
        if (std::from_chars(event.name.data(), end, number).ec == std::errc() && number >= 0) row.step = number;
    }

    void classifyGpu(const XLine& line, const EventName& event, ProfileRow& row)
    {
        if (!m_isStream) return summary(line, event, row);
        row.role = LaneRole::Stream;
        row.category = event.kind == XNameKind::Copy  ? Category::Memcpy
                       : event.kind == XNameKind::Set ? Category::Memset
                                                      : Category::Kernel;
        if (row.category == Category::Memcpy) row.bytes = sizeIn(m_details);
        if (row.name.ends_with(".kd")) row.name.remove_suffix(3); // a kernel's descriptor, in code objects of ROCm
    }

    void classifyTpu(const XLine& line, const EventName& event, ProfileRow& row)
    {
        const bool async = line.name == "Async XLA Ops";
        if ((line.name != "XLA Ops" && !async) || event.work == HloWork::Control) {
            summary(line, event, row);
            return;
        }
        row.role = LaneRole::Stream;
        if (event.work == HloWork::Communication) {
            row.category = Category::CollectiveWork;
            row.collective = &event.collective;
        } else {
            // Beside the core runs what the DMA engines do.
            row.category = async || event.work == HloWork::Copy ? Category::Memcpy : Category::Kernel;
        }
        if (m_text.empty() && !event.category.empty()) row.detail = event.category;
    }

    void classifyHost(const EventName& event, ProfileRow& row) const
    {
        row.role = LaneRole::Thread;
        row.category = Category::UserAnnotation;
        if (event.kind == XNameKind::PythonFunction) {
            row.category = Category::PythonFunction;
            row.name.remove_prefix(1);
        } else if (event.kind == XNameKind::Call) {
            row.category = Category::Runtime;
        } else if (m_description.cpuOnly && !m_hloOp.empty()) {
            // An operation of HLO that the processor itself carried out.
            row.category = event.work == HloWork::Communication ? Category::CollectiveWork
                           : event.work == HloWork::Control     ? Category::UserAnnotation
                                                                : Category::CpuOp;
            if (event.work == HloWork::Communication) row.collective = &event.collective;
        }
    }

    /// 512 of "kind:Unknown size:512 dest:0 async:1".
    static std::optional<std::int64_t> sizeIn(std::string_view details)
    {
        const std::size_t at = details.find("size:");
        if (at == std::string_view::npos) return std::nullopt;
        std::int64_t size = 0;
        const auto parsed = std::from_chars(details.data() + at + 5, details.data() + details.size(), size);
        return parsed.ec == std::errc() && size >= 0 ? std::optional(size) : std::nullopt;
    }

    ProfileDescription m_description;
    XSpaceNames m_names;
    bool m_absolute = false;
    // Of the event at hand.
    XRawStat m_stat;
    std::string_view m_hloOp, m_hloModule, m_details;
    std::string m_hloOpText, m_hloModuleText, m_detailsText, m_text;
    // Of a line.
    bool m_stats = true; ///< stats of its events are looked at
    bool m_ignoredLine = false, m_isStream = false;
    // Of a pass.
    bool m_wantsDetails = true;
    std::int64_t m_events = 0, m_aggregated = 0, m_unnamed = 0, m_ignored = 0, m_unknownDevice = 0;
};

/// A varint; moves `at` behind it.
std::uint64_t xVarint(std::string_view bytes, std::size_t& at)
{
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) break;
    }
    return value;
}

} // namespace

bool isXSpace(std::string_view beginning)
{
    // A plane (field 1), which has a number (1) and a name (2).
    if (beginning.empty() || beginning[0] != '\n') return false;
    std::size_t at = 1;
    xVarint(beginning, at);
    if (at < beginning.size() && beginning[at] == '\x08') xVarint(beginning, ++at);
    if (at >= beginning.size() || beginning[at] != '\x12') return false;
    xVarint(beginning, ++at);
    const std::string_view name = beginning.substr(std::min(at, beginning.size()));
    for (const std::string_view known : {"/host:", "/device:", "Task Environment", "Host CPUs", "Syscalls"})
        if (xStarts(name, known)) return true;
    return false;
}

Result<std::unique_ptr<TraceImport>> openXSpaces(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return importWith<XSpaceReader>(paths, options);
}

Result<TraceFacts> xspaceFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<XSpaceReader>(path, options);
}

} // namespace fourwalls::importers
