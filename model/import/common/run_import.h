// SPDX-License-Identifier: Apache-2.0
// An import of files of one run that are written one after the other. What belongs to the run as a whole is done here:
// the operations that its ranks did together, their steps, their clocks, and the network and plan that they tell.
#pragma once

#include "model/import/common/run_assembly.h"
#include "model/import/common/run_collectives.h"
#include "model/import/common/step_finder.h"
#include "model/import/common/trace_import.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fourwalls::importers {

class RunImport : public TraceImport {
public:
    const TraceHeader& header() const final { return m_header; }
    TraceClosing closing() const final { return m_closing; }
    Status write(TraceSink& sink, const ImportOptions& options) final;

protected:
    /// One of the sources of m_run. Its steps go to m_steps.
    virtual Status writeSource(std::size_t source, TraceSink& sink, RunCollectives& collectives,
                               const ImportOptions& options) = 0;

    RunAssembly m_run;
    TraceHeader m_header;
    RunSteps m_steps;
    RankNumbers m_numbers;
    std::string m_backend;         ///< transport of its collectives; empty: not said
    std::int64_t m_unnumbered = 0; ///< ranks that nothing numbers, and
    std::string m_order;           ///< in which order they are numbered

private:
    TraceClosing m_closing;
};

} // namespace fourwalls::importers
