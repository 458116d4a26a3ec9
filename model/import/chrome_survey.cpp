// SPDX-License-Identifier: Apache-2.0
// The walk that only looks.
#include "model/import/chrome_survey.h"

#include "model/import/decimal_time.h"
#include "model/import/device_rates.h"
#include "model/import/kernel_class.h"
#include "model/import/op_names.h"
#include "model/import/operator_flops.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

/// What a name means for linking; worked out once per name.
struct NameHints {
    Phase phase = Phase::None;
    int step = -1;
    bool backward = false, flops = false, communication = false;
};

NameHints hintsOf(Category category, std::string_view name)
{
    NameHints hints;
    if (category == Category::Kernel || category == Category::DeviceWork || category == Category::CollectiveWork) {
        hints.communication = category == Category::CollectiveWork || isCommunicationKernel(name);
        return hints;
    }
    constexpr std::string_view kStep = "ProfilerStep#";
    if (name.substr(0, kStep.size()) == kStep) {
        const auto number = integerFromText(name.substr(kStep.size()));
        if (number && *number >= 0 && *number < 1'000'000'000) hints.step = static_cast<int>(*number);
    } else {
        hints.phase = phaseOfOperator(name);
        hints.backward = hints.phase == Phase::BackwardInput || hints.phase == Phase::Recompute;
    }
    hints.flops = name.substr(0, 6) == "aten::";
    return hints;
}

class SurveyVisitor final : public ChromeVisitor {
public:
    SurveyVisitor(ChromeSurvey& survey, std::int64_t fileSize, const std::function<void(double)>& progress)
        : m_survey(survey), m_fileSize(fileSize), m_progress(progress)
    {
    }

    bool wantsHeader(std::string_view key) override { return m_survey.header.wants(key); }
    void header(std::string_view key, const JsonToken& value) override { m_survey.header.take(key, value); }
    void progress(std::int64_t read) override
    {
        if (m_progress && m_fileSize > 0) m_progress(std::min(1.0, static_cast<double>(read) / static_cast<double>(m_fileSize)));
    }

    void event(const ChromeEvent& event) override
    {
        const char phase = event.phase();
        if (phase == 'M') {
            metadata(event);
            return;
        }
        const std::optional<FineTime> fine = timeOf(event, EventKey::Ts);
        if (!fine) return;
        const std::int64_t ts = fine->rounded();
        const Category category = categoryOf(event[EventKey::Cat].text);
        if (category != Category::Span && category != Category::LaunchFlow && category != Category::BackwardFlow) {
            if (!m_survey.firstNs || ts < *m_survey.firstNs) m_survey.firstNs = ts;
            m_survey.lastNs = std::max(m_survey.lastNs, ts);
        }
        if (phase == 'X') slice(event, category, *fine);
        else if (phase == 'B') laneOf(m_survey.lanes, category, event);
        else if (phase == 'b' || phase == 'S')
            m_survey.lanes.find(LaneRole::Async, event[EventKey::Pid].text, event[EventKey::Cat].text);
    }

private:
    void metadata(const ChromeEvent& event)
    {
        const std::string_view what = event[EventKey::Name].text;
        if (!event[ArgKey::Name]) return;
        if (what == "process_name")
            m_survey.lanes.nameProcess(event[EventKey::Pid].text, decoded(event[ArgKey::Name]).substr(0, 200));
        else if (what == "thread_name")
            m_survey.lanes.nameThread(event[EventKey::Pid].text, event[EventKey::Tid].text,
                                      decoded(event[ArgKey::Name]).substr(0, 200));
    }

    void slice(const ChromeEvent& event, Category category, FineTime begin)
    {
        const std::int64_t ts = begin.rounded(), dur = roundedLength(begin, timeOf(event, EventKey::Dur).value_or(FineTime{}));
        if (dur < 0) return;
        if (category != Category::Span) m_survey.lastNs = std::max(m_survey.lastNs, ts + dur);
        const int lane = laneOf(m_survey.lanes, category, event);
        m_survey.kineto = m_survey.kineto || (category != Category::None && category != Category::Other);
        if (isStreamWork(category, event)) {
            streamWork(event, category, lane, ts, dur);
        } else if (isRuntimeCall(category)) {
            const auto correlation = integerFromText(event[ArgKey::Correlation].text);
            if (event[ArgKey::Correlation] && correlation) m_survey.links.addLaunch(*correlation, lane, ts);
        } else if (category == Category::CpuOp || category == Category::UserAnnotation ||
                   category == Category::GpuUserAnnotation) {
            annotation(event, category, lane, ts, dur);
        }
    }

    const NameHints& hints(Category category, std::string_view name)
    {
        m_key.assign(1, static_cast<char>('A' + static_cast<int>(category)));
        m_key.append(name);
        if (m_hints.size() >= OpNames::kMostNames) m_hints.clear(); // worked out again where they come again
        const auto [found, isNew] = m_hints.try_emplace(m_key);
        if (isNew) found->second = hintsOf(category, name);
        return found->second;
    }

    void streamWork(const ChromeEvent& event, Category category, int lane, std::int64_t ts, std::int64_t dur)
    {
        m_survey.deviceWork = true;
        const bool copy = category == Category::Memcpy || category == Category::Memset;
        const std::string_view name = event[EventKey::Name].text;
        const bool communication = !copy && hints(category, name).communication;
        m_survey.lanes.noteWork(lane, copy ? LaneIndex::Work::Copy
                                      : communication ? LaneIndex::Work::Communication : LaneIndex::Work::Compute, dur);
        if (!communication) return;
        auto kind = collectiveOf(event[ArgKey::CollectiveName].text);
        if (!kind) kind = collectiveOf(name);
        m_survey.communication.push_back({ts, ts + dur, kind ? static_cast<int>(*kind) : -1});
    }

    void annotation(const ChromeEvent& event, Category category, int lane, std::int64_t ts, std::int64_t dur)
    {
        const std::string_view name = event[EventKey::Name].text;
        const NameHints hint = hints(category, name);
        if (hint.step >= 0)
            m_survey.steps.push_back({hint.step, ts, ts + dur, category == Category::GpuUserAnnotation});
        if (category == Category::GpuUserAnnotation) return;
        OperatorContext context;
        context.phase = hint.phase;
        m_survey.training = m_survey.training || hint.backward;
        if (hint.flops) context.flops = operatorFlops(name, event[ArgKey::InputDims], event[ArgKey::ConcreteInputs]).value_or(0);
        if (context.flops > 0) notePrecision(event, context.flops);
        if (name == "record_param_comms") {
            if (auto detail = collectiveDetail(event)) {
                context.collective = static_cast<int>(m_survey.details.size());
                m_survey.details.push_back(std::move(*detail));
            }
        }
        if (context.phase != Phase::None || context.flops > 0 || context.collective >= 0)
            m_survey.links.addOperator(lane, ts, ts + dur, context);
    }

    /// The type of an operator's first typed input is what its products are computed in.
    void notePrecision(const ChromeEvent& event, double flops)
    {
        std::optional<Precision> precision;
        if (event[ArgKey::InputTypes].kind == JsonToken::Kind::Array)
            forEachElement(event[ArgKey::InputTypes].text, [&](const JsonToken& type) {
                if (!precision) precision = precisionOfType(type.text);
            });
        if (precision) m_survey.flopsByPrecision[*precision] += flops;
    }

    ChromeSurvey& m_survey;
    std::int64_t m_fileSize;
    const std::function<void(double)>& m_progress;
    std::unordered_map<std::string, NameHints> m_hints;
    std::string m_key;
};

/// What a JSON file without events is, as far as its keys tell.
Error noTraceEvents(const ChromeSurvey& survey, const std::string& path)
{
    const auto has = [&](const char* key) { return survey.header.unknownKeys.count(key) > 0; };
    const char* what = "a JSON file without traceEvents";
    const char* hint = "give a PyTorch or Chrome trace (.json or .json.gz)";
    if (has("schema") && has("nodes")) {
        what = "a PyTorch execution trace, which has no times";
        hint = "give the profiler's own trace (prof.export_chrome_trace)";
    } else if (has("rocprofiler-sdk-tool")) {
        what = "a rocprofiler-sdk JSON file";
        hint = "convert it to a Chrome or PyTorch trace";
    } else if (has("nodes") && has("startTime")) {
        what = "a V8 CPU profile";
    } else if (has("libs") && has("threads")) {
        what = "a Firefox profile";
    } else if (has("shared") && has("profiles")) {
        what = "a speedscope file";
    } else if (survey.report.foundEvents && survey.report.nonEvents > 0) {
        what = "a JSON list without events (a memory timeline is such a list)";
        hint = "give the trace itself, or a memory snapshot (torch.cuda.memory._dump_snapshot)";
    }
    return Error{ErrorCode::Unsupported, what, path, hint};
}

} // namespace

bool isStreamWork(Category category, const ChromeEvent& event)
{
    return isGpuWork(category) ||
           ((category == Category::DeviceWork || category == Category::CollectiveWork) && event[ArgKey::Stream]) ||
           category == Category::DeviceWork;
}

int laneOf(LaneIndex& lanes, Category category, const ChromeEvent& event)
{
    const std::string_view pid = event[EventKey::Pid].text, tid = event[EventKey::Tid].text;
    if (isStreamWork(category, event))
        return lanes.find(LaneRole::Stream, pid, event[ArgKey::Stream] ? event[ArgKey::Stream].text : tid);
    switch (category) {
    case Category::GpuUserAnnotation: return lanes.find(LaneRole::Annotations, pid, tid);
    case Category::PythonFunction: return lanes.find(LaneRole::PythonFrames, pid, tid);
    case Category::CudaSync:
    case Category::CudaEvent: return lanes.find(LaneRole::Synchronisation, pid, tid);
    case Category::Span: return lanes.find(LaneRole::Profiler, {}, {});
    default: return lanes.find(LaneRole::Thread, pid, tid);
    }
}

std::optional<FineTime> timeOf(const ChromeEvent& event, EventKey key)
{
    const JsonToken& token = event[key];
    return token ? fineTimeFromMicroseconds(token.text) : std::nullopt;
}

bool ChromeSurvey::wallClock() const
{
    // Microseconds since 1970 have had 16 digits since 2001.
    constexpr std::int64_t kEarliestNs = 1'000'000'000'000'000'000;
    return baseNs() > 0 || (firstNs && *firstNs >= kEarliestNs);
}

Result<ChromeSurvey> surveyChromeTrace(const std::string& path, const std::function<void(double)>& progress,
                                       std::stop_token stop, const std::string& scratchFolder)
{
    FOURWALLS_TRY_ASSIGN(auto source, openByteSource(path));
    TextWindow window(std::move(source));
    ChromeSurvey survey;
    survey.links = LaunchLinks(scratchFolder);
    SurveyVisitor visitor(survey, fileBytes(path), progress);
    FOURWALLS_TRY_ASSIGN(survey.report, readChromeTrace(window, visitor, path, stop));
    const bool emptyTrace = survey.report.foundEvents && survey.report.nonEvents == 0;
    if (survey.report.events == 0 && !emptyTrace) return noTraceEvents(survey, path);
    survey.kineto = survey.kineto || survey.header.kineto;
    FOURWALLS_TRY(survey.links.resolve(survey.training ? Phase::Forward : Phase::None));
    return survey;
}

} // namespace fourwalls::importers
