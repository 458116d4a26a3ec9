// SPDX-License-Identifier: Apache-2.0
// Rows of all files of a run to a trace: their ranks, their clocks, their steps.
#include "model/import/common/file_rank.h"
#include "model/import/common/row_passes.h"
#include "model/import/common/run_import.h"

#include <algorithm>
#include <utility>

namespace fourwalls::importers {

namespace {

class RowsImport final : public RunImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<RowsImport>();
        for (auto& reader : readers) {
            RowFile file;
            file.reader = std::move(reader);
            file.ranks.resize(file.description().ranks.size());
            for (RankState& rank : file.ranks) rank.links = LaunchLinks(options.scratchFolder);
            const Status survey = surveyed(file, options.stop);
            if (leftOut(options, file.description().path, survey)) continue;
            FOURWALLS_TRY(survey);
            for (RankState& rank : file.ranks) FOURWALLS_TRY(rank.links.resolve(rank.passes.otherwise()));
            import->m_files.push_back(std::move(file));
        }
        if (import->m_files.empty()) return std::unique_ptr<TraceImport>();
        FOURWALLS_TRY(import->settleRanks());
        import->settleClocks();
        FOURWALLS_TRY(import->m_run.check());
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

private:
    static Status surveyed(RowFile& file, const std::stop_token& stop)
    {
        FOURWALLS_TRY(surveyRows(file, stop));
        if (file.rows > 0) return {};
        return Error{ErrorCode::Unsupported,
                     "nothing in this profile can be shown: it has no work, no calls and no buffers",
                     file.description().path, file.reader->whatToRecord()};
    }

    /// Numbers that the files say, or else their names; devices that nobody numbers follow in their order.
    Status settleRanks()
    {
        for (RowFile& file : m_files) {
            const ProfileDescription& description = file.description();
            const std::optional<int> named =
                file.ranks.size() == 1 ? rankFromFileName(description.path) : std::optional<int>();
            for (std::size_t i = 0; i < file.ranks.size(); ++i) {
                const std::optional<int> number = description.ranks[i].number ? description.ranks[i].number : named;
                if (!number || *number < 0) continue;
                if (!m_numbers.take(*number))
                    return Error{ErrorCode::InvalidArgument,
                                 "rank " + std::to_string(*number) + " is in two of the files", description.path,
                                 "give one file of each rank of one run"};
                file.ranks[i].rank = RankId{*number};
                file.ranks[i].numbered = true;
            }
        }
        for (RowFile& file : m_files)
            for (RankState& rank : file.ranks) {
                if (rank.numbered) continue;
                rank.rank = m_numbers.next();
                ++m_unnumbered;
            }
        return {};
    }

    /// Unix times place files roughly, collectives of their ranks exactly. Instant 0 is the first event.
    void settleClocks()
    {
        const auto reference = m_files.front().description().unixNs;
        for (RowFile& file : m_files) {
            const auto unixNs = file.description().unixNs;
            RunSource source = sourceOf(file);
            if (unixNs && reference)
                source.shiftNs = std::clamp(*unixNs - *reference, -kLargestTimeNs / 2, kLargestTimeNs / 2);
            m_run.sources.push_back(std::move(source));
        }
        m_run.settleClocks(RunAssembly::Reference::AnyEarlier);
        std::optional<std::int64_t> first;
        for (std::size_t i = 0; i < m_files.size(); ++i) {
            const std::int64_t begin = m_files[i].firstNs.value_or(0) + m_run.sources[i].shiftNs;
            first = std::min(first.value_or(begin), begin);
        }
        m_originNs = first.value_or(0);
        for (std::size_t i = 0; i < m_files.size(); ++i) m_files[i].shiftNs = m_run.sources[i].shiftNs - m_originNs;
    }

    static RunSource sourceOf(RowFile& file)
    {
        const ProfileDescription& description = file.description();
        RunSource source;
        source.says.path = description.path;
        if (file.ranks.size() == 1) source.says.rank = description.ranks.front().number;
        source.says.worldSize = description.worldSize;
        source.says.wallClock = description.unixNs.has_value();
        const auto unixTime = [zero = description.unixNs.value_or(0)](std::int64_t at) {
            return std::clamp(zero / 2 + at / 2, -kLargestTimeNs / 2, kLargestTimeNs / 2) * 2;
        };
        source.says.firstNs = unixTime(file.firstNs.value_or(0));
        source.says.lastNs = unixTime(file.lastNs);
        for (RankState& rank : file.ranks) {
            source.ranks.push_back(rank.rank);
            source.marks.push_back(std::move(rank.communication));
        }
        return source;
    }

    /// Files whose lengths came about in different ways name them all.
    static void addLabel(std::string& all, const std::string& label)
    {
        if (("; " + all + "; ").find("; " + label + "; ") == std::string::npos)
            all += (all.empty() ? "" : "; ") + label;
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        const ProfileDescription& first = m_files.front().description();
        m_header.clock = first.clock;
        for (const RowFile& file : m_files) {
            const ProfileDescription& each = file.description();
            addLabel(m_header.computeLabel, each.times);
            addLabel(m_header.communicationLabel,
                     each.communicationTimes.empty() ? each.times : each.communicationTimes);
        }
        m_header.producer = first.producer;
        m_header.worldSize = first.worldSize;
        m_backend = first.backend;
        m_order = "devices in the order of the files";
        if (first.unixNs) {
            const std::int64_t half = *first.unixNs / 2 + m_originNs / 2;
            if (half > 0 && half <= kLargestTimeNs / 2) m_header.originUnixNs = *first.unixNs + m_originNs;
        }
        for (const RowFile& file : m_files)
            for (std::size_t i = 0; i < file.ranks.size(); ++i) {
                RankInfo info;
                info.rank = file.ranks[i].rank;
                info.device = file.description().ranks[i].device;
                info.memoryBytes = file.description().ranks[i].memoryBytes;
                m_header.ranks.push_back(std::move(info));
            }
        std::sort(m_header.ranks.begin(), m_header.ranks.end(),
                  [](const RankInfo& a, const RankInfo& b) { return a.rank < b.rank; });
    }

    Status writeSource(std::size_t source, TraceSink& sink, RunCollectives& collectives,
                       const ImportOptions& options) override
    {
        RowFile& file = m_files[source];
        for (RankState& rank : file.ranks) {
            rank.tracks = rank.lanes.defineTracks(sink, rank.rank);
            rank.steps = std::make_unique<StepFinder>(options.steps, options.scratchFolder);
            rank.steps->nameMarks(file.description().marks);
        }
        FOURWALLS_TRY_ASSIGN(const TraceFacts facts, writeRows(file, sink, collectives, options));
        if (m_files.size() == 1) sink.audit(toAudit(facts));
        for (RankState& rank : file.ranks) {
            m_steps.add(rank.rank, file.shiftNs, *rank.steps);
            rank.steps.reset();
            rank.links = LaunchLinks(); // the largest table; the finish needs the memory
        }
        return {};
    }

    std::vector<RowFile> m_files;
    std::int64_t m_originNs = 0;
};

} // namespace

Result<std::unique_ptr<TraceImport>> importRows(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                const ImportOptions& options)
{
    return RowsImport::open(std::move(readers), options);
}

} // namespace fourwalls::importers
