// SPDX-License-Identifier: Apache-2.0
// What becomes of each kind of event.
#include "model/import/chrome/chrome_writer.h"

#include "model/import/chrome/collective_metadata.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/op_names.h"
#include "model/import/common/operator_flops.h"
#include "model/trace/peak_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostCounters = 10000;

std::optional<double> realOf(const JsonToken& token)
{
    if (token.kind == JsonToken::Kind::Array || token.kind == JsonToken::Kind::Object || token.text.size() > 63 ||
        token.text.empty())
        return std::nullopt;
    char text[64] = {};
    token.text.copy(text, token.text.size());
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end != text + token.text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Whether communication goes from one rank to another. NCCL's kernel for that also does all-to-alls.
bool isMessage(const CollectiveDetail& detail, const NamedWork& work)
{
    if (detail.operation) return *detail.operation == CollectiveOp::Send || *detail.operation == CollectiveOp::Receive;
    return work.info.name.find("SendRecv") != std::string::npos;
}

/// Whether a kernel's name tells what its operands are, or that it multiplies nothing.
bool tellsOperands(std::string_view name)
{
    return !isMatrixKernel(name) || arithmeticOf(name).type != Arithmetic::Unknown;
}

/// What a matrix kernel's detail says of its operands, where its name does not.
std::string operandsToAdd(bool told, Arithmetic operands)
{
    if (operands == Arithmetic::Unknown || told) return {};
    return operandDetail(operands == Arithmetic::AnyF32 ? "float" : fourwalls::name(operands));
}

} // namespace

ChromeWriter::ChromeWriter(ChromeSurvey& survey, TraceSink& sink, RunCollectives& collectives, FilePlacement placement,
                           std::int64_t fileSize)
    : m_survey(survey)
    , m_sink(sink)
    , m_collectives(collectives)
    , m_placement(std::move(placement))
    , m_fileSize(fileSize)
    , m_producer(sink.openProducer())
    , m_tracks(survey.lanes.defineTracks(sink, m_placement.rank))
    , m_names(sink, survey.hostWorks())
    , m_facts(m_placement.scratchFolder)
    , m_pairs([this](const DurationPairs::Slice& s) {
        const bool sound = s.end - s.begin <= kLargestTimeNs && inRange(s.begin, s.end - s.begin);
        if (!sound) return void(++m_outOfRange);
        emit(s.lane, s.op, s.begin, s.end - s.begin);
        m_steps.addHost(s.begin, s.end);
    })
    , m_allocator(sink, *m_producer, m_placement.rank, !survey.deviceWork, [this](std::int64_t ts) { return at(ts); })
    , m_steps(m_placement.steps, m_placement.scratchFolder)
{}

void ChromeWriter::progress(std::int64_t read)
{
    if (m_placement.progress && m_fileSize > 0)
        m_placement.progress(std::min(1.0, static_cast<double>(read) / static_cast<double>(m_fileSize)));
}

bool ChromeWriter::inRange(std::int64_t ts, std::int64_t dur) const
{
    // ts and dur are at most kLargestTimeNs, a quarter of the type's range, and the shift at most twice and a half that.
    const std::int64_t begin = ts + m_placement.shiftNs;
    return begin >= -kLargestTimeNs && begin <= kLargestTimeNs && dur <= kLargestTimeNs &&
           begin + dur <= kLargestTimeNs;
}

TrackId ChromeWriter::track(int lane)
{
    const auto index = static_cast<std::size_t>(lane);
    if (index < m_tracks.size()) return m_tracks[index];
    // The file has changed since it was surveyed.
    return m_sink.defineTrack({m_placement.rank, TrackKind::Other, "other", static_cast<int>(m_tracks.size())});
}

void ChromeWriter::emit(int lane, OpId op, std::int64_t ts, std::int64_t dur, std::optional<CorrelationId> correlation)
{
    SliceRecord record;
    record.track = track(lane);
    record.op = op;
    record.start = at(ts);
    record.duration = Duration{dur};
    record.correlation = correlation;
    m_producer->slice(record);
    ++m_slices;
}

void ChromeWriter::event(const ChromeEvent& event)
{
    const Category written = m_survey.writtenCategory(event), category = m_survey.categoryOf(event, written);
    const std::optional<FineTime> fine = timeOf(event, EventKey::Ts), dur = timeOf(event, EventKey::Dur);
    m_facts.add(event, written, fine, dur);
    if (event.hasDuplicateKeys()) ++m_duplicateKeys;
    const char phase = event.phase();
    if (phase == 'M') {
        ++m_metadata;
        return;
    }
    if (!fine) {
        // Some writers close the list with an empty entry, so that every other one may have a comma behind it.
        const bool empty = !event[EventKey::Name] && !event[EventKey::Ph] && !event[EventKey::Pid];
        m_noTime += empty ? 0 : 1;
        return;
    }
    const std::int64_t ts = fine->rounded();
    if (!inRange(ts, 0)) {
        ++m_outOfRange;
        return;
    }
    switch (phase) {
    case 'X': slice(event, category, ts, dur ? std::optional(roundedLength(*fine, *dur)) : std::nullopt); break;
    case 'i':
    case 'I':
    case 'R':
    case 'P':
    case 'n': instant(event, ts); break;
    case 'C': counters(event, ts); break;
    case 's':
    case 't':
    case 'f': flow(event, category, ts); break;
    case 'B':
        m_pairs.begin(static_cast<std::uint64_t>(laneOf(m_survey.lanes, category, event)),
                      laneOf(m_survey.lanes, category, event), ts, opOf(event, category), event[EventKey::Name].text);
        break;
    case 'E':
        m_pairs.end(static_cast<std::uint64_t>(laneOf(m_survey.lanes, category, event)), ts,
                    event[EventKey::Name].text);
        break;
    case 'b':
    case 'S': async(event, category, ts, true); break;
    case 'e':
    case 'F': async(event, category, ts, false); break;
    case 'T':
    case 'p': instant(event, ts); break;
    default: ++m_unsupported; break;
    }
}

std::string_view ChromeWriter::nameOf(const ChromeEvent& event)
{
    const JsonToken& name = event[EventKey::Name];
    if (name.kind != JsonToken::Kind::Escaped) return name.text;
    m_decodedName = decoded(name);
    return m_decodedName;
}

OpId ChromeWriter::opOf(const ChromeEvent& event, Category category)
{
    return m_names.id(m_names.find(category, nameOf(event)));
}

void ChromeWriter::slice(const ChromeEvent& event, Category category, std::int64_t ts, std::optional<std::int64_t> dur)
{
    if (!dur) ++m_noDuration;
    if (dur && *dur < 0) {
        ++m_negative;
        return;
    }
    const std::int64_t length = dur.value_or(0);
    if (!inRange(ts, length)) {
        ++m_outOfRange;
        return;
    }
    const int lane = laneOf(m_survey.lanes, category, event);
    if (isStreamWork(category, event)) {
        streamSlice(event, category, lane, ts, length);
        return;
    }
    std::string_view detail;
    if (category == Category::CpuOp && event[ArgKey::InputDims].kind == JsonToken::Kind::Array)
        detail = event[ArgKey::InputDims].text.substr(0, kLongestDetail);
    std::optional<CorrelationId> correlation;
    if (isRuntimeCall(category)) m_launchCalls += isLaunchCall(event[EventKey::Name].text);
    if (isRuntimeCall(category) && event[ArgKey::Correlation]) {
        if (const auto id = integerFromText(event[ArgKey::Correlation].text)) correlation = CorrelationId{*id};
    }
    NamedWork& work = m_names.find(category, nameOf(event), detail);
    // Where nothing else computes, operators do, and their shapes say how much.
    double flops = 0;
    if (work.info.activity == Activity::Compute) {
        const std::string_view name = event[EventKey::Name].text;
        const JsonToken& shapes = event[ArgKey::InputDims];
        const auto known = operatorFlops(name, shapes, event[ArgKey::ConcreteInputs]);
        flops = known ? known->flops : m_survey.convolutions.flops(m_survey.convolutions.ask(name, shapes));
    }
    const bool isFreeCopy = correlation && m_survey.links.isFreeCopy(correlation->value);
    emit(lane, m_names.id(work, Phase::None, flops, callActivity(work.info, Duration{length}, isFreeCopy)), ts, length,
         correlation);
    if (category == Category::GpuUserAnnotation) {
        if (work.stepNumber >= 0) m_steps.addProjected(work.stepNumber, ts, ts + length);
        if (const auto step = m_survey.xla.deviceStep(event)) m_steps.addProjected(*step, ts, ts + length);
    } else if (category != Category::Span) {
        m_steps.addHost(ts, ts + length);
        if (work.info.activity == Activity::Launch) m_steps.addLaunch(ts);
        if (!work.marksSteps) work.marksSteps = m_steps.interesting(decoded(event[EventKey::Name]));
        if (const auto step = annotatedStep(event); step || *work.marksSteps)
            m_steps.addRange(step ? "ProfilerStep#" + std::to_string(*step) : decoded(event[EventKey::Name]), lane, ts,
                             ts + length);
    }
    request(event, work, lane, ts, length);
}

/// Without a kernel of any, requests are all that is known of collectives: those that the host carries out while they
/// last with their time, others without.
void ChromeWriter::request(const ChromeEvent& event, const NamedWork& work, int lane, std::int64_t ts, std::int64_t dur)
{
    if (requestKind(event[EventKey::Name].text) == RequestKind::None) return;
    if (m_nextRequest >= m_survey.requests.size()) return;
    const CollectiveRequest& request = m_survey.requests[m_nextRequest];
    if (request.begin != ts || request.end != ts + dur || request.lane != lane) return; // one that says nothing
    ++m_nextRequest;
    if (!request.counts || !m_survey.onlyRequests()) return;
    const CollectiveDetail& detail = m_survey.details[static_cast<std::size_t>(request.detail)];
    collective(detail, work, lane, ts, dur, !isHostCollective(work.info.name));
}

void ChromeWriter::streamSlice(const ChromeEvent& event, Category category, int lane, std::int64_t ts, std::int64_t dur)
{
    const std::optional<std::int64_t> id = launchId(event);
    std::optional<CorrelationId> correlation;
    if (id && *id >= 0) correlation = CorrelationId{*id};
    const std::optional<Launch> launch = m_survey.links.find(m_survey.ascend.found() ? std::optional(ts) : id);
    m_text.clear();
    if (event[ArgKey::Grid].kind == JsonToken::Kind::Array && event[ArgKey::Block].kind == JsonToken::Kind::Array) {
        m_text.append("grid ").append(event[ArgKey::Grid].text).append(" block ").append(event[ArgKey::Block].text);
        if (m_text.size() > kLongestDetail) m_text.clear();
    }
    const std::size_t place = m_text.size();
    if (launch && launch->flopsOperator >= 0)
        m_text.append(operandsToAdd(m_tellsOperands.find(event[EventKey::Name].text, tellsOperands),
                                    m_survey.links.operandsOf(launch->flopsOperator)));
    const bool copies = category == Category::Memcpy || category == Category::Memset;
    const auto bytes = copies && event[ArgKey::Bytes] ? integerFromText(event[ArgKey::Bytes].text) : std::nullopt;
    NamedWork* named = bytes && *bytes >= 0 ? &m_names.findCopy(category, nameOf(event), *bytes)
                                            : &m_names.find(category, nameOf(event), m_text);
    const Phase phase = launch ? launch->phase : Phase::None;
    const double flops = launch && named->matrix ? m_survey.links.takeFlops(launch->flopsOperator) : 0.0;
    if (launch && named->matrix && flops <= 0 && m_survey.links.hasFlops(launch->flopsOperator)) {
        m_text.insert(place, kPartOfProduct);
        named = &m_names.find(category, nameOf(event), m_text);
    }
    NamedWork& work = *named;
    if (flops > 0) {
        if (!work.arithmetic) work.arithmetic = arithmeticOf(work.info.name, work.info.detail).type;
        m_flops[static_cast<std::size_t>(*work.arithmetic) % kArithmeticCount] += flops;
    }
    std::optional<CollectiveDetail> detail;
    Activity activity = work.info.activity;
    if (work.communication) {
        detail = detailOf(event, launch, work);
        if (m_placement.pipelined && isMessage(*detail, work)) activity = Activity::PipelineTransfer;
        if (m_placement.evidence && phase == Phase::Forward && m_survey.training &&
            detail->operation == CollectiveOp::AllReduce)
            m_placement.evidence->addForwardReduction(detail->groupSize);
        if (std::string asked = operationText(*detail); !asked.empty()) {
            if (!m_text.empty()) asked += "; " + m_text;
            --work.count; // it is asked for once
            named = &m_names.find(category, nameOf(event), asked);
        }
    }
    emit(lane, m_names.id(*named, phase, flops, activity), ts, dur, correlation);
    m_steps.addWork(named->info.name, lane, ts, ts + dur, launch ? std::optional(launch->at) : std::nullopt,
                    named->info.activity == Activity::Compute);
    if (launch && inRange(launch->at, 0)) {
        m_producer->flow({"launch", track(launch->lane), at(launch->at), track(lane), at(ts)});
        ++m_launchFlows;
    } else {
        ++m_withoutLaunch;
    }
    if (detail) collective(*detail, *named, lane, ts, dur);
}

CollectiveDetail ChromeWriter::detailOf(const ChromeEvent& event, const std::optional<Launch>& launch,
                                        const NamedWork& work) const
{
    CollectiveDetail detail = collectiveDetail(event).value_or(ascendCollective(event).value_or(CollectiveDetail{}));
    if (const CollectiveDetail* asked = m_survey.detailOf(launch)) completeDetail(detail, *asked);
    if (const CollectiveDetail* together = launch ? m_survey.groupedDetail(*launch) : nullptr)
        completeDetail(detail, *together);
    // The request counts before the kernel's name: one kernel of NCCL can do whatever was asked for, under the name of
    // another operation. A batch ("coalesced") is what its kernels are.
    const bool named = work.collective && *work.collective != CollectiveOp::Other;
    const bool vague = !detail.operation || *detail.operation == CollectiveOp::Other;
    if (vague && named)
        detail.operation = work.collective;
    else if (vague && work.info.name.find("SendRecv") != std::string::npos && !launch && m_survey.sendsAreAllToAll())
        detail.operation = CollectiveOp::AllToAll;
    return detail;
}

void ChromeWriter::collective(const CollectiveDetail& detail, const NamedWork& work, int lane, std::int64_t ts,
                              std::int64_t dur, bool requestOnly)
{
    CollectiveMember member;
    member.rank = m_placement.rank;
    member.groupKey = m_collectives.group(detail, work.info.name, requestOnly);
    CollectiveRecord& record = member.record;
    record.track = track(lane);
    record.start = at(ts);
    record.end = requestOnly ? record.start : at(ts + dur);
    record.lastArrival = record.start;
    record.operation = detail.operation ? *detail.operation : work.collective.value_or(CollectiveOp::Other);
    record.payloadBytes = payloadOf(detail, record.operation);
    if (record.payloadBytes) record.wireBytes = wireBytes(record.operation, *record.payloadBytes, detail.groupSize);
    if (detail.peer) record.peer = RankId{*detail.peer};
    record.algorithm = std::string(algorithmOf(work.info.name));
    record.protocol = std::string(protocolOf(work.info.name));
    if (detail.sequence) {
        record.sequence = *detail.sequence;
        member.hasSequence = true;
    }
    m_collectives.add(std::move(member));
}

void ChromeWriter::instant(const ChromeEvent& event, std::int64_t ts)
{
    if (event[EventKey::Name].text == "[memory]") {
        if (m_allocator.add(event, ts))
            ++m_memory;
        else
            ++m_unreadMemory;
        return;
    }
    EventRecord record;
    record.rank = m_placement.rank;
    record.at = at(ts);
    if (event[EventKey::Name].text == "[OutOfMemory]")
        describeOutOfMemory(event, record);
    else
        record.text = decoded(event[EventKey::Name]).substr(0, 1000);
    m_producer->event(record);
    ++m_instants;
}

void ChromeWriter::counters(const ChromeEvent& event, std::int64_t ts)
{
    const JsonToken& args = event[EventKey::Args];
    bool any = false;
    if (args.kind == JsonToken::Kind::Object) {
        forEachMember(args.text, [&](std::string_view key, const JsonToken& value) {
            const std::optional<double> sample = realOf(value);
            if (!sample) return;
            m_text.assign(event[EventKey::Name].text);
            if (event[EventKey::Id]) m_text.append("[").append(event[EventKey::Id].text).append("]");
            m_text.append(".").append(key);
            auto found = m_counterIds.find(m_text);
            if (found == m_counterIds.end()) {
                if (m_counterIds.size() >= kMostCounters) return;
                const std::string name = decoded({m_text, JsonToken::Kind::Escaped}).substr(0, 300);
                found = m_counterIds.emplace(m_text, m_sink.defineCounter({m_placement.rank, name, CounterUnit::None}))
                            .first;
            }
            m_producer->counter({found->second, at(ts), *sample});
            any = true;
        });
    }
    if (any)
        ++m_samples;
    else
        ++m_unreadCounters;
}

void ChromeWriter::flow(const ChromeEvent& event, Category category, std::int64_t ts)
{
    ++m_flowEvents;
    // Arrows from launches to their work follow from correlation ids, which hold where these events do not.
    if (category == Category::LaunchFlow && m_survey.deviceWork) return;
    const std::string_view pid = event[EventKey::Pid].text, tid = event[EventKey::Tid].text;
    int lane = m_survey.lanes.known(LaneRole::Thread, pid, tid);
    if (lane < 0) lane = m_survey.lanes.known(LaneRole::Stream, pid, tid);
    if (lane < 0) return;
    const bool start = event.phase() == 's';
    const std::uint64_t key = FlowPairs::key(event[EventKey::Cat].text, event[EventKey::Id].text, {});
    const char* const kind = category == Category::BackwardFlow ? "forward_backward" : "flow";
    if (start)
        m_flows.start(key, kind, {track(lane), at(ts)});
    else
        m_flows.step(key, kind, {track(lane), at(ts)});
}

void ChromeWriter::async(const ChromeEvent& event, Category category, std::int64_t ts, bool begin)
{
    const JsonToken& id = event[EventKey::Id] ? event[EventKey::Id] : event[EventKey::Id2];
    const bool legacy = event.phase() == 'S' || event.phase() == 'F';
    const std::string_view name = legacy ? event[EventKey::Name].text : std::string_view();
    // The high bit keeps these stacks apart from those of threads.
    const std::uint64_t key = FlowPairs::key(event[EventKey::Cat].text, id.text, name) | std::uint64_t{1} << 63;
    if (begin)
        m_pairs.begin(key, m_survey.lanes.find(LaneRole::Async, event[EventKey::Pid].text, event[EventKey::Cat].text),
                      ts, opOf(event, category));
    else
        m_pairs.end(key, ts);
}

void ChromeWriter::tellEvidence() const
{
    SpecEvidence& evidence = *m_placement.evidence;
    m_names.each([&](const NamedWork& work) {
        const OpInfo& info = work.info;
        if (info.kind == SliceKind::Operator)
            evidence.addOperator(info.name, info.detail, work.count);
        else if (info.kind == SliceKind::Marker || info.kind == SliceKind::Layer)
            evidence.addName(info.name);
    });
    std::set<int> steps;
    for (const StepMark& mark : m_survey.steps)
        if (!mark.projected) steps.insert(mark.number);
    evidence.setSteps(static_cast<std::int64_t>(steps.size()));
}

TraceFacts ChromeWriter::finish(const ChromeReadReport& report)
{
    if (m_placement.evidence) tellEvidence();
    m_pairs.finish(m_survey.lastNs);
    m_flows.finish(*m_producer);
    m_allocator.finish();
    m_producer.reset();

    auditCount(m_sink, AuditCounter::ImportEntries, report.events + report.nonEvents, "entries of the event array");
    auditCount(m_sink, AuditCounter::ImportSlices, m_slices);
    auditCount(m_sink, AuditCounter::ImportInstants, m_instants);
    auditCount(m_sink, AuditCounter::ImportCounterEvents, m_samples, "counter events kept");
    auditCount(m_sink, AuditCounter::ImportMemoryEvents, m_memory, "allocator events kept");
    auditCount(m_sink, AuditCounter::ImportMetadata, m_metadata);
    auditCount(m_sink, AuditCounter::ImportFlowEvents, m_flowEvents);
    auditCount(m_sink, AuditCounter::ImportArrows, m_flows.arrows() + m_launchFlows,
               "arrows kept; those of launches by correlation");
    auditCount(m_sink, AuditCounter::FlowWithoutPartner, m_flows.pointsAlone());
    auditCount(m_sink, AuditCounter::WorkWithoutLaunch, m_withoutLaunch);
    auditCount(m_sink, AuditCounter::FlopsUnassigned, m_survey.links.flopsLeft());
    auditCount(m_sink, AuditCounter::BuffersBeforeWindow, m_allocator.freesBeforeWindow());
    auditCount(m_sink, AuditCounter::DetailsLeftOut, m_names.droppedDetails());
    auditCount(m_sink, AuditCounter::NamesWithoutNumbers, m_names.shortenedNames());

    auditCount(m_sink, AuditCounter::TextRecovered, report.recoveries,
               "broken places, first at byte " + std::to_string(std::max<std::int64_t>(report.firstBrokenAt, 0)) +
                   "; " + std::to_string(report.lostBytes) + " bytes passed over");
    // A file that is the array itself may lack its bracket: some writers never close it.
    const bool mayBeWhole = report.array && report.bytesLeft == 0 && report.damage.empty();
    auditCount(m_sink, mayBeWhole ? AuditCounter::EventsLeftOpen : AuditCounter::EventsNotClosed,
               report.closed ? 0 : 1);
    auditCount(m_sink, AuditCounter::DuplicateKeys, m_duplicateKeys);
    auditCount(m_sink, AuditCounter::NoDuration, m_noDuration);
    auditCount(m_sink, AuditCounter::BeginWithoutEnd, m_pairs.beginsWithoutEnd(), "ended with the trace");
    auditCount(m_sink, AuditCounter::EndBeforeBegin, m_pairs.lateEvents());
    auditCount(m_sink, AuditCounter::AllocatedTwice, m_allocator.reusedWithoutFree());

    auditCount(m_sink, AuditCounter::NotAnEvent, report.nonEvents);
    if (m_survey.xla.hasSeveralDevices()) auditCount(m_sink, AuditCounter::DevicesNotToldApart, 1);
    if (!m_survey.deviceWork) m_survey.unknown.audit(m_sink);
    auditCount(m_sink, AuditCounter::NoTime, m_noTime, "events without a readable ts");
    auditCount(m_sink, AuditCounter::NegativeDuration, m_negative);
    auditCount(m_sink, AuditCounter::TimeOutOfRange, m_outOfRange);
    auditCount(m_sink, AuditCounter::EndWithoutBegin, m_pairs.endsWithoutBegin());
    auditCount(m_sink, AuditCounter::UnsupportedPhase, m_unsupported);
    auditCount(m_sink, AuditCounter::MemoryEventUnread, m_unreadMemory);
    auditCount(m_sink, AuditCounter::CounterEventUnread, m_unreadCounters, "counter events without a number");

    auditCount(m_sink, AuditCounter::TextBehindTheTrace, report.bytesBehind);
    auditCount(m_sink, AuditCounter::BytesBehindGzip, report.unpackedBehind);
    if (!m_survey.deviceWork)
        auditCount(m_sink, AuditCounter::LaunchesWithoutWork, m_launchCalls,
                   "calls that launch work, but the file has none of it: record with ProfilerActivity.CUDA");

    auditCount(m_sink, AuditCounter::FlowEventsDropped, m_flows.dropped());
    auditCount(m_sink, AuditCounter::FileCut, report.bytesLeft, "bytes of an unfinished entry at the end of the file");
    if (!report.damage.empty()) m_sink.audit(damageRecord(report.damage));
    return m_facts.finish(m_survey.baseNs(), report.events + report.nonEvents);
}

} // namespace fourwalls::importers
