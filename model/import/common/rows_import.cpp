// SPDX-License-Identifier: Apache-2.0
// Rows of all files of a run to a trace: their ranks, their clocks, their steps.
#include "model/import/common/file_rank.h"
#include "model/import/common/one_run.h"
#include "model/import/common/row_passes.h"
#include "model/import/common/spec_inference.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

namespace fourwalls::importers {

namespace {

class RowsImport final : public TraceImport {
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
            FOURWALLS_TRY(surveyRows(file, options.stop));
            if (file.rows == 0)
                return Error{ErrorCode::Unsupported,
                             "nothing in this profile can be shown: it has no work, no calls and no buffers",
                             file.description().path, file.reader->whatToRecord()};
            for (RankState& rank : file.ranks) FOURWALLS_TRY(rank.links.resolve(rank.passes.otherwise()));
            import->m_files.push_back(std::move(file));
        }
        FOURWALLS_TRY(import->settleRanks());
        import->settleClocks();
        FOURWALLS_TRY(import->checkRun());
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        std::vector<RankId> world;
        for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
        const ProfileDescription& first = m_files.front().description();
        RunCollectives collectives(first.backend, world,
                                   m_header.worldSize && static_cast<std::size_t>(*m_header.worldSize) == world.size());
        double done = 0;
        for (RowFile& file : m_files) {
            FOURWALLS_TRY(write(file, sink, collectives, options));
            done += 1;
            if (options.progress) options.progress(done / static_cast<double>(m_files.size()));
        }
        FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, m_steps.writeTo(sink));
        collectives.finish(sink);
        auditRun(sink, collectives);
        return {};
    }

private:
    /// Numbers that the files say, or else their names; devices that nobody numbers follow in their order.
    Status settleRanks()
    {
        std::set<int> used;
        for (RowFile& file : m_files) {
            const ProfileDescription& description = file.description();
            const std::optional<int> named =
                file.ranks.size() == 1 ? rankFromFileName(description.path) : std::optional<int>();
            for (std::size_t i = 0; i < file.ranks.size(); ++i) {
                const std::optional<int> number = description.ranks[i].number ? description.ranks[i].number : named;
                if (!number || *number < 0) continue;
                if (!used.insert(*number).second)
                    return Error{ErrorCode::InvalidArgument,
                                 "rank " + std::to_string(*number) + " is in two of the files", description.path,
                                 "give one file of each rank of one run"};
                file.ranks[i].rank = RankId{*number};
                file.ranks[i].numbered = true;
            }
        }
        int next = 0;
        for (RowFile& file : m_files)
            for (RankState& rank : file.ranks) {
                if (rank.numbered) continue;
                while (used.count(next) > 0) ++next;
                used.insert(next);
                rank.rank = RankId{next};
                ++m_unnumbered;
            }
        return {};
    }

    /// Unix times place files roughly, collectives of their ranks exactly. Instant 0 is the first event.
    void settleClocks()
    {
        const ProfileDescription& reference = m_files.front().description();
        std::int64_t first = 0;
        for (std::size_t i = 0; i < m_files.size(); ++i) {
            RowFile& file = m_files[i];
            const auto unixNs = file.description().unixNs;
            if (unixNs && reference.unixNs)
                file.shiftNs = std::clamp(*unixNs - *reference.unixNs, -kLargestTimeNs / 2, kLargestTimeNs / 2);
            for (std::size_t other = 0; other < i; ++other)
                for (const RankState& theirs : m_files[other].ranks)
                    for (const RankState& own : file.ranks) {
                        const auto offset = estimateOffset(marks(m_files[other], theirs), marks(file, own));
                        if (offset && std::abs(offset->offsetNs) < kLargestTimeNs / 2 &&
                            (!file.clock || offset->matched > file.clock->matched))
                            file.clock = offset;
                    }
            if (file.clock) file.shiftNs += file.clock->offsetNs;
            const std::int64_t begin = file.firstNs.value_or(0) + file.shiftNs;
            first = i == 0 ? begin : std::min(first, begin);
        }
        for (RowFile& file : m_files) {
            file.shiftNs -= first;
            for (RankState& rank : file.ranks) std::vector<CommunicationMark>().swap(rank.communication);
        }
        m_originNs = first;
    }

    static std::vector<CommunicationMark> marks(const RowFile& file, const RankState& rank)
    {
        std::vector<CommunicationMark> moved;
        for (const CommunicationMark& mark : rank.communication) {
            const CommunicationMark each{mark.begin + file.shiftNs, mark.end + file.shiftNs, mark.kind};
            if (each.begin >= -kLargestTimeNs && each.end <= kLargestTimeNs) moved.push_back(each);
        }
        return moved;
    }

    Status checkRun() const
    {
        std::vector<RunMember> members;
        for (const RowFile& file : m_files) {
            const ProfileDescription& description = file.description();
            RunMember member;
            member.path = description.path;
            if (file.ranks.size() == 1 && description.ranks.front().number)
                member.rank = description.ranks.front().number;
            member.worldSize = description.worldSize;
            member.wallClock = description.unixNs.has_value();
            const std::int64_t zero = member.wallClock ? *description.unixNs : 0;
            member.firstNs =
                std::clamp(zero / 2 + file.firstNs.value_or(0) / 2, -kLargestTimeNs / 2, kLargestTimeNs / 2) * 2;
            member.lastNs = std::clamp(zero / 2 + file.lastNs / 2, -kLargestTimeNs / 2, kLargestTimeNs / 2) * 2;
            member.aligned = file.clock.has_value();
            members.push_back(std::move(member));
        }
        return m_files.size() < 2 ? Status() : checkOneRun(members);
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        const ProfileDescription& first = m_files.front().description();
        m_header.computeLabel = first.times;
        m_header.communicationLabel = first.times;
        m_header.producer = first.producer;
        m_header.worldSize = first.worldSize;
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

    Status write(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
    {
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

    void auditRun(TraceSink& sink, const RunCollectives& collectives) const
    {
        if (m_header.ranks.size() > 1)
            sink.audit({"collectives_matched", AuditSeverity::Info, collectives.matchedOperations(),
                        "operations found on several ranks"});
        for (std::size_t i = 1; i < m_files.size(); ++i) {
            const RowFile& file = m_files[i];
            if (!file.clock) {
                sink.audit({"clock_not_aligned", AuditSeverity::Info, 1,
                            "files without enough common collectives: the files' own clocks"});
                continue;
            }
            for (const RankState& rank : file.ranks) auditClock(sink, rank.rank, *file.clock);
        }
        if (m_unnumbered > 0)
            sink.audit({"rank_unknown", AuditSeverity::Info, m_unnumbered, "devices in the order of the files"});
        SpecEvidence evidence;
        evidence.setDevice(m_header.ranks.front().device);
        evidence.setWorld(m_header.worldSize, static_cast<int>(m_header.ranks.size()));
        for (const InferredField& field : evidence.infer()) sink.audit(toAudit(field));
    }

    std::vector<RowFile> m_files;
    TraceHeader m_header;
    TraceClosing m_closing;
    RunSteps m_steps;
    std::int64_t m_originNs = 0, m_unnumbered = 0;
};

} // namespace

Result<std::unique_ptr<TraceImport>> importRows(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                const ImportOptions& options)
{
    return RowsImport::open(std::move(readers), options);
}

} // namespace fourwalls::importers
