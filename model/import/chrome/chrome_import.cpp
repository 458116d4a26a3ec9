// SPDX-License-Identifier: Apache-2.0
// PyTorch and Chrome traces of one run: survey every file, settle ranks and clocks, then write one after the other.
#include "model/import/chrome/chrome_survey.h"
#include "model/import/chrome/chrome_writer.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/import_format.h"
#include "model/import/common/parallel_groups.h"
#include "model/import/common/run_assembly.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace fourwalls::importers {

namespace {

/// Share of an import's progress that the surveys take.
constexpr double kSurveyShare = 0.25;

struct RunFile {
    std::string path;
    std::int64_t bytes = 0;
    ChromeSurvey survey;
    RankId rank;
    std::int64_t shiftNs = 0;
    bool rankAssumed = false;
    std::optional<int> saidRank; ///< by the file or its name
};

class ChromeImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<ChromeImport>();
        double total = 0, done = 0;
        for (const std::string& path : paths) total += static_cast<double>(fileBytes(path));
        for (const std::string& path : paths) {
            RunFile file;
            file.path = path;
            file.bytes = fileBytes(path);
            const auto progress = [&](double fraction) {
                if (options.progress && total > 0)
                    options.progress(kSurveyShare * (done + fraction * static_cast<double>(file.bytes)) / total);
            };
            auto survey = surveyChromeTrace(path, progress, options.stop, options.scratchFolder);
            if (leftOut(options, path, survey)) continue;
            FOURWALLS_TRY_ASSIGN(file.survey, std::move(survey));
            done += static_cast<double>(file.bytes);
            import->m_files.push_back(std::move(file));
        }
        if (import->m_files.empty()) return std::unique_ptr<TraceImport>();
        import->settleRanks();
        import->settleClocks();
        FOURWALLS_TRY(import->m_run.check());
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        std::vector<RankId> world;
        for (const RunFile& file : m_files) world.push_back(file.rank);
        std::string backend;
        bool worldKnown = false;
        for (const RunFile& file : m_files) {
            const ChromeHeader& header = file.survey.header;
            if (backend.empty()) backend = header.backend;
            worldKnown = worldKnown || header.worldSize;
            // The whole world is known only from a file that says how large it is.
            if (header.worldSize && *header.worldSize > static_cast<int>(world.size()) &&
                *header.worldSize <= (1 << 20)) {
                world.clear();
                for (int rank = 0; rank < *header.worldSize; ++rank) world.push_back(RankId{rank});
            }
        }
        RunCollectives collectives(backend, world, worldKnown);
        SpecEvidence evidence;
        describeRun(evidence);
        double total = 1, done = 0;
        for (const RunFile& file : m_files) total += static_cast<double>(file.bytes);
        std::vector<TraceFacts> facts;
        RunSteps steps;
        ArithmeticFlops flops{};
        for (RunFile& file : m_files) {
            FilePlacement placement;
            placement.rank = file.rank;
            placement.shiftNs = file.shiftNs;
            placement.pipelined = m_pipelined;
            placement.scratchFolder = options.scratchFolder;
            placement.steps = options.steps;
            if (&file == m_files.data()) placement.evidence = &evidence;
            placement.progress = [&](double fraction) {
                if (options.progress)
                    options.progress(kSurveyShare +
                                     (1 - kSurveyShare) * (done + fraction * static_cast<double>(file.bytes)) / total);
            };
            FOURWALLS_TRY_ASSIGN(auto source, openByteSource(file.path));
            TextWindow window(std::move(source));
            ChromeWriter writer(file.survey, sink, collectives, placement, file.bytes);
            FOURWALLS_TRY_ASSIGN(const ChromeReadReport report,
                                 readChromeTrace(window, writer, file.path, options.stop));
            facts.push_back(writer.finish(report));
            steps.add(file.rank, file.shiftNs, writer.steps());
            for (std::size_t i = 0; i < flops.size(); ++i) flops[i] += writer.flops()[i];
            file.survey = {}; // the tables of one file at a time
            done += static_cast<double>(file.bytes);
        }
        settlePeak(flops);
        FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, steps.writeTo(sink));
        collectives.finish(sink);
        auditRun(sink, collectives);
        for (const InferredField& field : evidence.infer()) sink.audit(toAudit(field));
        // The facts are defined on one file.
        if (facts.size() == 1) sink.audit(toAudit(facts.front()));
        return {};
    }

private:
    void describeRun(SpecEvidence& evidence) const
    {
        const ChromeHeader& first = m_files.front().survey.header;
        std::map<Precision, double> flops;
        for (const RunFile& file : m_files) {
            evidence.addGroups(file.survey.header.groups);
            for (const auto& [precision, sum] : file.survey.flopsByPrecision) flops[precision] += sum;
        }
        evidence.setWorld(first.worldSize, static_cast<int>(m_files.size()));
        const std::string& device = m_header.ranks.front().device;
        evidence.setDevice(m_files.front().survey.ascend.found() ? std::string() : device);
        evidence.setFlops(std::move(flops));
    }

    void settleRanks()
    {
        RankNumbers numbers;
        std::vector<RunFile*> without;
        for (RunFile& file : m_files) {
            std::optional<int> rank = file.survey.header.rank;
            if (!rank) rank = rankFromFileName(file.path);
            file.saidRank = rank;
            if (rank && numbers.take(*rank))
                file.rank = RankId{*rank};
            else
                without.push_back(&file);
        }
        for (RunFile* file : without) {
            file->rank = numbers.next();
            file->rankAssumed = true;
        }
        std::sort(m_files.begin(), m_files.end(), [](const RunFile& a, const RunFile& b) { return a.rank < b.rank; });
    }

    /// Origin: the first event of the run. Ranks whose clock differs are moved onto the first rank's.
    void settleClocks()
    {
        bool wall = true;
        for (const RunFile& file : m_files) wall = wall && file.survey.wallClock();
        std::optional<std::int64_t> origin;
        for (const RunFile& file : m_files) {
            if (!file.survey.firstNs) continue;
            const std::int64_t first = *file.survey.firstNs + file.survey.baseNs();
            origin = origin ? std::min(*origin, first) : first;
        }
        // Sums of two times of a hostile file may be out of range; clamped, no further sum can overflow.
        if (origin) origin = std::clamp(*origin, -kLargestTimeNs, kLargestTimeNs);
        // Small times without a wall clock are kept as they are written.
        constexpr std::int64_t kSmallNs = 1'000'000'000'000'000;
        if (!wall && origin && *origin > -kSmallNs && *origin < kSmallNs) origin = 0;
        m_header.originUnixNs = wall ? origin.value_or(0) : 0;
        for (RunFile& file : m_files) {
            file.shiftNs = file.survey.baseNs() - origin.value_or(0);
            // Without common times, files begin together.
            if (!wall && m_files.size() > 1) file.shiftNs = -file.survey.firstNs.value_or(0);
        }
        for (const RunFile& file : m_files) m_run.sources.push_back(sourceOf(file));
        m_run.settleClocks(RunAssembly::Reference::First);
        for (std::size_t i = 0; i < m_files.size(); ++i) m_files[i].shiftNs = m_run.sources[i].shiftNs;
    }

    static RunSource sourceOf(const RunFile& file)
    {
        const auto unixTime = [base = file.survey.baseNs()](std::int64_t at) {
            return std::clamp(at + base, -kLargestTimeNs, kLargestTimeNs);
        };
        RunSource source;
        source.says.path = file.path;
        source.says.rank = file.saidRank;
        source.says.worldSize = file.survey.header.worldSize;
        source.says.wallClock = file.survey.wallClock();
        source.says.empty = !file.survey.firstNs;
        source.says.firstNs = unixTime(file.survey.firstNs.value_or(0));
        source.says.lastNs = unixTime(file.survey.lastNs);
        source.ranks.push_back(file.rank);
        source.marks.push_back(file.survey.communication); // the writer asks whether there was any
        source.shiftNs = file.shiftNs;
        return source;
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.computeLabel = "measured";
        m_header.communicationLabel = "measured";
        bool kineto = false, beforeKineto = false;
        std::string runtime;
        for (const RunFile& file : m_files) {
            const ChromeHeader& header = file.survey.header;
            kineto = kineto || file.survey.kineto;
            beforeKineto = beforeKineto || file.survey.beforeKineto;
            if (const auto size = worldSizeOf(header); size && (!m_header.worldSize || *m_header.worldSize < *size))
                m_header.worldSize = size;
            if (runtime.empty()) runtime = header.runtime;
            RankInfo info;
            info.rank = file.rank;
            if (!header.devices.empty()) {
                // The host's list; which entry the rank used is not said, but hosts have equal devices.
                const auto index = static_cast<std::size_t>(file.rank.value) % header.devices.size();
                info.device = header.devices[index].name;
                info.memoryBytes = header.devices[index].memoryBytes;
            }
            if (info.device.empty() && file.survey.ascend.found()) info.device = "Ascend NPU";
            if (const auto stage = pipelineStage(header.groups, file.rank.value)) info.pipelineStage = *stage;
            m_pipelined = m_pipelined || info.pipelineStage > 0;
            m_header.ranks.push_back(std::move(info));
        }
        m_header.producer = m_files.front().survey.ascend.found() ? "Ascend PyTorch Profiler"
                            : kineto                              ? "PyTorch Kineto"
                            : beforeKineto                        ? "PyTorch autograd profiler"
                                                                  : "Chrome trace";
        if (!runtime.empty()) m_header.producer += ", " + runtime;
    }

    void auditRun(TraceSink& sink, const RunCollectives& collectives) const
    {
        for (const RunFile& file : m_files) {
            if (file.rankAssumed)
                sink.audit(
                    auditRecord(AuditCounter::RankUnknown, 1, "neither the file nor its name says which rank it is"));
            if (file.rankAssumed && m_files.size() > 1) sink.audit(auditRecord(AuditCounter::RankAssumed, 1));
        }
        m_run.audit(sink);
        if (m_files.size() > 1)
            sink.audit(auditRecord(AuditCounter::CollectivesMatched, collectives.matchedOperations()));
    }

    /// What the waterfall's parts refer to: the data sheet's rate in the arithmetic of most of the known FLOPs.
    void settlePeak(const ArithmeticFlops& flops)
    {
        const auto sheet = deviceDatasheet(m_header.ranks.front().device);
        if (!sheet) return;
        if (sheet->memoryBytesPerSecond > 0) m_closing.memoryBytesPerSecond = sheet->memoryBytesPerSecond;
        const auto most = std::max_element(flops.begin(), flops.end());
        if (*most <= 0) return;
        m_closing.peakFlopsPerDevice = sheet->peak(static_cast<Arithmetic>(most - flops.begin()));
        if (m_closing.peakFlopsPerDevice) m_closing.peakSource = "datasheet";
    }

    std::vector<RunFile> m_files;
    RunAssembly m_run; ///< by file
    TraceHeader m_header;
    TraceClosing m_closing;
    bool m_pipelined = false; ///< ranks of several stages
};

class FactsVisitor final : public ChromeVisitor {
public:
    bool wantsHeader(std::string_view key) override { return m_header.wants(key); }
    explicit FactsVisitor(const std::string& scratchFolder) : m_facts(scratchFolder) {}
    void header(std::string_view key, const JsonToken& value) override { m_header.take(key, value); }
    void event(const ChromeEvent& event) override
    {
        m_facts.add(event, categoryOf(event[EventKey::Cat].text), timeOf(event, EventKey::Ts),
                    timeOf(event, EventKey::Dur));
    }
    TraceFacts finish(const ChromeReadReport& report)
    {
        return m_facts.finish(m_header.baseNs.value_or(0), report.events + report.nonEvents);
    }

private:
    ChromeHeader m_header;
    ChromeFacts m_facts;
};

} // namespace

Result<std::unique_ptr<TraceImport>> openChromeTraces(const std::vector<std::string>& paths,
                                                      const ImportOptions& options)
{
    return ChromeImport::open(paths, options);
}

Result<TraceFacts> chromeFacts(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(auto source, openByteSource(path));
    TextWindow window(std::move(source));
    FactsVisitor visitor(options.scratchFolder);
    FOURWALLS_TRY_ASSIGN(const ChromeReadReport report, readChromeTrace(window, visitor, path, options.stop));
    if (report.events == 0 && !(report.foundEvents && report.nonEvents == 0)) {
        // The survey knows what such files are.
        const auto survey = surveyChromeTrace(path, {}, options.stop, options.scratchFolder);
        if (!survey.ok()) return survey.error();
    }
    return visitor.finish(report);
}

std::optional<int> chromeRankInBeginning(std::string_view beginning)
{
    const std::size_t info = beginning.find("\"distributedInfo\"");
    if (info == std::string_view::npos) return std::nullopt;
    constexpr std::string_view kKey = "\"rank\"";
    std::size_t at = beginning.find(kKey, info);
    if (at == std::string_view::npos || beginning.find('}', info) < at) return std::nullopt;
    at = beginning.find_first_not_of(" \t\r\n:", at + kKey.size());
    int rank = -1;
    if (at == std::string_view::npos) return std::nullopt;
    std::from_chars(beginning.data() + at, beginning.data() + beginning.size(), rank);
    return rank >= 0 ? std::optional(rank) : std::nullopt;
}

} // namespace fourwalls::importers
