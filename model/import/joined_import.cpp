// SPDX-License-Identifier: Apache-2.0
// Two imports behind one header, each writing through its own placement.
#include "model/import/joined_import.h"

#include "model/import/common/categorising_sink.h"
#include "model/import/common/placed_sink.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <set>
#include <string>

namespace fourwalls::importers {

namespace {

constexpr double kKernelShare = 0.8; ///< of the progress

class JoinedImport final : public TraceImport {
public:
    JoinedImport(std::unique_ptr<TraceImport> kernels, std::unique_ptr<TraceImport> buffers)
        : m_kernels(std::move(kernels))
        , m_buffers(std::move(buffers))
        , m_header(m_kernels->header())
    {
        const TraceHeader& memory = m_buffers->header();
        m_header.producer += " and " + memory.producer;
        pairRanks(memory);
        m_sameClock = m_header.originUnixNs != 0 && memory.originUnixNs != 0;
        if (m_sameClock)
            m_buffersAt.shift = Duration{
                std::clamp(memory.originUnixNs - m_header.originUnixNs, -kLargestTimeNs / 2, kLargestTimeNs / 2)};
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override
    {
        AllocatorLeftOut left;
        return closing(left);
    }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        const auto share = [&](double from, double width) {
            ImportOptions part = options;
            if (options.progress)
                part.progress = [&options, from, width](double fraction) { options.progress(from + width * fraction); };
            return part;
        };
        OptimizerRuns runs;
        CategorisingSink watched(sink, runs, false);
        PlacedSink kernels(watched, m_kernelsAt);
        FOURWALLS_TRY(m_kernels->write(kernels, share(0, kKernelShare)));
        CategorisingSink held(sink, runs, true);
        PlacedSink buffers(held, m_buffersAt);
        FOURWALLS_TRY(m_buffers->write(buffers, share(kKernelShare, 1 - kKernelShare)));
        held.release();
        AllocatorLeftOut left;
        (void)closing(left);
        auditLeftOut(left, sink);
        if (m_sameClock)
            sink.audit(auditRecord(AuditCounter::MemoryClockOffsetNs, m_buffersAt.shift.ns));
        else
            sink.audit(auditRecord(AuditCounter::ClockNotAligned, 1,
                                   "one of the profiles has no wall clock: buffers and kernels begin together"));
        if (m_rankAssumed)
            sink.audit(auditRecord(AuditCounter::RankAssumed, 1,
                                   "the snapshots do not name the ranks of the other profile: paired in order"));
        return {};
    }

private:
    TraceClosing closing(AllocatorLeftOut& left) const
    {
        const TraceClosing ofKernels = m_kernels->closing();
        TraceClosing closing = ofKernels;
        closing.segments.clear();
        closing.blocks.clear();
        addAllocatorState(closing, ofKernels, m_kernelsAt, left);
        addAllocatorState(closing, m_buffers->closing(), m_buffersAt, left);
        return closing;
    }

    void pairRanks(const TraceHeader& memory)
    {
        std::set<RankId> known;
        for (const RankInfo& rank : m_header.ranks) known.insert(rank.rank);
        const bool fit = std::all_of(memory.ranks.begin(), memory.ranks.end(),
                                     [&](const RankInfo& rank) { return known.contains(rank.rank); });
        if (!fit && memory.ranks.size() == known.size()) {
            m_rankAssumed = true;
            auto next = known.begin();
            for (const RankInfo& rank : memory.ranks) m_buffersAt.ranks[rank.rank] = *next++;
        }
        for (const RankInfo& rank : memory.ranks) {
            const RankId ofRun = m_buffersAt.rank(rank.rank);
            m_kernelsAt.buffersElsewhere.push_back(ofRun);
            if (!known.insert(ofRun).second) continue;
            m_header.ranks.push_back(rank);
            m_header.ranks.back().rank = ofRun;
        }
    }

    std::unique_ptr<TraceImport> m_kernels, m_buffers;
    TraceHeader m_header;
    SourcePlacement m_kernelsAt, m_buffersAt;
    bool m_sameClock = false, m_rankAssumed = false;
};

} // namespace

std::unique_ptr<TraceImport> joinSnapshots(std::unique_ptr<TraceImport> kernels, std::unique_ptr<TraceImport> buffers)
{
    return std::make_unique<JoinedImport>(std::move(kernels), std::move(buffers));
}

} // namespace fourwalls::importers
