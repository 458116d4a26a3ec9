// SPDX-License-Identifier: Apache-2.0
// The walk that only looks.
#include "model/import/chrome/chrome_survey.h"

#include "model/import/chrome/collective_metadata.h"
#include "model/import/chrome/grouped_requests.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/name_memo.h"
#include "model/import/common/op_names.h"
#include "model/import/common/operator_flops.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

/// Requests for communication that are kept; each is 32 bytes.
constexpr std::size_t kMostRequests = 1'000'000;

/// What a name means for linking; worked out once per name.
struct NameHints {
    Phase phase = Phase::None;
    int step = -1;
    bool named = false, backward = false, node = false, flops = false, communication = false;
    RequestKind request = RequestKind::None;
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
        OperatorContext told;
        if (category == Category::UserAnnotation)
            told.tellPhase(name);
        else
            told.phase = phaseOfOperator(name);
        hints.phase = told.phase;
        hints.named = told.named;
        hints.backward = hints.phase == Phase::BackwardInput || hints.phase == Phase::Recompute;
        hints.node = name.find("autograd::engine::evaluate_function") != std::string_view::npos;
    }
    hints.flops = mayHaveFlops(name);
    hints.request = requestKind(name);
    return hints;
}

class SurveyVisitor final : public ChromeVisitor {
public:
    SurveyVisitor(ChromeSurvey& survey, std::int64_t fileSize, const std::function<void(double)>& progress)
        : m_survey(survey)
        , m_fileSize(fileSize)
        , m_progress(progress)
    {}

    bool wantsHeader(std::string_view key) override { return m_survey.header.wants(key); }
    void header(std::string_view key, const JsonToken& value) override { m_survey.header.take(key, value); }
    void progress(std::int64_t read) override
    {
        if (m_progress && m_fileSize > 0)
            m_progress(std::min(1.0, static_cast<double>(read) / static_cast<double>(m_fileSize)));
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
        const Category written = m_survey.writtenCategory(event), category = m_survey.categoryOf(event, written);
        constexpr std::string_view kShown = "XBECiIRPnbeSFTp";
        m_survey.usable += phase != '\0' && kShown.find(phase) != std::string_view::npos;
        if (phase == 's' && category == Category::LaunchFlow && m_survey.ascend.found()) ascendLaunch(event, ts);
        if (category != Category::Span && category != Category::LaunchFlow && category != Category::BackwardFlow) {
            if (!m_survey.firstNs || ts < *m_survey.firstNs) m_survey.firstNs = ts;
            m_survey.lastNs = std::max(m_survey.lastNs, ts);
        }
        if (phase == 'X')
            slice(event, written, category, *fine);
        else if (phase == 'B')
            m_survey.unknown.slice(event, category, laneOf(m_survey.lanes, category, event));
        else if (phase == 'b' || phase == 'S')
            m_survey.lanes.find(LaneRole::Async, event[EventKey::Pid].text, event[EventKey::Cat].text);
    }

    /// When all events have been seen: FLOPs of convolutions that only their backward operators told.
    void settleConvolutions()
    {
        for (const AskedConvolution& each : m_asked) {
            const double flops = m_survey.convolutions.flops(each.sizes);
            m_survey.links.setFlops(each.place, flops);
            if (const auto precision = precisionOf(each.operands)) m_survey.flopsByPrecision[*precision] += flops;
        }
    }

private:
    struct AskedConvolution {
        std::int32_t place; ///< in the links
        int sizes;          ///< in the survey's convolutions
        Arithmetic operands;
    };

    void metadata(const ChromeEvent& event)
    {
        const std::string_view what = event[EventKey::Name].text;
        if (!event[ArgKey::Name]) return;
        if (what == "process_name") m_survey.ascend.nameProcess(event[EventKey::Pid].text, event[ArgKey::Name].text);
        if (what == "process_name") m_survey.xla.nameProcess(event[EventKey::Pid].text, event[ArgKey::Name].text);
        if (what == "thread_name")
            m_survey.xla.nameThread(event[EventKey::Pid].text, event[EventKey::Tid].text, event[ArgKey::Name].text);
        if (what == "process_name") m_survey.unknown.nameProcess(event[EventKey::Pid].text, event[ArgKey::Name]);
        if (what == "process_name")
            m_survey.lanes.nameProcess(event[EventKey::Pid].text, decoded(event[ArgKey::Name]).substr(0, 200));
        else if (what == "thread_name")
            m_survey.lanes.nameThread(event[EventKey::Pid].text, event[EventKey::Tid].text,
                                      decoded(event[ArgKey::Name]).substr(0, 200));
    }

    /// The arrow's id is the moment at which the device begins [ns].
    void ascendLaunch(const ChromeEvent& event, std::int64_t ts)
    {
        const auto begins = integerFromText(event[EventKey::Id].text);
        if (begins)
            m_survey.links.addLaunch(
                *begins, m_survey.lanes.find(LaneRole::Thread, event[EventKey::Pid].text, event[EventKey::Tid].text),
                ts);
    }

    void slice(const ChromeEvent& event, Category written, Category category, FineTime begin)
    {
        const std::int64_t ts = begin.rounded(),
                           dur = roundedLength(begin, timeOf(event, EventKey::Dur).value_or(FineTime{}));
        if (dur < 0) return;
        if (category != Category::Span) m_survey.lastNs = std::max(m_survey.lastNs, ts + dur);
        if (const auto step = annotatedStep(event)) m_survey.steps.push_back({*step, ts, ts + dur, false});
        if (const auto step = m_survey.xla.deviceStep(event)) m_survey.steps.push_back({*step, ts, ts + dur, true});
        const int lane = laneOf(m_survey.lanes, category, event);
        m_survey.kineto =
            m_survey.kineto || (written != Category::None && written != Category::Other && !m_survey.xla.hasDevices());
        m_survey.beforeKineto = m_survey.beforeKineto || written != category;
        if (isStreamWork(category, event)) {
            streamWork(event, category, lane, ts, dur);
        } else if (isRuntimeCall(category)) {
            if (const auto id = launchId(event)) m_survey.links.addLaunch(*id, lane, ts);
        } else if (category == Category::CpuOp || category == Category::UserAnnotation ||
                   category == Category::GpuUserAnnotation) {
            annotation(event, category, lane, ts, dur);
        }
        m_survey.unknown.slice(event, category, lane);
    }

    const NameHints& hints(Category category, std::string_view name)
    {
        return m_hints[static_cast<std::size_t>(category)].find(
            name, [category](std::string_view met) { return hintsOf(category, met); });
    }

    void streamWork(const ChromeEvent& event, Category category, int lane, std::int64_t ts, std::int64_t dur)
    {
        m_survey.deviceWork = true;
        const bool copy = category == Category::Memcpy || category == Category::Memset;
        const std::string_view name = event[EventKey::Name].text;
        if (const auto id = launchId(event); category == Category::Memcpy && id && waitsForNothing(name))
            m_survey.links.addFreeCopy(*id);
        const bool communication = !copy && hints(category, name).communication;
        m_survey.lanes.noteWork(lane,
                                copy            ? LaneIndex::Work::Copy
                                : communication ? LaneIndex::Work::Communication
                                                : LaneIndex::Work::Compute,
                                dur);
        if (!communication) return;
        if (const auto correlation = integerFromText(event[ArgKey::Correlation].text))
            m_survey.communicationLaunches.push_back(*correlation);
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
        context.named = hint.named;
        context.autogradNode = hint.node;
        m_survey.training = m_survey.training || hint.backward;
        if (hint.flops) {
            const OperatorFlops flops =
                operatorFlops(name, event[ArgKey::InputDims], event[ArgKey::ConcreteInputs]).value_or(OperatorFlops{});
            context.flops = flops.flops;
            context.products = flops.products;
            m_survey.convolutions.learn(name, event[ArgKey::InputDims]);
        }
        const int asked =
            hint.flops && context.flops <= 0 ? m_survey.convolutions.ask(name, event[ArgKey::InputDims]) : -1;
        context.flopsLater = asked >= 0;
        if (context.flops > 0 || context.flopsLater) noteOperands(event, context);
        if (hint.request != RequestKind::None && m_survey.requests.size() < kMostRequests) {
            if (auto detail = requestDetail(hint.request, event)) {
                context.collective = static_cast<int>(m_survey.requests.size());
                m_survey.requests.push_back({ts, ts + dur, lane, detailIndex(std::move(*detail)), hint.request, false});
            }
        }
        if (context.phase == Phase::None && context.flops <= 0 && asked < 0 && context.collective < 0) return;
        const std::int32_t place = m_survey.links.addOperator(lane, ts, ts + dur, context);
        if (asked >= 0) m_asked.push_back({place, asked, context.operands});
    }

    /// Training asks for the same few things over and over: equal details are one, of the latest that came.
    std::int32_t detailIndex(CollectiveDetail detail)
    {
        std::vector<CollectiveDetail>& all = m_survey.details;
        constexpr std::size_t kLooked = 8;
        for (std::size_t i = all.size(); i > 0 && all.size() - i < kLooked; --i)
            if (all[i - 1] == detail) return static_cast<std::int32_t>(i - 1);
        all.push_back(std::move(detail));
        return static_cast<std::int32_t>(all.size() - 1);
    }

    /// The type of an operator's first typed input is what its products are computed in.
    void noteOperands(const ChromeEvent& event, OperatorContext& context)
    {
        if (event[ArgKey::InputTypes].kind != JsonToken::Kind::Array) return;
        forEachElement(event[ArgKey::InputTypes].text, [&](const JsonToken& type) {
            if (context.operands == Arithmetic::Unknown) context.operands = arithmeticOfType(type.text);
        });
        if (const auto precision = precisionOf(context.operands))
            m_survey.flopsByPrecision[*precision] += context.flops;
    }

    /// In the words of a run's specification; absent for what it has none for.
    static std::optional<Precision> precisionOf(Arithmetic operands)
    {
        switch (operands) {
        case Arithmetic::AnyF32: return Precision::F32;
        case Arithmetic::F16: return Precision::F16;
        case Arithmetic::Bf16: return Precision::Bf16;
        case Arithmetic::Fp8: return Precision::Fp8;
        case Arithmetic::Fp4: return Precision::Fp4;
        default: return std::nullopt;
        }
    }

    ChromeSurvey& m_survey;
    std::int64_t m_fileSize;
    const std::function<void(double)>& m_progress;
    std::array<NameMemo<NameHints>, kCategoryCount> m_hints;
    std::vector<AskedConvolution> m_asked;
};

/// Requests nest (c10d::allreduce_ around record_param_comms around nccl:all_reduce): each completes the others, and one of
/// them stands for the operation.
void joinRequests(ChromeSurvey& survey)
{
    std::vector<CollectiveRequest>& requests = survey.requests;
    std::vector<std::uint32_t> order(requests.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tie(requests[a].lane, requests[a].begin, requests[b].end) <
               std::tie(requests[b].lane, requests[b].begin, requests[a].end);
    });
    RequestKind best = RequestKind::None;
    for (const CollectiveRequest& request : requests) best = std::max(best, request.kind);
    std::vector<std::int32_t> around(requests.size(), -1);
    std::vector<std::uint16_t> inside(requests.size(), 0);
    std::vector<std::uint32_t> open;
    const auto complete = [&](CollectiveRequest& one, const CollectiveRequest& other) {
        CollectiveDetail detail = survey.details[static_cast<std::size_t>(one.detail)];
        completeDetail(detail, survey.details[static_cast<std::size_t>(other.detail)]);
        if (detail == survey.details[static_cast<std::size_t>(one.detail)]) return;
        if (detail == survey.details[static_cast<std::size_t>(other.detail)]) {
            one.detail = other.detail;
            return;
        }
        one.detail = static_cast<std::int32_t>(survey.details.size());
        survey.details.push_back(std::move(detail));
    };
    for (const std::uint32_t i : order) {
        CollectiveRequest& request = requests[i];
        while (!open.empty() && (requests[open.back()].lane != request.lane || requests[open.back()].end < request.end))
            open.pop_back();
        bool first = request.kind == best && best != RequestKind::Hint;
        for (const std::uint32_t outer : open) first = first && requests[outer].kind != best;
        request.counts = first;
        if (!open.empty()) {
            around[i] = static_cast<std::int32_t>(open.back());
            if (inside[open.back()] < 2) ++inside[open.back()];
            complete(request, requests[open.back()]);
        }
        open.push_back(i);
    }
    // From the inside outwards, where the inner one is all that the outer one holds.
    for (std::size_t n = order.size(); n > 0; --n) {
        const std::uint32_t i = order[n - 1];
        if (around[i] < 0) continue;
        const auto outer = static_cast<std::size_t>(around[i]);
        if (inside[outer] == 1 && requests[outer].kind != RequestKind::Hint) complete(requests[outer], requests[i]);
    }
    std::set<CollectiveOp> asked;
    for (const CollectiveRequest& request : requests)
        if (const auto& operation = survey.details[static_cast<std::size_t>(request.detail)].operation)
            asked.insert(*operation);
    survey.requested.assign(asked.begin(), asked.end());
}

/// What a JSON file without events is, as far as its keys tell.
Error noTraceEvents(const ChromeSurvey& survey, const std::string& path)
{
    const auto has = [&](const char* key) { return survey.header.unknownKeys.count(key) > 0; };
    const char* what = "a JSON file without traceEvents";
    const char* hint = "give a PyTorch or Chrome trace (.json or .json.gz)";
    const ChromeReadReport& report = survey.report;
    if (report.events == 0 && report.nonEvents == 0 &&
        (report.bytesLeft > 0 || !report.damage.empty() || (report.foundEvents && !report.closed)))
        return Error{ErrorCode::Format, "the file ends early: there is no whole event in it", path,
                     "copy or record it again"};
    if (report.events > 0)
        return Error{ErrorCode::Format,
                     "none of its " + std::to_string(report.events) +
                         " events has a time and a kind that can be shown: names, objects or metadata only",
                     path, "record again, with work inside the profiled window"};
    if (report.foundEvents && report.nonEvents == 0)
        return Error{ErrorCode::Format, "the trace has no events", path,
                     "record again, with work inside the profiled window"};
    if (has("rocprofiler-sdk-tool")) {
        what = "a rocprofiler-sdk JSON file";
        hint = "convert it to a Chrome or PyTorch trace";
    } else if (std::any_of(survey.header.unknownKeys.begin(), survey.header.unknownKeys.end(),
                           [](const std::string& key) { return key.compare(0, 4, "step") == 0; }) &&
               path.find("communication") != std::string::npos) {
        what = "a table of Ascend's profiler, not its trace";
        hint = "give the trace_view.json beside it";
    } else if (has("pg_config") || has("pg_status")) {
        return flightRecorderDump(path);
    } else if (has("nodes") && has("startTime")) {
        what = "a V8 CPU profile";
    } else if (has("libs") && has("threads")) {
        what = "a Firefox profile";
    } else if (has("shared") && has("profiles")) {
        what = "a speedscope file";
    } else if (survey.report.foundEvents && survey.report.nonEvents > 0) {
        what = "a JSON list without events";
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

std::optional<std::int64_t> launchId(const ChromeEvent& event)
{
    if (event[ArgKey::Correlation]) return integerFromText(event[ArgKey::Correlation].text);
    if (!event[ArgKey::ExternalId]) return std::nullopt;
    const auto number = integerFromText(event[ArgKey::ExternalId].text);
    return number && *number > 0 ? std::optional(-*number) : std::nullopt;
}

std::optional<FineTime> timeOf(const ChromeEvent& event, EventKey key)
{
    const JsonToken& token = event[key];
    return token ? fineTimeFromMicroseconds(token.text) : std::nullopt;
}

Category ChromeSurvey::writtenCategory(const ChromeEvent& event) const
{
    return ascend.categoryOf(event, xla.categoryOf(event, importers::categoryOf(event[EventKey::Cat].text)));
}

Category ChromeSurvey::categoryOf(const ChromeEvent& event, Category written)
{
    return written == Category::None ? categoryWithoutCat(event[EventKey::Pid].text, event[EventKey::Name].text)
                                     : written;
}

const CollectiveDetail* ChromeSurvey::detailOf(const std::optional<Launch>& launch) const
{
    if (!launch || launch->collective < 0) return nullptr;
    return &details[static_cast<std::size_t>(requests[static_cast<std::size_t>(launch->collective)].detail)];
}

const CollectiveDetail* ChromeSurvey::groupedDetail(const Launch& launch) const
{
    const auto found = grouped.find(launch.correlation);
    return found == grouped.end() ? nullptr : &details[static_cast<std::size_t>(found->second)];
}

bool ChromeSurvey::sendsAreAllToAll() const
{
    return requested == std::vector<CollectiveOp>{CollectiveOp::AllToAll};
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
    ChromeSurvey survey;
    // Events of Ascend and XLA are what their processes say; the names of those may stand behind them.
    AscendProcesses ascend;
    XlaProcesses xla;
    for (;; ascend = survey.ascend, xla = survey.xla) {
        FOURWALLS_TRY_ASSIGN(auto source, openByteSource(path));
        TextWindow window(std::move(source));
        const bool known = ascend.found() || xla.found();
        survey = ChromeSurvey();
        survey.ascend = std::move(ascend);
        survey.xla = std::move(xla);
        survey.links = LaunchLinks(scratchFolder);
        SurveyVisitor visitor(survey, fileBytes(path), progress);
        FOURWALLS_TRY_ASSIGN(survey.report, readChromeTrace(window, visitor, path, stop));
        visitor.settleConvolutions();
        if (known || (!survey.ascend.found() && !survey.xla.found())) break;
    }
    if (survey.usable == 0) return noTraceEvents(survey, path);
    // What the processes of XLA and Ascend are is known.
    if (!survey.xla.hasDevices() && !survey.ascend.found()) survey.unknown.settle();
    if (survey.ascend.found() || survey.xla.found()) survey.lanes.keepStreamNames();
    survey.kineto = survey.kineto || survey.header.kineto;
    joinRequests(survey);
    FOURWALLS_TRY(survey.links.resolve(survey.training ? Phase::Forward : Phase::None));
    groupRequests(survey);
    return survey;
}

} // namespace fourwalls::importers
