// SPDX-License-Identifier: Apache-2.0
// See learned_calibration.h.
#include "model/learn/learned_calibration.h"

#include "model/base/quadrature.h"
#include "model/cost/predicted_step.h"
#include "model/spec/framework_preset.h"
#include "model/spec/names.h"
#include "model/trace/known_spec.h"
#include "model/trace/metrics.h"
#include "model/trace/spec_evidence.h"
#include "model/trace/spec_guess.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace fourwalls::learn {

namespace {

/// A trace of which the network is known.
struct Lesson {
    RunSpec spec;
    FrameworkPreset framework;
    StepOperators recorded;
    Spread steps; ///< seconds of its steps
};

/// What another plan adds to the band, in the logarithm: nine in ten of the pairs of docs/cost-model.md ("Like a trace")
/// lie within it.
constexpr double kOtherPlan = 0.2;
/// Half the distance of the quartiles of a normal distribution, times this, holds nine in ten.
constexpr double kNineInTen = 1.645 / 0.6745;
constexpr double kMostBand = 5; ///< a factor of 150 says that nothing is known

Error named(Error error, const std::string& trace)
{
    error.where = trace + (error.where.empty() ? "" : ": " + error.where);
    return error;
}

class Teacher {
public:
    Teacher(const std::optional<KnownMachine>& known, std::stop_token stop) : m_given(known), m_stop(stop) {}

    Status read(const TeachingTrace& from)
    {
        const Status done = readTrace(*from.trace);
        return done.ok() ? done : Status(named(done.error(), from.name));
    }

    Result<LearnedCalibration> finish()
    {
        LearnedCalibration& result = m_result;
        Calibration& calibration = result.calibration;
        ClusterSpec& cluster = result.cluster;
        // Ranks that share one memory are as many as a plan wants; of others there are enough nodes.
        int& places = cluster.nicsPerNode > 0 ? cluster.nodes : cluster.devicesPerNode;
        const int each = cluster.nicsPerNode > 0 ? std::max(1, cluster.devicesPerNode) : 1;
        places = std::max(places, (m_ranks + each - 1) / each);
        learnOverheads();
        result.transfers = m_transfers.transfers();
        learnLinks(result.transfers, cluster, calibration);
        learnRanges();
        if (m_kernels) {
            result.kernels = m_kernels->kernels();
            result.kernelShare = m_kernels->shareWithRate();
            if (m_precision) FOURWALLS_TRY(learnRates());
        }
        FOURWALLS_TRY(learnLevelsOfOperators());
        FOURWALLS_TRY(learnBand());
        return std::move(result);
    }

private:
    Status readTrace(TraceQuery& trace)
    {
        FOURWALLS_TRY_ASSIGN(const TraceInfo info, infoWithInferences(trace));
        KnownSpec known = knownSpec(info);
        if (known.spec && !known.spec->cluster.otherNodes.empty())
            return Error{ErrorCode::Unsupported,
                         "its ranks ran on devices of several kinds, whose times would be mixed",
                         {},
                         "a recording on nodes of one kind, and the cluster of several for the prediction"};
        if (known.spec && known.spec->training.device == DeviceKind::Cpu)
            computeOnCores(known.spec->cluster, known.spec->training.precision, info.closing.peakFlopsPerDevice,
                           info.closing.memoryBytesPerSecond);
        FOURWALLS_TRY(meet(info, known));
        FOURWALLS_TRY_ASSIGN(const replay::Recording recording, replay::readRecording(trace, std::nullopt, m_stop));
        const ClusterSpec& cluster = known.spec ? known.spec->cluster : m_result.cluster;
        m_transfers.add(recording, nodesOf(info, cluster));
        m_overheads.add(recording);
        m_ranks =
            std::max(m_ranks, static_cast<int>(std::max(info.header.ranks.size(),
                                                        static_cast<std::size_t>(info.header.worldSize.value_or(1)))));
        if (m_kernels) m_kernels->add(recording);
        const bool shareCores = info.header.clock == ClockKind::Wall && info.header.spec && known.spec &&
                                known.spec->training.device == DeviceKind::Cpu &&
                                info.header.spec->cluster.devicesPerNode > 1 &&
                                info.header.spec->plan.worldSize() > info.header.spec->cluster.devicesPerNode;
        if (shareCores) note("a recording has more ranks than cores: its transfers hold the computing of other ranks");
        if (!known.spec) return {};
        auto recorded = recordedOperators(trace, recording);
        if (!recorded.ok()) return recorded.error();
        FOURWALLS_TRY_ASSIGN(FrameworkPreset framework, loadFramework(known.spec->framework));
        std::vector<double> steps;
        for (const replay::RecordedStep& step : recording.steps)
            steps.push_back((step.range.end - step.range.begin).seconds());
        m_lessons.push_back(
            {std::move(*known.spec), std::move(framework), std::move(*recorded), spreadOf(std::move(steps))});
        return {};
    }

    /// The machine of the first trace; of the others, whether it is the same.
    Status meet(const TraceInfo& info, const KnownSpec& known)
    {
        const std::string device = known.spec                   ? known.spec->cluster.device.name
                                   : !info.header.ranks.empty() ? info.header.ranks.front().device
                                                                : "";
        const std::optional<Precision> precision =
            known.spec ? std::optional(known.spec->training.precision) : std::nullopt;
        if (m_met) {
            if (device != m_device)
                return Error{ErrorCode::Unsupported, "ran on " + device + ", an earlier trace on " + m_device, "",
                             "learn from traces of one kind of device at a time"};
            if (precision && m_precision && *precision != *m_precision)
                return Error{ErrorCode::Unsupported,
                             "computes in " + std::string(fourwalls::name(*precision)) + ", an earlier trace in " +
                                 std::string(fourwalls::name(*m_precision)),
                             "", "learn from traces of one precision at a time"};
            return {};
        }
        m_met = true;
        m_device = device;
        m_precision = precision;
        Calibration& calibration = m_result.calibration;
        if (m_given) {
            m_result.cluster = m_given->cluster;
            calibration = m_given->calibration;
        } else if (known.spec) {
            m_result.cluster = known.spec->cluster;
            if (known.spec->training.device == DeviceKind::Cpu) {
                calibration = rateOfACore();
            } else {
                FOURWALLS_TRY_ASSIGN(calibration, loadCalibration("published"));
            }
        } else {
            bool exact = false;
            auto cluster = clusterWithDevice(device, exact);
            if (!cluster)
                return Error{ErrorCode::Unsupported,
                             device.empty() ? "the trace does not say which device it ran on"
                                            : "no rates of " + device + " are known to begin with",
                             "", "name the machines: --cluster"};
            if (!exact) note("the machine is " + device + ", of which " + cluster->name + " is the nearest preset");
            m_result.cluster = std::move(*cluster);
            FOURWALLS_TRY_ASSIGN(calibration, loadCalibration("published"));
        }
        if (!m_precision) {
            note("no trace says its network and precision: what kernels took is listed, and is no rate of predictions");
            m_kernels.emplace(4.0, m_framework.lossBytesPerLogit);
            return {};
        }
        FOURWALLS_TRY_ASSIGN(m_framework, loadFramework(known.spec->framework));
        const bool wide = *m_precision == Precision::F32 || *m_precision == Precision::Tf32;
        m_kernels.emplace(wide ? 4.0 : 2.0, m_framework.lossBytesPerLogit);
        return {};
    }

    /// Which machine a rank is on: of a modelled cluster by its number, else by its host's name.
    static std::map<RankId, std::int64_t> nodesOf(const TraceInfo& info, const ClusterSpec& cluster)
    {
        std::map<RankId, std::int64_t> nodes;
        std::map<std::string, std::int64_t> hosts;
        const bool modelled = info.header.clock != ClockKind::Wall;
        for (const RankInfo& rank : info.header.ranks) {
            const auto host = hosts.try_emplace(rank.host, static_cast<std::int64_t>(hosts.size())).first->second;
            nodes[rank.rank] = modelled ? rank.rank.value / std::max(1, cluster.devicesPerNode) : host;
        }
        return nodes;
    }

    void learnOverheads()
    {
        Calibration& calibration = m_result.calibration;
        const StepOverheads overheads = m_result.overheads = m_overheads.overheads();
        calibration.deviceSpread = 0;
        calibration.busySlowdown = 1;
        calibration.contention = overheads.slowdown.count > 0 ? std::max(0.0, overheads.slowdown.median - 1) : 0;
        if (overheads.beside.count > 0) calibration.besideFraction = std::clamp(overheads.beside.median, 1e-3, 1.0);
        if (overheads.launch.count > 0) calibration.launchSeconds = overheads.launch.median;
        if (overheads.gap.count > 0) calibration.kernelSeconds = overheads.gap.median;
        if (overheads.reading.count > 0) calibration.stepSeconds = std::max(0.0, overheads.reading.median);
        if (overheads.slowdown.count == 0)
            note("no kernel was met both beside transfers and without: computation is taken not to slow down");
    }

    /// For the choice of a robust plan: what single executions vary by.
    void learnRanges()
    {
        Calibration& calibration = m_result.calibration;
        if (m_kernels) {
            const Spread relative = m_kernels->relative();
            calibration.computeLow = calibration.memoryLow = std::clamp(relative.low, 1e-3, 1.0);
            calibration.computeHigh = calibration.memoryHigh = std::clamp(relative.high, 1.0, 1e3);
        }
        double median = 0, low = 0, high = 0;
        for (const LearnedTransfer& transfer : m_result.transfers)
            for (const LearnedTransfer::Point& point : transfer.points) {
                const auto count = static_cast<double>(point.seconds.count);
                median += count * point.seconds.median;
                low += count * point.seconds.low;
                high += count * point.seconds.high;
            }
        if (!(median > 0)) return;
        calibration.communicationLow = std::clamp(low / median, 1e-3, 1.0);
        calibration.communicationHigh = std::clamp(high / median, 1.0, 1e3);
    }

    Status learnRates()
    {
        Calibration& calibration = m_result.calibration;
        const DeviceSpec& device = m_result.cluster.device;
        FOURWALLS_TRY_ASSIGN(const cost::DeviceRates before,
                             cost::deviceRates(device, *m_precision, m_framework, calibration));
        std::size_t leftOut = 0;
        OperatorRates learned = m_kernels->rates(before, leftOut);
        if (leftOut > 0)
            note(std::to_string(leftOut) + " shapes with little time did not fit into the tables of rates");
        if (learned.empty()) return {};
        // Of a family without an entry the others' hold.
        calibration.families.try_emplace(device.family, calibration.family(device.family));
        OperatorRates& rates = calibration.families[device.family].operators[*m_precision];
        for (auto& [name, grid] : learned) rates.insert_or_assign(name, std::move(grid));
        return {};
    }

    /// How wrong the traces' own plans are still predicted, how far their steps are apart, and what another plan adds.
    Status learnBand()
    {
        double own = 0;
        for (const Lesson& lesson : m_lessons) {
            RunSpec spec = lesson.spec;
            spec.cluster = m_result.cluster;
            FOURWALLS_TRY_ASSIGN(cost::CostModel model,
                                 cost::CostModel::create(spec, lesson.framework, m_result.calibration));
            FOURWALLS_TRY_ASSIGN(const cost::PredictedStep step, cost::predictStep(model, spec));
            if (!(lesson.steps.low > 0) || !(step.seconds > 0)) continue;
            const double apart = kNineInTen * std::log(lesson.steps.high / lesson.steps.low) / 2;
            own = std::max(own, inQuadrature(std::log(lesson.steps.median / step.seconds), apart));
        }
        Calibration::Band& band = m_result.calibration.band;
        band.dense = band.narrow = band.experts = std::min(kMostBand, inQuadrature(own, kOtherPlan));
        band.unmeasured = 0;
        return {};
    }

    Status learnLevelsOfOperators()
    {
        std::vector<StepOperators> predicted, recorded;
        GroupsOfNames names;
        const double alone = 1 - m_overheads.slowedShare();
        for (Lesson& lesson : m_lessons) {
            RunSpec spec = lesson.spec;
            spec.cluster = m_result.cluster;
            FOURWALLS_TRY_ASSIGN(cost::CostModel model,
                                 cost::CostModel::create(spec, lesson.framework, m_result.calibration));
            FOURWALLS_TRY_ASSIGN(StepOperators said, predictedOperators(model, spec, names));
            predicted.push_back(std::move(said));
            // What transfers slow is charged where a plan has them beside computation.
            for (auto& [group, seconds] : lesson.recorded.groups) seconds *= alone;
            lesson.recorded.computation *= alone;
            recorded.push_back(std::move(lesson.recorded));
        }
        m_result.levels = learnLevels(predicted, recorded, names, m_result.calibration);
        return {};
    }

    void note(std::string sentence)
    {
        auto& notes = m_result.notes;
        if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(std::move(sentence));
    }

    const std::optional<KnownMachine>& m_given;
    std::stop_token m_stop;
    bool m_met = false;
    std::string m_device;
    std::optional<Precision> m_precision;
    FrameworkPreset m_framework;
    int m_ranks = 1;
    std::optional<OperatorRateSamples> m_kernels;
    TransferSamples m_transfers;
    OverheadSamples m_overheads;
    std::vector<Lesson> m_lessons;
    LearnedCalibration m_result;
};

} // namespace

Result<LearnedCalibration> learnCalibration(std::span<const TeachingTrace> traces,
                                            const std::optional<KnownMachine>& known, std::stop_token stop)
{
    Teacher teacher(known, stop);
    for (const TeachingTrace& trace : traces) FOURWALLS_TRY(teacher.read(trace));
    return teacher.finish();
}

Result<LikeTrace> likeTrace(TraceQuery& trace, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const TraceInfo info, infoWithInferences(trace));
    KnownSpec known = knownSpec(info);
    if (!known.spec)
        return Error{ErrorCode::Unsupported, "the trace does not say which network it ran", "--like",
                     "--model, --cluster and --plan without --like"};
    LikeTrace like;
    const TeachingTrace teacher{&trace, "--like"};
    FOURWALLS_TRY_ASSIGN(like.learned, learnCalibration(std::span(&teacher, 1), std::nullopt, stop));
    like.spec = std::move(*known.spec);
    like.spec.cluster = like.learned.cluster;
    like.assumed = std::move(known.assumed);
    for (const LearnedLevel& level : like.learned.levels) like.operators += level.name != "computation" ? 1 : 0;

    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(like.spec.framework));
    FOURWALLS_TRY_ASSIGN(cost::CostModel model,
                         cost::CostModel::create(like.spec, framework, like.learned.calibration));
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep own, cost::predictStep(model, like.spec));
    like.predictedSeconds = own.seconds;
    FOURWALLS_TRY_ASSIGN(const TraceMetrics metrics, computeMetrics(trace));
    if (metrics.stepTime) like.recordedSeconds = metrics.stepTime->seconds();
    return like;
}

} // namespace fourwalls::learn
