// SPDX-License-Identifier: Apache-2.0
// Rows of an Nsight Systems SQLite export, read by introspection: tables without rows do not exist and columns come and
// go between versions, so only what is there is asked for. Only the tables and columns named here are ever read; others
// hold the profiled program's environment, command lines and output.
#pragma once

#include "model/base/result.h"
#include "model/import/common/foreign_tables.h"
#include "model/import/nsight/nvtx_payloads.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Work on a device: a kernel, copy, set, synchronisation or whole graph.
struct NsightWork {
    enum class Kind : std::uint8_t { Kernel, Copy, Set, Wait, Graph } kind = Kind::Kernel;
    std::int64_t start = 0, end = 0, device = 0, stream = 0;
    std::optional<std::int64_t> correlation;
    std::int64_t process = 0;               ///< globalPid; 0: not said
    std::int64_t name = -1, shortName = -1; ///< string ids; -1: none
    std::int64_t code = 0;                  ///< copyKind or syncType
    std::optional<std::int64_t> bytes;      ///< of a copy or set
    bool waitsForNothing = false;           ///< of a copy: on devices, or from and to page-locked memory
    std::int64_t grid[3] = {}, block[3] = {};
};

/// A call into the CUDA runtime or driver.
struct NsightCall {
    std::int64_t start = 0, end = 0, thread = 0, name = -1;
    std::optional<std::int64_t> correlation;
};

/// A range or mark of NVTX, or a call of MPI or UCX.
struct NsightRange {
    std::int64_t start = 0, type = 0, thread = 0;
    std::optional<std::int64_t> end;
    std::string_view text; ///< inline, or of the registered string; valid during the call
    std::string_view
        domain;          ///< of a library that names its ranges apart; empty: the program's own; valid as the tables
    NvtxPayload payload; ///< of NCCL's ranges
    bool isCall = false; ///< of MPI or UCX
};

/// A metric of a GPU at an instant.
struct NsightSample {
    std::int64_t at = 0, gpu = 0; ///< gpu: its number on the machine
    std::string_view metric;      ///< "SMs Active [Throughput %]"; valid during the call
    double value = 0;
};

/// Memory of a device taken or given back.
struct NsightAllocation {
    std::int64_t at = 0, process = 0, address = 0, bytes = 0;
    bool freed = false;
};

struct NsightGpu {
    std::int64_t device = 0, id = 0; ///< CUDA's number, as far as the table tells it; the table's own
    std::string name;
    std::int64_t memoryBytes = 0;
};

/// pid and tid of a global thread id, and the process's global id.
constexpr std::int64_t processOf(std::int64_t globalTid)
{
    return globalTid & ~std::int64_t{0xffffff};
}
constexpr std::int64_t pidOf(std::int64_t globalTid)
{
    return globalTid >> 24 & 0xffffff;
}
constexpr std::int64_t tidOf(std::int64_t globalTid)
{
    return globalTid & 0xffffff;
}

/// Whether an NVTX event type is a range.
constexpr bool isNvtxRange(std::int64_t type)
{
    return type == 59 || type == 60 || type == 70 || type == 71;
}

class NsightTables {
public:
    /// Errors: NotFound, Io; Unsupported naming what another database is, or that the export is still running or has a view
    /// where a table is wanted.
    static Result<NsightTables> open(const std::string& path);

    bool has(std::string_view table) const { return m_tables.has(table); }
    const std::string& productVersion() const { return m_product; }
    std::int64_t epochNs() const { return m_epochNs; } ///< Unix time of the file's time 0; 0: not said

    /// Every row in the file's order; those of wrong types or times are left out and counted.
    Status eachWork(const std::function<void(const NsightWork&)>& visit, std::stop_token stop);
    Status eachCall(const std::function<void(const NsightCall&)>& visit, std::stop_token stop);
    Status eachRange(const std::function<void(const NsightRange&)>& visit, std::stop_token stop);
    Status eachSample(const std::function<void(const NsightSample&)>& visit, std::stop_token stop);
    Status eachAllocation(const std::function<void(const NsightAllocation&)>& visit, std::stop_token stop);
    Status eachThreadName(const std::function<void(std::int64_t globalTid, const std::string& name)>& visit);

    /// Tables of timed events that are not read, with rows: CPU samples, OS runtime calls, thread scheduling, metrics, …
    struct Unread {
        std::string table, what; ///< what: in words, where the table is known
        std::int64_t rows = 0;
    };
    std::vector<Unread> unreadTables();

    /// After a pass over work, calls and ranges: Unsupported if there was none, naming what to record.
    Status refuseEmpty();

    /// The name of a CUDA device as a process sees it; empty if the file does not tell.
    std::string deviceName(std::int64_t device, std::int64_t process) const;
    std::int64_t deviceMemory(std::int64_t device, std::int64_t process) const; ///< [bytes]; 0: not said
    /// The machine's number of a CUDA device; CUDA's where the file does not tell.
    std::int64_t gpuNumber(std::int64_t device, std::int64_t process) const;

    /// Counts of one pass over the tables: call before it.
    void restartCounts()
    {
        m_tables.restartCounts();
        m_timedRows = 0;
    }
    std::int64_t badRows() const { return m_tables.badRows(); }
    std::int64_t rows() const { return m_tables.rows(); }

    /// A string that a row refers to; "" if there is none. Strings that nothing refers to are never read.
    const std::string& string(std::int64_t id) { return m_strings.find(m_tables, id); }

private:
    Status readDescription();
    Status workOf(const char* table, NsightWork::Kind kind, const char* code,
                  const std::function<void(const NsightWork&)>& visit, std::stop_token stop);

    ForeignTables m_tables;
    std::string m_product;
    const NsightGpu* gpuOf(std::int64_t device, std::int64_t process) const;

    std::string_view domainOf(const NsightRange& range, std::int64_t domain);

    NvtxPayloads m_payloads;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_domains; ///< names by process and NVTX's number
    std::int64_t m_epochNs = 0, m_timedRows = 0;
    std::vector<NsightGpu> m_gpus;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>
        m_gpuOfDevice; ///< NsightGpu::id by pid and CUDA device
    ForeignStrings m_strings{"StringIds", "value"};
};

} // namespace fourwalls::importers
