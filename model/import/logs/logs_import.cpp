// SPDX-License-Identifier: Apache-2.0
// The steps of a training as its own log has them, as a trace: steps with their losses, and every other figure as a
// counter. Nothing in it says where the time went.
#include "model/import/common/import_format.h"
#include "model/import/common/json_scan.h"
#include "model/import/logs/step_log.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr RankId kLogRank{0};
constexpr std::size_t kMostLogCounters = 1000;

/// A step with its place in time [ns from the first one's beginning].
struct PlacedStep {
    std::int64_t number = 0, begin = 0, end = 0;
    const LoggedStep* logged = nullptr;
};

std::int64_t toNs(double seconds)
{
    return static_cast<std::int64_t>(std::llround(std::clamp(seconds, -1e9, 1e9) * 1e9));
}

class LogImport final : public TraceImport {
public:
    using Read = std::function<Status(const std::string&, StepLog&)>;

    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths, const Read& read)
    {
        auto import = std::make_unique<LogImport>();
        for (const std::string& path : paths) FOURWALLS_TRY(read(path, import->m_log));
        if (import->m_log.steps.empty())
            return Error{ErrorCode::Unsupported, "no step with a loss or a learning rate is in this log", paths.front(),
                         "give the log of rank 0, or a TensorBoard event file"};
        if (!import->place())
            return Error{ErrorCode::Unsupported, "the log says neither when its steps were nor how long they took",
                         paths.front(),
                         "give a log with times, the trainer_state.json or the TensorBoard event file of the same run"};
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override
    {
        TraceClosing closing;
        closing.stepsBy = "the job's own log";
        return closing;
    }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        const TrackId track = sink.defineTrack({kLogRank, TrackKind::Markers, "steps", 0});
        OpInfo info;
        info.name = "step";
        info.kind = SliceKind::Step;
        const OpId op = sink.defineOp(info);
        std::map<std::string, CounterId> counters;
        const auto counterOf = [&](const std::string& name) {
            const auto found = counters.find(name);
            if (found != counters.end()) return std::optional(found->second);
            if (counters.size() >= kMostLogCounters) return std::optional<CounterId>();
            const CounterId id = sink.defineCounter({std::nullopt, validUtf8(name), CounterUnit::None});
            return std::optional(counters.emplace(name, id).first->second);
        };
        const std::unique_ptr<TraceProducer> producer = sink.openProducer();
        std::int64_t samplesOf = 0;
        for (const PlacedStep& placed : m_placed) {
            if (options.stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "log", ""};
            const LoggedStep& logged = *placed.logged;
            StepRecord step;
            step.step = StepIndex{static_cast<std::int32_t>(placed.number)};
            step.range = {Instant{placed.begin}, Instant{placed.end}};
            step.loss = logged.loss;
            step.learningRate = logged.learningRate;
            step.gradientNorm = logged.gradientNorm;
            if (logged.samples) samplesOf = static_cast<std::int64_t>(std::clamp(*logged.samples, 0.0, 1e12));
            step.samples = samplesOf > 0 ? samplesOf : samplesAtRate(logged, step.range.length());
            if (m_log.sequenceLength)
                step.tokens = static_cast<std::int64_t>(
                    std::clamp(static_cast<double>(step.samples) * *m_log.sequenceLength, 0.0, 1e18));
            producer->step(kLogRank, step);
            SliceRecord slice;
            slice.track = track;
            slice.op = op;
            slice.start = step.range.begin;
            slice.duration = step.range.length();
            producer->slice(slice);
            const auto sample = [&](const std::string& name, double value) {
                if (const auto counter = counterOf(name)) producer->counter({*counter, step.range.end, value});
            };
            if (logged.loss) sample("loss", *logged.loss);
            if (logged.learningRate) sample("lr", *logged.learningRate);
            if (logged.gradientNorm) sample("grad_norm", *logged.gradientNorm);
            for (const auto& [name, value] : logged.figures) sample(name, value);
        }
        sink.audit(auditRecord(AuditCounter::ImportRows, m_log.records, "lines or events read"));
        auditCount(sink, AuditCounter::FiguresLeftOut, m_log.leftOut);
        auditCount(sink, AuditCounter::StepsWithoutTime, m_unplaced);
        if (!m_log.damage.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_log.damage));
        if (m_lengthsFromTimes) sink.audit(auditRecord(AuditCounter::StepLengthsFromLogTimes, 1));
        return {};
    }

private:
    /// Of a log that has no batch, but says how many samples were done in a second. 0: it does not.
    std::int64_t samplesAtRate(const LoggedStep& logged, Duration length) const
    {
        const std::optional<double> rate = logged.samplesPerSecond ? logged.samplesPerSecond : m_log.samplesPerSecond;
        return rate ? std::llround(std::clamp(*rate * length.seconds(), 0.0, 1e12)) : 0;
    }

    /// Gives every step a begin and an end. False if nothing tells any length.
    bool place()
    {
        std::vector<std::pair<std::int64_t, const LoggedStep*>> steps;
        bool anyLength = false, anyTime = false;
        for (const auto& [number, step] : m_log.steps) {
            steps.emplace_back(number, &step);
            anyLength = anyLength || (step.length && *step.length > 0);
            anyTime = anyTime || step.unixTime.has_value();
        }
        if (!anyLength && !(anyTime && steps.size() > 1) && !m_log.runtime) return false;
        m_lengthsFromTimes = m_log.lengthsFromTimes || (!anyLength && anyTime && steps.size() > 1);
        const auto between = [&](std::size_t a, std::size_t b) -> std::optional<double> {
            if (!steps[a].second->unixTime || !steps[b].second->unixTime) return std::nullopt;
            const double apart = *steps[b].second->unixTime - *steps[a].second->unixTime;
            return apart > 0 ? std::optional(apart / static_cast<double>(steps[b].first - steps[a].first))
                             : std::nullopt;
        };
        if (anyTime)
            for (const auto& [number, step] : steps)
                if (step->unixTime && (!m_firstTime || *step->unixTime < *m_firstTime)) m_firstTime = *step->unixTime;
        double clock = 0; ///< where nothing has a time: the steps one after the other
        std::int64_t last = INT64_MIN;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const auto& [number, step] = steps[i];
            std::optional<double> length = step->length;
            if (!length && i > 0) length = between(i - 1, i);
            if (!length && i + 1 < steps.size()) length = between(i, i + 1); // the first
            if (!length && m_log.runtime)
                length = *m_log.runtime / static_cast<double>(std::max<std::int64_t>(1, steps.back().first));
            if (!length || !(*length > 0) || *length > 1e8 || (anyTime && !step->unixTime)) {
                ++m_unplaced;
                continue;
            }
            const double passed = i > 0 ? static_cast<double>(number - steps[i - 1].first) : 1.0;
            clock += *length * std::clamp(passed, 1.0, 1e6);
            PlacedStep placed;
            placed.number = number;
            placed.logged = step;
            placed.end = anyTime ? toNs(*step->unixTime - *m_firstTime) : toNs(clock);
            placed.begin = std::max(placed.end - toNs(*length), last);
            if (placed.end <= placed.begin) {
                ++m_unplaced;
                continue;
            }
            last = placed.end;
            m_placed.push_back(placed);
        }
        // Instant 0 is where the first one began.
        if (m_placed.empty()) return false;
        const std::int64_t first = m_placed.front().begin;
        if (m_firstTime) m_originNs = toNs(*m_firstTime / 2) + first / 2;
        for (PlacedStep& placed : m_placed) {
            placed.begin -= first;
            placed.end -= first;
        }
        return true;
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.producer = m_log.producer;
        m_header.computeLabel = "none"; // nothing of it was recorded
        m_header.communicationLabel = "none";
        if (m_firstTime && m_originNs > 0 && m_originNs < kLargestTimeNs / 2) m_header.originUnixNs = 2 * m_originNs;
        RankInfo rank;
        rank.rank = kLogRank;
        m_header.ranks.push_back(std::move(rank));
    }

    StepLog m_log;
    std::vector<PlacedStep> m_placed;
    std::optional<double> m_firstTime;
    std::int64_t m_originNs = 0; ///< half of the Unix time of Instant 0 [ns]
    std::int64_t m_unplaced = 0;
    bool m_lengthsFromTimes = false;
    TraceHeader m_header;
};

Result<TraceFacts> logFacts(const std::string& path, LogImport::Read read)
{
    StepLog log;
    FOURWALLS_TRY(read(path, log));
    TraceFacts facts;
    facts.eventsTotal = log.records;
    facts.profilerSteps = static_cast<std::int64_t>(log.steps.size());
    return facts;
}

} // namespace

Result<std::unique_ptr<TraceImport>> openTensorBoards(const std::vector<std::string>& paths, const ImportOptions&)
{
    return LogImport::open(paths, readTensorBoard);
}
Result<TraceFacts> tensorBoardFacts(const std::string& path, const ImportOptions&)
{
    return logFacts(path, readTensorBoard);
}
Result<std::unique_ptr<TraceImport>> openTrainingLogs(const std::vector<std::string>& paths,
                                                      const ImportOptions& options)
{
    if (!options.logLine.empty())
        return LogImport::open(
            paths, [&](const std::string& path, StepLog& log) { return readLogByPattern(path, options.logLine, log); });
    return LogImport::open(paths, readTrainingLog);
}
Result<TraceFacts> trainingLogFacts(const std::string& path, const ImportOptions&)
{
    return logFacts(path, readTrainingLog);
}

} // namespace fourwalls::importers
