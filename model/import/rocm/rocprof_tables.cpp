// SPDX-License-Identifier: Apache-2.0
// Tables (CSV) of rocprofv3 as rows: *_kernel_trace.csv, *_memory_copy_trace.csv, and those of the host's calls
// (*_hip_api_trace.csv, *_hsa_api_trace.csv, *_marker_api_trace.csv, *_rccl_api_trace.csv). Columns: "Using rocprofv3" of
// the rocprofiler-sdk documentation. The tables of one process share the beginning of their names.
#include "model/import/common/csv_rows.h"
#include "model/import/common/foreign_tables.h"
#include "model/import/common/import_format.h"
#include "model/import/common/profile_rows.h"
#include "model/import/rocm/rccl_calls.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr const char* kRocprofAgain = "record again with: rocprofv3 --sys-trace --output-format csv -- PROGRAM";
constexpr std::size_t kMostAgents = 4096;

enum class RocprofTable { Kernels, Copies, Calls };

std::optional<RocprofTable> rocprofTable(const CsvRows& rows)
{
    if (rows.column("Start_Timestamp") < 0 || rows.column("End_Timestamp") < 0) return std::nullopt;
    if (rows.column("Kernel_Name") >= 0) return RocprofTable::Kernels;
    if (rows.column("Direction") >= 0 && rows.column("Source_Agent_Id") >= 0) return RocprofTable::Copies;
    if (rows.column("Domain") >= 0 && rows.column("Function") >= 0) return RocprofTable::Calls;
    return std::nullopt;
}

/// "8" of "Agent 8", and of "8".
std::string_view agentNumber(std::string_view text)
{
    const std::size_t space = text.rfind(' ');
    return space == std::string_view::npos ? text : text.substr(space + 1);
}

/// What the names of a process's tables have in common: "run/199" of "run/199_hip_api_trace.csv".
std::string processOfTable(const std::string& path)
{
    for (const char* ending : {"_kernel_trace.csv", "_memory_copy_trace.csv", "_hip_api_trace.csv",
                               "_hip_runtime_api_trace.csv", "_hsa_api_trace.csv", "_marker_api_trace.csv",
                               "_rccl_api_trace.csv", "kernel_trace.csv", "memory_copy_trace.csv", "hip_api_trace.csv",
                               "hsa_api_trace.csv", "marker_api_trace.csv", "rccl_api_trace.csv"})
        if (path.ends_with(ending)) return path.substr(0, path.size() - std::string_view(ending).size());
    return path;
}

class RocprofReader final : public ProfileReader {
public:
    /// paths: the tables of one process. Those that cannot be read are left out where the options say so; null: all are.
    static Result<std::unique_ptr<ProfileReader>> open(std::vector<std::string> paths, const ImportOptions& options)
    {
        auto reader = std::make_unique<RocprofReader>();
        for (std::string& path : paths) {
            const Status readable = tableOf(path);
            if (leftOut(options, path, readable)) continue;
            FOURWALLS_TRY(readable);
            reader->m_paths.push_back(std::move(path));
        }
        if (reader->m_paths.empty()) return std::unique_ptr<ProfileReader>();
        reader->m_description.path = reader->m_paths.front();
        reader->m_description.producer = "rocprofv3";
        reader->m_description.backend = "rccl";
        FOURWALLS_TRY(reader->findAgents(options.stop));
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_rows; }
    std::string whatToRecord() const override { return kRocprofAgain; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_rows = m_badRows = m_damaged = 0;
        for (const std::string& path : m_paths) {
            FOURWALLS_TRY_ASSIGN(CsvRows rows, CsvRows::open(path));
            const RocprofTable table = rocprofTable(rows).value_or(RocprofTable::Calls);
            const Columns columns(rows);
            for (;;) {
                FOURWALLS_TRY_ASSIGN(const bool more, rows.next());
                if (!more) break;
                if ((++m_rows & 0xfff) == 0 && stop.stop_requested())
                    return Error{ErrorCode::Cancelled, "cancelled", path, ""};
                if (!row(rows, columns, table, visitor)) ++m_badRows;
            }
            m_damaged += rows.damaged();
        }
        return {};
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::UnreadableRows, m_badRows, "rows without readable times");
        auditCount(sink, AuditCounter::FileCut, m_damaged, "tables that end in a row without an end");
    }

private:
    /// Whether a file is such a table: its heading says so.
    static Status tableOf(const std::string& path)
    {
        FOURWALLS_TRY_ASSIGN(const CsvRows rows, CsvRows::open(path));
        if (rocprofTable(rows)) return {};
        return Error{ErrorCode::Unsupported, "a table (CSV) of something else than rocprofv3's traces", path,
                     kRocprofAgain};
    }

    struct Columns {
        explicit Columns(const CsvRows& rows)
            : begin(rows.column("Start_Timestamp"))
            , end(rows.column("End_Timestamp"))
            , correlation(rows.column("Correlation_Id"))
            , agent(rows.column("Agent_Id"))
            , queue(rows.column("Queue_Id"))
            , stream(rows.column("Stream_Id"))
            , name(rows.column("Kernel_Name"))
            , direction(rows.column("Direction"))
            , source(rows.column("Source_Agent_Id"))
            , destination(rows.column("Destination_Agent_Id"))
            , domain(rows.column("Domain"))
            , function(rows.column("Function"))
            , process(rows.column("Process_Id"))
            , thread(rows.column("Thread_Id"))
            , grid{rows.column("Grid_Size_X"), rows.column("Grid_Size_Y"), rows.column("Grid_Size_Z")}
            , block{rows.column("Workgroup_Size_X"), rows.column("Workgroup_Size_Y"), rows.column("Workgroup_Size_Z")}
        {}
        int begin, end, correlation, agent, queue, stream, name, direction, source, destination, domain, function,
            process, thread;
        int grid[3], block[3];
    };

    /// When a row's work was; absent: it does not say, or it was cut.
    static std::optional<std::pair<std::int64_t, std::int64_t>> timesOf(const CsvRows& rows, int begin, int end)
    {
        const auto start = integerFromText(rows.text(begin)), stop = integerFromText(rows.text(end));
        if (!start || !stop || !soundTimes(*start, *stop)) return std::nullopt;
        return std::pair{*start, *stop};
    }

    /// The devices that ran something are the ranks.
    Status findAgents(const std::stop_token& stop)
    {
        std::map<std::int64_t, std::string> agents;
        for (const std::string& path : m_paths) {
            FOURWALLS_TRY_ASSIGN(CsvRows rows, CsvRows::open(path));
            const bool kernels = rocprofTable(rows) == RocprofTable::Kernels;
            const int agent = rows.column("Agent_Id"), begin = rows.column("Start_Timestamp"),
                      end = rows.column("End_Timestamp");
            std::int64_t count = 0;
            while (kernels) {
                FOURWALLS_TRY_ASSIGN(const bool more, rows.next());
                if (!more) break;
                if ((++count & 0xfff) == 0 && stop.stop_requested())
                    return Error{ErrorCode::Cancelled, "cancelled", path, ""};
                if (!timesOf(rows, begin, end)) continue;
                const std::string_view text = agentNumber(rows.text(agent));
                if (agents.size() < kMostAgents) agents.emplace(integerFromText(text).value_or(0), text);
            }
        }
        for (const auto& [number, text] : agents) {
            m_agents.emplace(text, static_cast<int>(m_description.ranks.size()));
            m_description.ranks.emplace_back();
        }
        if (m_description.ranks.empty()) m_description.ranks.emplace_back();
        return {};
    }

    std::optional<int> rankOf(std::string_view agent) const
    {
        const auto found = m_agents.find(agentNumber(agent));
        return found == m_agents.end() ? std::nullopt : std::optional(found->second);
    }

    bool row(const CsvRows& rows, const Columns& columns, RocprofTable table, ProfileVisitor& visitor)
    {
        const auto times = timesOf(rows, columns.begin, columns.end);
        if (!times) return false;
        ProfileRow out;
        out.start = {times->first, 0};
        out.end = {times->second, 0};
        out.correlation = integerFromText(rows.text(columns.correlation));
        if (out.correlation == 0) out.correlation.reset();
        if (table == RocprofTable::Calls) {
            out.category = rocmCategory(rows.text(columns.domain));
            if (out.category != Category::Runtime) out.correlation.reset();
            out.process = rows.text(columns.process);
            out.lane = rows.text(columns.thread);
            out.name = rows.text(columns.function);
            CollectiveDetail detail;
            detail.operation = rcclOperation(out.name);
            if (detail.operation) out.collective = &detail;
            visitor.row(out);
            return true;
        }
        const std::string_view stream = rows.text(columns.stream), queue = rows.text(columns.queue);
        out.role = LaneRole::Stream;
        out.lane = !stream.empty() && stream != "0" ? stream : queue;
        if (table == RocprofTable::Kernels) {
            out.category = Category::Kernel;
            out.rank = rankOf(rows.text(columns.agent)).value_or(0);
            out.process = agentNumber(rows.text(columns.agent));
            out.name = rocmKernelName(rows.text(columns.name));
            m_detail.assign("grid ")
                .append(triple(rows, columns.grid))
                .append(" block ")
                .append(triple(rows, columns.block));
            out.detail = m_detail;
        } else {
            out.category = Category::Memcpy;
            std::string_view agent = rows.text(columns.destination);
            if (!rankOf(agent)) agent = rows.text(columns.source);
            out.rank = rankOf(agent).value_or(0);
            out.process = agentNumber(agent);
            out.name = rows.text(columns.direction);
            if (out.lane.empty()) out.lane = "copies";
        }
        visitor.row(out);
        return true;
    }

    static std::string triple(const CsvRows& rows, const int (&columns)[3])
    {
        std::string text = "[";
        for (const int column : columns) {
            if (text.size() > 1) text += ", ";
            text += rows.text(column).substr(0, 12);
        }
        return text + "]";
    }

    std::vector<std::string> m_paths;
    ProfileDescription m_description;
    std::map<std::string, int, std::less<>> m_agents; ///< index of the rank
    std::int64_t m_rows = 0, m_badRows = 0, m_damaged = 0;
    std::string m_detail;
};

/// One list per process, in the order given.
std::vector<std::vector<std::string>> byProcess(const std::vector<std::string>& paths)
{
    std::vector<std::vector<std::string>> processes;
    std::map<std::string, std::size_t> known;
    for (const std::string& path : paths) {
        const auto [found, isNew] = known.try_emplace(processOfTable(path), processes.size());
        if (isNew) processes.emplace_back();
        processes[found->second].push_back(path);
    }
    return processes;
}

} // namespace

bool isRocprofTable(std::string_view beginning)
{
    const std::string_view heading = beginning.substr(0, beginning.find('\n'));
    const auto has = [heading](std::string_view column) { return heading.find(column) != std::string_view::npos; };
    return has("Start_Timestamp") && has("End_Timestamp") && has("Correlation_Id") &&
           (has("Kernel_Name") || has("Direction") || has("Function"));
}

Result<std::unique_ptr<TraceImport>> openRocprofTables(const std::vector<std::string>& paths,
                                                       const ImportOptions& options)
{
    std::vector<std::unique_ptr<ProfileReader>> readers;
    auto processes = byProcess(paths);
    for (std::vector<std::string>& process : processes) {
        FOURWALLS_TRY_ASSIGN(std::unique_ptr<ProfileReader> reader, RocprofReader::open(std::move(process), options));
        if (reader) readers.push_back(std::move(reader));
    }
    return importRows(std::move(readers), options);
}

Result<TraceFacts> rocprofTableFacts(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<ProfileReader> reader, RocprofReader::open({path}, options));
    return factsOfRows(*reader, options);
}

} // namespace fourwalls::importers
