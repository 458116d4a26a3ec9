// SPDX-License-Identifier: Apache-2.0
// Traces of Perfetto (.pftrace, .perfetto-trace) as rows: track events of programs that trace themselves with its library.
// What the operating system traced (ftrace and its like) is counted and left out. Messages and field numbers:
// trace_packet.proto, track_event.proto, track_descriptor.proto, interned_data.proto and clock_snapshot.proto of
// google/perfetto, protos/perfetto/trace.
#include "model/import/common/import_format.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/protobuf_reader.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostTracks = 1'000'000;
constexpr std::size_t kMostInterned = 2'000'000;
constexpr std::size_t kMostOpenSlices = 10'000'000;
constexpr std::size_t kLongestPerfettoName = 4096;
constexpr std::uint32_t kBootClock = 6;

/// What a category says a slice is: those of rocprofv3 (rocprofiler-sdk's generatePerfetto.cpp). Others are the program's.
struct KnownCategory {
    std::string_view name;
    Category category;
    LaneRole role;
};
constexpr std::array<KnownCategory, 8> kCategories{{{"kernel_dispatch", Category::Kernel, LaneRole::Stream},
                                                    {"memory_copy", Category::Memcpy, LaneRole::Stream},
                                                    {"hip_api", Category::Runtime, LaneRole::Thread},
                                                    {"hsa_api", Category::Runtime, LaneRole::Thread},
                                                    {"rccl_api", Category::Runtime, LaneRole::Thread},
                                                    {"memory_allocation", Category::OtherRuntime, LaneRole::Thread},
                                                    {"marker_api", Category::UserAnnotation, LaneRole::Thread},
                                                    {"rocjpeg_api", Category::OtherRuntime, LaneRole::Thread}}};

struct PerfettoTrack {
    std::string name, process, thread; ///< process, thread: their numbers; empty: none
    std::uint64_t parent = 0;
    bool isThread = false, isCounter = false;
};

/// A clock of one sequence of packets, as its last snapshot has it.
struct SequenceClock {
    bool incremental = false;
    std::int64_t multiplier = 1, last = 0; ///< last: its value, in its own units
    std::int64_t toBoot = 0;               ///< to add to its nanoseconds
};

/// What the packets of one writer refer to.
struct Sequence {
    std::unordered_map<std::uint64_t, std::string> names, categories;
    std::map<std::uint32_t, SequenceClock> clocks;
    std::uint32_t defaultClock = 0; ///< 0: the trace's
    std::uint64_t defaultTrack = 0;
};

struct TrackEvent {
    std::uint64_t type = 0, track = 0, nameId = 0, categoryId = 0;
    std::string name, category;
    std::optional<double> value;
};

class PerfettoReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions&)
    {
        auto reader = std::make_unique<PerfettoReader>();
        reader->m_description.path = path;
        reader->m_description.producer = "Perfetto";
        reader->m_description.ranks.emplace_back();
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_events; }
    std::string whatToRecord() const override
    {
        return "record with the track_event data source; traces of the operating system alone are not read";
    }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_sequences.clear();
        m_tracks.clear();
        m_open.clear();
        m_interned = m_openSlices = 0;
        m_events = m_system = m_packed = m_endsAlone = m_noTime = m_leftOut = m_lastNs = 0;
        m_cut.clear();
        FOURWALLS_TRY_ASSIGN(std::unique_ptr<ByteSource> source, openByteSource(m_description.path));
        ProtobufReader in(std::move(source), m_description.path);
        std::int64_t packets = 0;
        while (in.next()) {
            if (in.field() != 1 || !in.isMessage()) continue;
            if ((++packets & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            readPacket(in, visitor);
        }
        // A trace is a list of packets: those before the damage are sound.
        if (in.damaged()) m_cut = in.error().what;
        if (in.damaged() && packets == 0) return in.error();
        m_opened = m_openSlices;
        for (auto& [track, slices] : m_open)
            for (const OpenSlice& slice : slices) emit(track, slice, std::max(m_lastNs, slice.begin), visitor);
        m_open.clear();
        return {};
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::SystemEvents, m_system);
        auditCount(sink, AuditCounter::CompressedPackets, m_packed);
        auditCount(sink, AuditCounter::EndWithoutBegin, m_endsAlone, "slices that began before the recording");
        auditCount(sink, AuditCounter::BeginWithoutEnd, static_cast<std::int64_t>(m_opened),
                   "slices still open: ended with the trace");
        auditCount(sink, AuditCounter::NoTime, m_noTime, "events on a clock that no snapshot explains");
        auditCount(sink, AuditCounter::EventsLeftOut, m_leftOut, "too many tracks, names or open slices");
        if (!m_cut.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_cut));
    }

private:
    struct OpenSlice {
        std::int64_t begin = 0;
        std::string name, category;
    };

    void readPacket(ProtobufReader& in, ProfileVisitor& visitor)
    {
        // Fields come in any order: what an event refers to may stand behind it in its packet.
        std::optional<std::uint64_t> timestamp;
        std::uint32_t clock = 0;
        std::uint64_t sequenceId = 0;
        bool cleared = false, known = false;
        std::vector<std::pair<bool, std::pair<std::uint64_t, std::string>>> interned; ///< whether a category
        std::optional<TrackEvent> event;
        std::optional<std::pair<std::uint32_t, std::uint64_t>> defaults;
        std::vector<std::array<std::uint64_t, 4>> snapshot;
        in.enter();
        while (in.next()) {
            switch (in.field()) {
            case 8: timestamp = in.bits(); break;
            case 58: clock = static_cast<std::uint32_t>(in.bits()); break;
            case 10: sequenceId = in.bits(); break;
            case 13: cleared = cleared || (in.bits() & 1) != 0; break;
            case 41: cleared = cleared || in.bits() != 0; break;
            case 6:
                readSnapshot(in, snapshot);
                known = true;
                break;
            case 11:
                event = readTrackEvent(in);
                known = true;
                break;
            case 12:
                readInterned(in, interned);
                known = true;
                break;
            case 59:
                defaults = readDefaults(in);
                known = true;
                break;
            case 60:
                readTrack(in, visitor);
                known = true;
                break;
            case 50:
                ++m_packed;
                known = true;
                break;
            // About the recording itself.
            case 33:
            case 35:
            case 36:
            case 43:
            case 44:
            case 45:
            case 46:
            case 79:
            case 89: known = true; break;
            default: break;
            }
        }
        in.leave();
        if (in.damaged()) return;
        if (!known) ++m_system;
        Sequence& sequence = m_sequences[sequenceId];
        if (cleared) {
            m_interned -= std::min(m_interned, sequence.names.size() + sequence.categories.size());
            sequence.names.clear();
            sequence.categories.clear();
            sequence.defaultClock = 0;
            sequence.defaultTrack = 0;
        }
        if (defaults) std::tie(sequence.defaultClock, sequence.defaultTrack) = *defaults;
        if (!snapshot.empty()) takeSnapshot(sequence, snapshot);
        for (auto& [isCategory, entry] : interned) {
            if (++m_interned > kMostInterned) {
                ++m_leftOut;
                break;
            }
            (isCategory ? sequence.categories : sequence.names)[entry.first] = std::move(entry.second);
        }
        if (event) takeEvent(sequence, *event, timestamp, clock, visitor);
    }

    /// The clocks of one instant.
    static void readSnapshot(ProtobufReader& in, std::vector<std::array<std::uint64_t, 4>>& clocks)
    {
        if (!in.isMessage()) return;
        in.enter();
        while (in.next()) {
            if (in.field() != 1 || !in.isMessage()) continue;
            std::array<std::uint64_t, 4> clock{0, 0, 0, 1}; // number, time, whether incremental, multiplier
            in.enter();
            while (in.next())
                if (in.field() >= 1 && in.field() <= 4) clock[static_cast<std::size_t>(in.field() - 1)] = in.bits();
            in.leave();
            if (clocks.size() < 100) clocks.push_back(clock);
        }
        in.leave();
    }

    void takeSnapshot(Sequence& sequence, const std::vector<std::array<std::uint64_t, 4>>& clocks)
    {
        std::optional<std::int64_t> boot;
        for (const auto& [number, time, incremental, multiplier] : clocks)
            if (number == kBootClock) boot = static_cast<std::int64_t>(time & INT64_MAX);
        if (!boot) return;
        for (const auto& [number, time, incremental, multiplier] : clocks) {
            SequenceClock clock;
            clock.incremental = incremental != 0;
            clock.multiplier = static_cast<std::int64_t>(std::clamp<std::uint64_t>(multiplier, 1, 1'000'000'000));
            clock.last = static_cast<std::int64_t>(time & INT64_MAX);
            std::int64_t ns = 0;
            if (__builtin_mul_overflow(clock.last, clock.multiplier, &ns)) continue;
            clock.toBoot = *boot - ns; // both are at least 0
            // Numbers from 64 to 127 are the sequence's own, others everybody's.
            auto& owner = number >= 64 && number < 128 ? sequence.clocks : m_clocks;
            owner[static_cast<std::uint32_t>(number)] = clock;
            if (number == 1 && !m_description.unixNs) m_description.unixNs = ns - *boot; // of the day
        }
    }

    static std::pair<std::uint32_t, std::uint64_t> readDefaults(ProtobufReader& in)
    {
        std::pair<std::uint32_t, std::uint64_t> defaults{0, 0};
        if (!in.isMessage()) return defaults;
        in.enter();
        while (in.next()) {
            if (in.field() == 58) defaults.first = static_cast<std::uint32_t>(in.bits());
            if (in.field() != 11 || !in.isMessage()) continue;
            in.enter();
            while (in.next())
                if (in.field() == 11) defaults.second = in.bits();
            in.leave();
        }
        in.leave();
        return defaults;
    }

    static void readInterned(ProtobufReader& in,
                             std::vector<std::pair<bool, std::pair<std::uint64_t, std::string>>>& interned)
    {
        if (!in.isMessage()) return;
        in.enter();
        while (in.next()) {
            if ((in.field() != 1 && in.field() != 2) || !in.isMessage()) continue;
            const bool category = in.field() == 1;
            std::pair<std::uint64_t, std::string> entry;
            in.enter();
            while (in.next()) {
                if (in.field() == 1) entry.first = in.bits();
                if (in.field() == 2 && in.isMessage()) in.text(entry.second, kLongestPerfettoName);
            }
            in.leave();
            interned.emplace_back(category, std::move(entry));
        }
        in.leave();
    }

    static std::optional<TrackEvent> readTrackEvent(ProtobufReader& in)
    {
        if (!in.isMessage()) return std::nullopt;
        TrackEvent event;
        in.enter();
        while (in.next()) {
            switch (in.field()) {
            case 3:
                if (!in.isMessage()) event.categoryId = in.bits();
                break;
            case 9: event.type = in.bits(); break;
            case 10: event.nameId = in.bits(); break;
            case 11: event.track = in.bits(); break;
            case 22:
                if (event.category.empty()) in.text(event.category, 200);
                break;
            case 23: in.text(event.name, kLongestPerfettoName); break;
            case 30: event.value = static_cast<double>(in.integer()); break;
            case 44: event.value = in.real(); break;
            default: break;
            }
        }
        in.leave();
        return event;
    }

    void readTrack(ProtobufReader& in, ProfileVisitor& visitor)
    {
        if (!in.isMessage()) return;
        PerfettoTrack track;
        std::uint64_t uuid = 0;
        std::string threadName;
        in.enter();
        while (in.next()) {
            switch (in.field()) {
            case 1: uuid = in.bits(); break;
            case 2:
            case 10:
            case 13: in.text(track.name, 200); break;
            case 5: track.parent = in.bits(); break;
            case 8: track.isCounter = true; break;
            case 3:
            case 4: {
                if (!in.isMessage()) break;
                const bool thread = in.field() == 4;
                track.isThread = track.isThread || thread;
                in.enter();
                while (in.next()) {
                    if (in.field() == 1) track.process = std::to_string(in.integer());
                    if (thread && in.field() == 2) track.thread = std::to_string(in.integer());
                    if (thread && in.field() == 5) in.text(threadName, 200);
                }
                in.leave();
                break;
            }
            default: break;
            }
        }
        in.leave();
        if (in.damaged() || uuid == 0) return;
        if (m_tracks.size() >= kMostTracks && m_tracks.count(uuid) == 0) return void(++m_leftOut);
        if (threadName.empty()) threadName = track.name;
        if (track.isThread && !threadName.empty()) visitor.nameThread(0, track.process, track.thread, threadName);
        m_tracks[uuid] = std::move(track);
    }

    /// The time of an event on the boot clock [ns].
    std::optional<std::int64_t> timeOfEvent(Sequence& sequence, std::optional<std::uint64_t> timestamp,
                                            std::uint32_t number)
    {
        if (!timestamp || *timestamp > static_cast<std::uint64_t>(kLargestTimeNs)) return std::nullopt;
        auto value = static_cast<std::int64_t>(*timestamp);
        if (number == 0) number = sequence.defaultClock;
        if (number == 0 || number == kBootClock) return value;
        const bool own = number >= 64 && number < 128;
        auto& clocks = own ? sequence.clocks : m_clocks;
        const auto found = clocks.find(number);
        if (found == clocks.end()) return own ? std::nullopt : std::optional(value);
        SequenceClock& clock = found->second;
        if (clock.incremental) {
            if (__builtin_add_overflow(clock.last, value, &clock.last)) return std::nullopt;
            value = clock.last;
        }
        std::int64_t ns = 0;
        if (__builtin_mul_overflow(value, clock.multiplier, &ns) || __builtin_add_overflow(ns, clock.toBoot, &ns))
            return std::nullopt;
        return ns >= -kLargestTimeNs && ns <= kLargestTimeNs ? std::optional(ns) : std::nullopt;
    }

    void takeEvent(Sequence& sequence, TrackEvent& event, std::optional<std::uint64_t> timestamp, std::uint32_t clock,
                   ProfileVisitor& visitor)
    {
        ++m_events;
        const auto at = timeOfEvent(sequence, timestamp, clock);
        if (!at) return void(++m_noTime);
        if (event.track == 0) event.track = sequence.defaultTrack;
        if (event.name.empty())
            if (const auto name = sequence.names.find(event.nameId); name != sequence.names.end())
                event.name = name->second;
        if (event.category.empty())
            if (const auto name = sequence.categories.find(event.categoryId); name != sequence.categories.end())
                event.category = name->second;
        m_lastNs = std::max(m_lastNs, *at);
        switch (event.type) {
        case 1:
            if (m_openSlices >= kMostOpenSlices) return void(++m_leftOut);
            ++m_openSlices;
            m_open[event.track].push_back({*at, std::move(event.name), std::move(event.category)});
            break;
        case 2: {
            auto& slices = m_open[event.track];
            if (slices.empty()) return void(++m_endsAlone);
            emit(event.track, slices.back(), std::max(*at, slices.back().begin), visitor);
            slices.pop_back();
            --m_openSlices;
            break;
        }
        case 3: visitor.mark(0, *at, event.name); break;
        case 4: {
            const auto track = m_tracks.find(event.track);
            if (track == m_tracks.end() || !event.value || !std::isfinite(*event.value)) return void(++m_leftOut);
            visitor.sample({0, track->second.name, CounterUnit::None, *at, *event.value});
            break;
        }
        default: ++m_leftOut; break;
        }
    }

    void emit(std::uint64_t uuid, const OpenSlice& slice, std::int64_t end, ProfileVisitor& visitor)
    {
        static const PerfettoTrack kNone;
        const auto found = m_tracks.find(uuid);
        const PerfettoTrack& track = found == m_tracks.end() ? kNone : found->second;
        const std::string lane = track.isThread       ? track.thread
                                 : track.name.empty() ? "track " + std::to_string(uuid)
                                                      : track.name;
        ProfileRow row;
        row.category = Category::UserAnnotation;
        row.role = track.isThread ? LaneRole::Thread : LaneRole::Async;
        for (const KnownCategory& known : kCategories)
            if (slice.category == known.name) {
                row.category = known.category;
                row.role = known.role;
            }
        row.process = track.process;
        row.lane = lane;
        row.start = {slice.begin, 0};
        row.end = {end, 0};
        row.name = slice.name;
        visitor.row(row);
    }

    ProfileDescription m_description;
    std::unordered_map<std::uint64_t, Sequence> m_sequences;
    std::unordered_map<std::uint64_t, PerfettoTrack> m_tracks;
    std::map<std::uint64_t, std::vector<OpenSlice>> m_open; ///< by track
    std::map<std::uint32_t, SequenceClock> m_clocks;
    std::size_t m_interned = 0, m_openSlices = 0, m_opened = 0;
    std::int64_t m_events = 0, m_system = 0, m_packed = 0, m_endsAlone = 0, m_noTime = 0, m_leftOut = 0, m_lastNs = 0;
    std::string m_cut;
};

std::optional<std::uint64_t> perfettoVarint(std::string_view bytes, std::size_t& at)
{
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) return value;
    }
    return std::nullopt;
}

} // namespace

bool isPerfetto(std::string_view beginning)
{
    // The first packet, as far as it is here: fields that packets have, and a writer that the service trusts.
    if (beginning.empty() || beginning[0] != '\n') return false;
    std::size_t at = 1;
    const auto size = perfettoVarint(beginning, at);
    if (!size || *size == 0) return false;
    const std::size_t end = *size > beginning.size() - at ? beginning.size() : at + static_cast<std::size_t>(*size);
    bool trusted = false;
    while (at < end) {
        const auto tag = perfettoVarint(beginning, at);
        if (!tag) return false;
        const std::uint64_t field = *tag >> 3, kind = *tag & 7;
        if (field == 0 || field > 1000 || (kind != 0 && kind != 1 && kind != 2 && kind != 5)) return false;
        trusted = trusted || ((field == 3 || field == 10 || field == 8) && kind == 0);
        if (kind == 0 && !perfettoVarint(beginning, at)) break;
        if (kind == 1) at += 8;
        if (kind == 5) at += 4;
        if (kind == 2) {
            const auto length = perfettoVarint(beginning, at);
            if (!length || *length > end - std::min(at, end)) break;
            at += static_cast<std::size_t>(*length);
        }
    }
    return trusted;
}

Result<std::unique_ptr<TraceImport>> openPerfettos(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return importWith<PerfettoReader>(paths, options);
}

Result<TraceFacts> perfettoFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<PerfettoReader>(path, options);
}

} // namespace fourwalls::importers
