// SPDX-License-Identifier: Apache-2.0
// One kind of foreign file. A new importer is one more entry in the registry (import_registry.cpp).
#pragma once

#include "model/import/common/trace_facts.h"
#include "model/import/common/trace_import.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

struct ImportFormat {
    std::string_view name;
    /// Whether a file that begins with these bytes (up to 4 KiB, unpacked) is of this kind.
    bool (*recognises)(std::string_view beginning);
    /// Null where all of the files were left out.
    Result<std::unique_ptr<TraceImport>> (*open)(const std::vector<std::string>& paths, const ImportOptions& options);
    Result<TraceFacts> (*facts)(const std::string& path, const ImportOptions& options);
    /// The rank that a file's beginning (up to kInputBeginning, unpacked) tells, for lists before an import; may be null.
    std::optional<int> (*rankInBeginning)(std::string_view beginning) = nullptr;
    /// Where several kinds begin alike (databases): whether this file is one. Absent: the beginning tells.
    bool (*confirms)(const std::string& path) = nullptr;
    /// Of a folder: whether a file of this kind (JSON, a pickle) is a profile and not any other one, by its beginning (up
    /// to kInputBeginning, unpacked). Absent: it is.
    bool (*hasProfileWords)(std::string_view beginning) = nullptr;
    /// Whether nearly any file begins like this, so that only `confirms` tells: one that is not confirmed is of no known
    /// kind.
    bool vague = false;
};

/// What a dump of PyTorch's flight recorder is refused with.
inline Error flightRecorderDump(const std::string& path)
{
    return {ErrorCode::Unsupported, "a dump of PyTorch's flight recorder, which is no profile", path,
            "ask it what a hung job waits for: fourwalls-cli hang FILES, or open it in the window"};
}

/// All formats, the most particular first.
const std::vector<ImportFormat>& importFormats();

Result<std::unique_ptr<TraceImport>> openChromeTraces(const std::vector<std::string>& paths,
                                                      const ImportOptions& options);
Result<TraceFacts> chromeFacts(const std::string& path, const ImportOptions& options);
std::optional<int> chromeRankInBeginning(std::string_view beginning);

/// Chrome JSON that Fourwalls exported; its facts are those of Chrome traces.
Result<std::unique_ptr<TraceImport>> openExports(const std::vector<std::string>& paths, const ImportOptions& options);

/// Chrome JSON of a pipelined job that was recorded by operations, all ranks in one file; facts as of Chrome traces.
bool isOperationTrace(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openOperationTraces(const std::vector<std::string>& paths,
                                                         const ImportOptions& options);

Result<std::unique_ptr<TraceImport>> openSnapshots(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> factsOfSnapshot(const std::string& path, const ImportOptions& options);
bool isNsightExport(const std::string& path);
Result<std::unique_ptr<TraceImport>> openNsightExports(const std::vector<std::string>& paths,
                                                       const ImportOptions& options);
Result<TraceFacts> nsightFacts(const std::string& path, const ImportOptions& options);

/// Databases of Ascend's profiler (torch_npu, MindSpore, msprof).
bool isAscendDatabase(const std::string& path);
Result<std::unique_ptr<TraceImport>> openAscendDatabases(const std::vector<std::string>& paths,
                                                         const ImportOptions& options);
Result<TraceFacts> ascendFacts(const std::string& path, const ImportOptions& options);

/// XSpace profiles of JAX, TensorFlow and XLA.
bool isXSpace(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openXSpaces(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> xspaceFacts(const std::string& path, const ImportOptions& options);

/// rocpd databases and tables (CSV) of rocprofv3, for AMD's devices.
bool isRocpd(const std::string& path);
Result<std::unique_ptr<TraceImport>> openRocpd(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> rocpdFacts(const std::string& path, const ImportOptions& options);
bool isRocprofTable(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openRocprofTables(const std::vector<std::string>& paths,
                                                       const ImportOptions& options);
Result<TraceFacts> rocprofTableFacts(const std::string& path, const ImportOptions& options);

/// What a training job wrote down itself: TensorBoard's event files, lines of a log.
bool isTensorBoard(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openTensorBoards(const std::vector<std::string>& paths,
                                                      const ImportOptions& options);
Result<TraceFacts> tensorBoardFacts(const std::string& path, const ImportOptions& options);
bool isTrainingLog(std::string_view beginning);
/// Text of any kind, and whether it has the lines of a training log further on: settings, warnings and NCCL's own lines
/// may come first. Looks through kMostBeforeFigures.
bool isText(std::string_view beginning);
bool hasTrainingLines(const std::string& path);
constexpr std::size_t kMostBeforeFigures = std::size_t{64} << 20; ///< [bytes]
Result<std::unique_ptr<TraceImport>> openTrainingLogs(const std::vector<std::string>& paths,
                                                      const ImportOptions& options);
Result<TraceFacts> trainingLogFacts(const std::string& path, const ImportOptions& options);

/// Chakra execution traces (.et), one file per rank.
bool isChakra(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openChakras(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> chakraFacts(const std::string& path, const ImportOptions& options);

/// Logs of the NCCL Inspector plugin, and what the programs of nccl-tests print.
bool isNcclInspector(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openNcclInspector(const std::vector<std::string>& paths,
                                                       const ImportOptions& options);
Result<TraceFacts> ncclInspectorFacts(const std::string& path, const ImportOptions& options);
bool isNcclTests(std::string_view beginning);
bool hasNcclTestsHeading(const std::string& path); ///< the same, looking through kMostBeforeFigures of a text
Result<std::unique_ptr<TraceImport>> openNcclTests(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> ncclTestsFacts(const std::string& path, const ImportOptions& options);

/// PyTorch's execution traces, its logs of its compiler (TORCH_TRACE), and memory timelines of torch.profiler.
bool isExecutionTrace(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openExecutionTraces(const std::vector<std::string>& paths,
                                                         const ImportOptions& options);
Result<TraceFacts> executionTraceFacts(const std::string& path, const ImportOptions& options);
bool isTorchTrace(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openTorchTraces(const std::vector<std::string>& paths,
                                                     const ImportOptions& options);
Result<TraceFacts> torchTraceFacts(const std::string& path, const ImportOptions& options);
bool isMemoryTimeline(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openMemoryTimelines(const std::vector<std::string>& paths,
                                                         const ImportOptions& options);
Result<TraceFacts> memoryTimelineFacts(const std::string& path, const ImportOptions& options);

/// Traces of Perfetto, as far as programs wrote them with its library.
bool isPerfetto(std::string_view beginning);
Result<std::unique_ptr<TraceImport>> openPerfettos(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> perfettoFacts(const std::string& path, const ImportOptions& options);

/// Spools of the collector (docs/collector.md), one per process of a run.
Result<std::unique_ptr<TraceImport>> openSpools(const std::vector<std::string>& paths, const ImportOptions& options);
Result<TraceFacts> spoolFacts(const std::string& path, const ImportOptions& options);

} // namespace fourwalls::importers
