// SPDX-License-Identifier: Apache-2.0
// The cost model of one network on one cluster under one framework: from a plan to the costs of a step. Layers are
// priced once per shape and kept, so that a search over plans pays for each shape only once.
#pragma once

#include "model/base/result.h"
#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::cost {

class ScheduleSimulation;
struct OperatorCost;
struct SimulatedStep;
struct StepCost;

/// Not for use by several threads at once; copies are cheap to make per thread with create().
class CostModel {
public:
    /// spec: model, training settings and cluster; its plan is only a default.
    /// Errors: Unsupported, naming what the device description lacks.
    static Result<CostModel> create(const RunSpec& spec, const FrameworkPreset& framework,
                                    const Calibration& calibration);
    /// The same with the framework that the spec names and the published calibration.
    static Result<CostModel> create(const RunSpec& spec);

    CostModel(CostModel&&) noexcept;
    CostModel& operator=(CostModel&&) noexcept;
    ~CostModel();

    /// Costs of one step. batch: samples of the whole job; 0: the spec's.
    /// Errors: InvalidArgument naming the field that does not fit (degrees, batch, stages, network).
    Result<StepCost> stepCost(const ParallelPlan& plan, std::int64_t batch = 0);

    /// Operators of one pass of one micro-batch through a position, in order. Errors: as stepCost.
    Result<std::vector<OperatorCost>> operators(const ParallelPlan& plan, int position, PipelinePass pass,
                                                bool recompute = false, std::int64_t batch = 0);

    /// As simulateSchedule (schedule_simulation.h). What one shape's graph needs is kept for the next step of that shape.
    Result<SimulatedStep> simulate(const StepCost& cost, bool detailed = false);

    const RunSpec& spec() const;
    const FrameworkPreset& framework() const;
    const Calibration& calibration() const;

private:
    struct State;
    explicit CostModel(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
    std::shared_ptr<ScheduleSimulation> m_simulation; ///< of this model alone; null: nothing was simulated yet
};

} // namespace fourwalls::cost
