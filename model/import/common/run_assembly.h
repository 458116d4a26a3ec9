// SPDX-License-Identifier: Apache-2.0
// The files of a run put together: whether they are of one run at all, how their clocks lie to each other, and what the
// audit says of it. Importers say what their files tell; ranks without a number get one here.
#pragma once

#include "model/import/common/clock_alignment.h"
#include "model/import/common/one_run.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fourwalls::importers {

/// Numbers of the ranks of a run: first those that something says, then the free ones in order.
class RankNumbers {
public:
    /// False if another one has this number.
    bool take(int number) { return m_taken.insert(number).second; }
    RankId next()
    {
        while (!take(m_next)) ++m_next;
        return RankId{m_next};
    }

private:
    std::set<int> m_taken;
    int m_next = 0;
};

/// A file of a run.
struct RunSource {
    RunMember says; ///< `aligned` is filled in by RunAssembly
    std::vector<RankId> ranks;
    std::vector<std::vector<CommunicationMark>> marks; ///< of its ranks, in the file's times; given back once used
    std::int64_t shiftNs = 0;                          ///< added to its times; at first what wall clocks tell
    std::optional<ClockOffset> clock;                  ///< what collectives added to that
};

class RunAssembly {
public:
    /// Files are aligned with the first one, or each with the one before it with which it has most in common.
    enum class Reference : std::uint8_t { First, AnyEarlier };

    std::vector<RunSource> sources;

    /// Collectives place files exactly that wall clocks place roughly.
    void settleClocks(Reference reference);
    /// Errors: as checkOneRun.
    Status check() const;
    /// Offsets, and files without one.
    void audit(TraceSink& sink) const;

private:
    void align(RunSource& source, const RunSource& reference) const;
};

} // namespace fourwalls::importers
