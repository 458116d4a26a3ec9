// SPDX-License-Identifier: Apache-2.0
// See run_import.h.
#include "model/import/common/run_import.h"

#include "model/import/common/spec_inference.h"
#include "model/trace/audit_counter.h"

#include <vector>

namespace fourwalls::importers {

Status RunImport::write(TraceSink& sink, const ImportOptions& options)
{
    std::vector<RankId> world;
    for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
    RunCollectives collectives(m_backend, world,
                               m_header.worldSize && static_cast<std::size_t>(*m_header.worldSize) == world.size());
    for (std::size_t i = 0; i < m_run.sources.size(); ++i) {
        FOURWALLS_TRY(writeSource(i, sink, collectives, options));
        if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(m_run.sources.size()));
    }
    FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, m_steps.writeTo(sink));
    collectives.finish(sink);
    if (world.size() > 1) sink.audit(auditRecord(AuditCounter::CollectivesMatched, collectives.matchedOperations()));
    m_run.audit(sink);
    auditCount(sink, AuditCounter::RankUnknown, m_unnumbered, m_order);
    SpecEvidence evidence;
    evidence.setDevice(m_header.ranks.front().device);
    evidence.setWorld(m_header.worldSize, static_cast<int>(world.size()));
    for (const InferredField& field : evidence.infer()) sink.audit(fourwalls::toAudit(field));
    return {};
}

} // namespace fourwalls::importers
