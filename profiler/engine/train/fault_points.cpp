// SPDX-License-Identifier: Apache-2.0
// See fault_points.h.
#include "profiler/engine/train/fault_points.h"

#include "profiler/engine/core/engine_error.h"

#include <algorithm>
#include <csignal>

namespace fourwalls::engine {

std::vector<PendingFault> pendingFaults(const std::vector<Fault>& all, const AttemptStart& start, int ranks)
{
    std::vector<PendingFault> pending;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].rank.value >= ranks) continue;
        const auto number = static_cast<std::int64_t>(i);
        const bool happened = std::find(start.fired.begin(), start.fired.end(), number) != start.fired.end();
        if (!happened || all[i].kind == FaultKind::Spike) pending.push_back({all[i], number});
    }
    return pending;
}

FaultPoints::FaultPoints(const RunOptions& options, RankContext& rank, Trainer& trainer,
                         std::vector<PendingFault> faults)
    : m_options(options)
    , m_rank(rank)
    , m_trainer(trainer)
    , m_faults(std::move(faults))
{}

void FaultPoints::tell(const PendingFault& fault, bool isEnd)
{
    Recorder& recorder = m_rank.recorder;
    if (m_options.notes)
        m_options.notes->add({.what = JobNote::What::Fired,
                              .isEnd = isEnd,
                              .rank = recorder.rank(),
                              .step = fault.number,
                              .at = recorder.wallNow()});
    if (!m_options.blind) recorder.event(EventKind::Fault, "on purpose: " + textOf(fault.fault));
}

void FaultPoints::before(std::int64_t step, std::int64_t batch)
{
    const RankId own = m_rank.recorder.rank();
    m_step = step;
    m_trainer.setRateFactor(1);
    for (const PendingFault& each : m_faults) {
        const Fault& fault = each.fault;
        if (fault.kind == FaultKind::Spike && fault.step == batch) {
            m_trainer.setRateFactor(kSpikeFactor);
            if (own.value == 0) tell(each, false);
        }
        if (fault.step != step) continue;
        if (fault.kind == FaultKind::Slow && fault.rank == own) tell(each, false);
        if (fault.kind == FaultKind::Flip) {
            if (fault.rank == own) tell(each, false);
            m_trainer.flipWeight(fault.rank);
        }
    }
}

void FaultPoints::during()
{
    const RankId own = m_rank.recorder.rank();
    for (const PendingFault& each : m_faults) {
        if (each.fault.rank != own || each.fault.step != m_step) continue;
        if (each.fault.kind == FaultKind::Kill) kill(each);
        if (each.fault.kind != FaultKind::OutOfMemory) continue;
        tell(each, true);
        fillMemory();
    }
}

void FaultPoints::kill(const PendingFault& fault)
{
    tell(fault, true);
    if (m_options.processes) {
        if (m_options.sink) m_options.sink->settle(); // what happened before it is in the trace
        std::raise(SIGKILL);
    }
    throw EngineError(ErrorCode::Internal, "was killed in step " + std::to_string(fault.fault.step),
                      "rank " + std::to_string(m_rank.recorder.rank().value));
}

void FaultPoints::fillMemory()
{
    const Scope op(m_rank.recorder, SliceKind::Operator, "take all memory");
    constexpr std::int64_t kFirst = std::int64_t{1} << 28; // [floats], and twice as many each time
    std::vector<Tensor> taken;
    for (std::int64_t count = kFirst;; count *= 2)
        taken.push_back(Tensor::make(m_rank.allocator, {count}, DType::F32, MemoryCategory::Other));
}

} // namespace fourwalls::engine
