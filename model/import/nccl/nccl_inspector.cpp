// SPDX-License-Identifier: Apache-2.0
// Logs of the NCCL Inspector (and of RCCL's), a plugin that writes one line of JSON per operation and communicator, as
// rows. Keys: README.md and inspector.cc of NVIDIA/nccl, ext-profiler/inspector, output formats 4.0 and 5.0. A file is
// one process. Only logs of NCCL_INSPECTOR_DUMP_VERBOSE=1 say when an operation ran; of others it is known when it was
// written down.
#include "model/import/common/import_format.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/text_lines.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestInspectorLine = std::size_t{1} << 20;
constexpr std::size_t kMostCommunicators = 100'000;
constexpr const char* kInspectAgain =
    "record again with NCCL_PROFILER_PLUGIN=libnccl-profiler-inspector.so NCCL_INSPECTOR_ENABLE=1 "
    "NCCL_INSPECTOR_DUMP_VERBOSE=1";

/// One line. Times in microseconds of Unix time; 0: not said.
struct InspectedOperation {
    std::string communicator, name, algorithm, protocol;
    int rank = -1, ranks = 0;
    std::int64_t written = 0, begin = 0;
    std::optional<std::int64_t> sequence, bytes, peer;
    std::optional<FineTime> length;
};

void readHeader(std::string_view object, InspectedOperation& to)
{
    forEachMember(object, [&](std::string_view key, const JsonToken& value) {
        if (key == "id") to.communicator = decoded(value).substr(0, 100);
        if (key == "rank")
            to.rank = static_cast<int>(std::clamp<std::int64_t>(integerFromText(value.text).value_or(-1), -1, 1 << 24));
        if (key == "n_ranks")
            to.ranks = static_cast<int>(std::clamp<std::int64_t>(integerFromText(value.text).value_or(0), 0, 1 << 24));
    });
}

/// When the first of its kernels began, else the call.
std::int64_t beginOf(std::string_view times)
{
    std::int64_t call = 0, kernel = 0;
    forEachMember(times, [&](std::string_view key, const JsonToken& value) {
        if (key == "coll_start_ts" || key == "p2p_start_ts") call = integerFromText(value.text).value_or(0);
        if (key != "kernel_events" || value.kind != JsonToken::Kind::Array) return;
        forEachElement(value.text, [&](const JsonToken& event) {
            forEachMember(event.text, [&](std::string_view name, const JsonToken& time) {
                const std::int64_t at = name == "kernel_start_ts" ? integerFromText(time.text).value_or(0) : 0;
                if (at > 0 && (kernel == 0 || at < kernel)) kernel = at;
            });
        });
    });
    return kernel > 0 ? kernel : call;
}

void readPerformance(std::string_view object, InspectedOperation& to)
{
    forEachMember(object, [&](std::string_view key, const JsonToken& value) {
        // "coll_sn" and "p2p_sn", and so on.
        const std::size_t behind = key.find('_');
        const std::string_view what = behind == std::string_view::npos ? key : key.substr(behind + 1);
        if (key == "coll" || key == "p2p")
            to.name = decoded(value).substr(0, 60);
        else if (key == "event_trace_ts")
            to.begin = beginOf(value.text);
        else if (what == "sn")
            to.sequence = integerFromText(value.text);
        else if (what == "msg_size_bytes")
            to.bytes = integerFromText(value.text);
        else if (what == "exec_time_us")
            to.length = fineTimeFromMicroseconds(value.text);
        else if (what == "peer")
            to.peer = integerFromText(value.text);
        else if (what == "algo")
            to.algorithm = decoded(value).substr(0, 20);
        else if (what == "proto")
            to.protocol = decoded(value).substr(0, 20);
    });
}

/// Absent for a line that is no finished operation.
std::optional<InspectedOperation> inspectedOperation(std::string_view line)
{
    InspectedOperation operation;
    const bool whole = forEachMember(line, [&](std::string_view key, const JsonToken& value) {
        if (key == "header")
            readHeader(value.text, operation);
        else if (key == "metadata")
            forEachMember(value.text, [&](std::string_view name, const JsonToken& time) {
                if (name == "dump_timestamp_us") operation.written = integerFromText(time.text).value_or(0);
            });
        else if (key == "coll_perf" || key == "p2p_perf")
            readPerformance(value.text, operation);
    });
    constexpr std::int64_t kLatestUs = kLargestTimeNs / 1000;
    const auto sound = [](std::int64_t at) { return at >= 0 && at < kLatestUs; };
    const bool timed = operation.length && operation.length->ns >= 0 && operation.length->ns < kLatestUs &&
                       sound(operation.begin) && sound(operation.written) && operation.begin + operation.written > 0;
    if (!whole || operation.name.empty() || operation.ranks < 1 || operation.rank < 0 || !timed) return std::nullopt;
    return operation;
}

class InspectorReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<InspectorReader>();
        ProfileDescription& description = reader->m_description;
        description.path = path;
        description.producer = "NCCL Inspector";
        description.backend = "nccl";
        description.ranks.emplace_back();
        // The largest communicator is the job's: what a process is in it, is its rank.
        int largest = 0;
        FOURWALLS_TRY(reader->forEachOperation(options.stop, [&](const InspectedOperation& operation) {
            const std::int64_t at = (operation.begin > 0 ? operation.begin : operation.written) * 1000;
            if (!description.unixNs || at < *description.unixNs) description.unixNs = at;
            if (operation.ranks <= largest) return;
            largest = operation.ranks;
            description.ranks.front().number = operation.rank;
            description.worldSize = operation.ranks;
        }));
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_lines; }
    std::string whatToRecord() const override { return kInspectAgain; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        std::map<std::string, FineTime> busyUntil; // by communicator
        m_untimed = 0;
        return forEachOperation(stop, [&](const InspectedOperation& operation) {
            const std::int64_t zero = m_description.unixNs.value_or(0);
            FineTime begin{operation.begin * 1000 - zero, 0};
            if (busyUntil.size() >= kMostCommunicators) busyUntil.clear();
            FineTime& busy = busyUntil.try_emplace(operation.communicator, FineTime{0, 0}).first->second;
            if (operation.begin == 0) {
                // Operations of a communicator do not overlap, and this one had ended when it was written down.
                ++m_untimed;
                begin = FineTime{operation.written * 1000 - zero, 0} - *operation.length;
                if (begin < busy) begin = busy;
            }
            busy = begin + *operation.length;
            row(operation, begin, visitor);
        });
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::UnreadableRows, m_otherLines, "lines that are no finished operation");
        auditCount(sink, AuditCounter::TimesOfWritingDown, m_untimed);
        if (!m_damage.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_damage));
    }

private:
    template <class Visit>
    Status forEachOperation(const std::stop_token& stop, Visit&& visit)
    {
        m_lines = m_otherLines = 0;
        FOURWALLS_TRY_ASSIGN(TextLines lines, TextLines::open(m_description.path, kLongestInspectorLine));
        for (;;) {
            FOURWALLS_TRY_ASSIGN(const bool more, lines.next());
            if (!more) break;
            if ((++m_lines & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            if (const auto operation = inspectedOperation(lines.line()))
                visit(*operation);
            else
                ++m_otherLines;
        }
        m_damage = lines.damage();
        return {};
    }

    void row(const InspectedOperation& operation, const FineTime& begin, ProfileVisitor& visitor)
    {
        CollectiveDetail detail;
        detail.operation = collectiveOf(operation.name);
        if (operation.name == "Send") detail.operation = CollectiveOp::Send;
        if (operation.name == "Recv") detail.operation = CollectiveOp::Receive;
        detail.groupName = operation.communicator;
        detail.groupSize = operation.ranks;
        if (operation.bytes && *operation.bytes >= 0) detail.payloadBytes = operation.bytes;
        detail.sequence = operation.sequence;
        if (operation.peer && *operation.peer >= 0 && operation.ranks == m_description.worldSize)
            detail.peer = static_cast<int>(std::min<std::int64_t>(*operation.peer, 1 << 24));
        m_name = operation.name;
        for (const std::string& part : {operation.algorithm, operation.protocol})
            if (!part.empty() && part != "unknown") m_name.append("_").append(part);
        m_lane = "communicator " + operation.communicator + ", " + std::to_string(operation.ranks) + " ranks";
        ProfileRow out;
        out.category = Category::CollectiveWork;
        out.role = LaneRole::Stream;
        out.lane = m_lane;
        out.start = begin;
        out.end = begin + *operation.length;
        out.name = m_name;
        out.collective = &detail;
        visitor.row(out);
    }

    ProfileDescription m_description;
    std::int64_t m_lines = 0, m_otherLines = 0, m_untimed = 0;
    std::string m_damage, m_name, m_lane;
};

} // namespace

bool isNcclInspector(std::string_view beginning)
{
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || beginning[first] != '{') return false;
    const auto has = [beginning](std::string_view word) { return beginning.find(word) != std::string_view::npos; };
    return has("\"n_ranks\"") &&
           (has("\"coll_perf\"") || has("\"p2p_perf\"") || has("inspector_output_format_version"));
}

Result<std::unique_ptr<TraceImport>> openNcclInspector(const std::vector<std::string>& paths,
                                                       const ImportOptions& options)
{
    return importWith<InspectorReader>(paths, options);
}

Result<TraceFacts> ncclInspectorFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<InspectorReader>(path, options);
}

} // namespace fourwalls::importers
