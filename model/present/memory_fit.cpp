// SPDX-License-Identifier: Apache-2.0
// See memory_fit.h.
#include "model/present/memory_fit.h"

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"

namespace fourwalls {

namespace {

constexpr std::int64_t kLargestSize = 1 << 20;

/// Peaks of variations of one spec. A model serves as long as the sequence stays.
class Peaks {
public:
    Peaks(const FrameworkPreset& framework, const Calibration& calibration)
        : m_framework(framework)
        , m_calibration(calibration)
    {}

    Result<double> peak(const RunSpec& spec)
    {
        if (!m_model || m_sequence != spec.training.sequence) {
            FOURWALLS_TRY_ASSIGN(m_model, cost::CostModel::create(spec, m_framework, m_calibration));
            m_sequence = spec.training.sequence;
        }
        FOURWALLS_TRY_ASSIGN(const cost::Prediction prediction,
                             cost::closedForm(*m_model, spec.plan, spec.training.batch));
        return prediction.peakBytes;
    }

private:
    const FrameworkPreset& m_framework;
    const Calibration& m_calibration;
    std::optional<cost::CostModel> m_model;
    std::int64_t m_sequence = -1;
};

Error stopped()
{
    return {ErrorCode::Cancelled, "stopped", {}, {}};
}

/// Sizes grow by doubling, then the gap is halved: the peak only grows with the size.
Status findLargest(Peaks& peaks, const RunSpec& spec, MemoryFit& fit, const std::stop_token& stop)
{
    const KnobLocks none;
    const auto fits = [&](std::int64_t size) {
        const auto changed = withValue(spec, Knob::MicrobatchSize, static_cast<double>(size), none);
        const auto peak = changed ? peaks.peak(*changed) : Result<double>(stopped());
        return peak.ok() && *peak <= fit.capacity;
    };
    std::int64_t low = 0, high = 1;
    while (high < kLargestSize && fits(high)) {
        if (stop.stop_requested()) return stopped();
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        if (stop.stop_requested()) return stopped();
        const std::int64_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    fit.largestSize = low;
    fit.largestBatch = low * spec.plan.dp * spec.plan.microbatches;
    return {};
}

} // namespace

Result<MemoryFit> computeMemoryFit(const RunSpec& spec, const std::shared_ptr<const Calibration>& calibration,
                                   std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    std::shared_ptr<const Calibration> rates = calibration;
    if (!rates) {
        FOURWALLS_TRY_ASSIGN(Calibration published, loadCalibration("published"));
        rates = std::make_shared<const Calibration>(std::move(published));
    }
    Peaks peaks(framework, *rates);
    FOURWALLS_TRY(peaks.peak(spec));
    MemoryFit fit;
    fit.capacity = static_cast<double>(spec.cluster.smallestMemoryBytes(spec.plan.worldSize()));
    const KnobLocks none;
    for (const Knob knob :
         {Knob::MicrobatchSize, Knob::Sequence, Knob::Zero, Knob::Tensor, Knob::Pipeline, Knob::Data}) {
        FitCurve curve{knob, valueOf(spec, knob), {}};
        for (const double value : feasibleValues(spec, knob, none, nullptr)) {
            if (stop.stop_requested()) return stopped();
            const auto changed = withValue(spec, knob, value, none);
            const auto peak = changed ? peaks.peak(*changed) : Result<double>(stopped());
            // Far behind the wall there is nothing to see.
            constexpr double kFarBehind = 6;
            if (!peak.ok() || (fit.capacity > 0 && *peak > kFarBehind * fit.capacity && curve.points.size() > 2))
                continue;
            curve.points.push_back({value, *peak});
        }
        if (curve.points.size() > 1) fit.curves.push_back(std::move(curve));
    }
    if (fit.capacity > 0) FOURWALLS_TRY(findLargest(peaks, spec, fit, stop));
    return fit;
}

} // namespace fourwalls
