// SPDX-License-Identifier: Apache-2.0
// One function per section. A section that the trace has nothing for says so in a sentence instead of vanishing.
#include "model/export/html_report.h"

#include "model/base/format.h"
#include "model/export/redaction.h"
#include "model/export/report_findings.h"
#include "model/export/report_memory.h"
#include "model/export/report_page.h"
#include "model/export/svg_figures.h"
#include "model/spec/names.h"
#include "model/trace/audit_counter.h"
#include "model/trace/figures.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/metrics.h"
#include "model/trace/saturating_sum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls {

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostPoints = 2000; ///< of a curve over steps
constexpr std::size_t kMostOperators = 15, kMostRows = 40;

std::string percent(const std::optional<double>& share)
{
    return share ? formatPercent(*share) : kReportDash;
}

/// Whether a slice is work of its own: not a structure that holds others, and not waiting.
bool isWork(Activity activity)
{
    return activity == Activity::Compute || activity == Activity::Transfer || activity == Activity::PipelineTransfer ||
           activity == Activity::Copy || activity == Activity::DataLoading;
}

class Report {
public:
    Report(TraceQuery& trace, const ReportView& view)
        : m_trace(trace)
        , m_view(view)
        , m_info(trace.info())
        , m_redaction(m_info.header.ranks)
        , m_header(m_redaction.header(m_info.header))
    {}

    Status write(std::ostream& out, std::stop_token stop)
    {
        FOURWALLS_TRY(lookedAt());
        FOURWALLS_TRY_ASSIGN(m_metrics, computeMetrics(m_trace));
        FOURWALLS_TRY_ASSIGN(m_steps, stepUtilisation(m_trace));
        identity();
        glance();
        FOURWALLS_TRY(addFindings(m_trace, m_redaction, m_page, stop));
        waterfall();
        if (stop.stop_requested()) return cancelled();
        FOURWALLS_TRY(addMemory(m_trace, m_redaction, m_metrics, m_steps, m_page));
        if (stop.stop_requested()) return cancelled();
        steps();
        FOURWALLS_TRY(operators());
        collectives();
        bubble();
        inferred();
        audit();
        out << m_page.html(title(), subtitle(), labels());
        out.flush();
        if (!out) return Error{ErrorCode::Io, "cannot be written", "report", "check the free space"};
        return {};
    }

private:
    static Error cancelled() { return {ErrorCode::Cancelled, "cancelled", "", ""}; }

    std::string title() const
    {
        if (!m_header.spec)
            return "Training step of " +
                   (m_header.producer.empty() ? std::string("an unknown program") : m_header.producer);
        const std::string plan = formatPlan(m_header.spec->plan);
        return m_header.spec->model.name + (plan.empty() ? " on one rank" : ", " + plan);
    }

    std::string subtitle() const
    {
        switch (m_header.source) {
        case TraceSource::Recorded: return "A recording of a training run, by step, operator and buffer.";
        case TraceSource::Imported: return "A profile that another tool recorded.";
        case TraceSource::Predicted: return "A prediction: nobody has run this. Every figure is modelled.";
        case TraceSource::Synthetic: return "Synthetic data for tests: nothing here was measured.";
        }
        return {};
    }

    std::vector<std::string> labels() const
    {
        std::vector<std::string> all{std::string(name(m_header.source)), "clock: " + std::string(name(m_header.clock))};
        if (!m_header.computeLabel.empty()) all.push_back("compute: " + m_header.computeLabel);
        if (!m_header.communicationLabel.empty()) all.push_back("communication: " + m_header.communicationLabel);
        if (!m_info.complete) all.emplace_back("incomplete: the recording was interrupted");
        return all;
    }

    Status lookedAt()
    {
        if (m_view.png.empty()) return {};
        if (!m_view.png.starts_with("\x89PNG\r\n\x1a\n"))
            return Error{ErrorCode::Format, "the picture is no PNG", "report", "export the view as PNG"};
        m_page.section("What was looked at", m_view.caption);
        m_page.picture(m_view.png, m_view.caption);
        if (m_view.command.empty()) return {};
        m_page.paragraph("This opens it again:");
        m_page.code(m_view.command);
        return {};
    }

    void identity()
    {
        m_page.section("What this is", clockSentence());
        Rows rows;
        const auto row = [&rows](const char* what, const std::string& value) {
            rows.push_back({what, value.empty() ? std::string(kReportDash) : value});
        };
        row("made by", m_header.producer);
        if (m_header.spec) {
            const RunSpec& spec = *m_header.spec;
            row("network", spec.model.name + ", " + formatCount(parameterCount(spec.model)) + " parameters");
            const std::string plan = formatPlan(spec.plan);
            row("parallel plan", plan.empty() ? "one rank" : plan);
            std::string training = "batch " + formatCount(spec.training.batch);
            if (spec.training.sequence > 0) training += ", sequence " + formatCount(spec.training.sequence);
            row("training", training + ", " + std::string(name(spec.training.optimizer)) + ", " +
                                std::string(name(spec.training.precision)));
            row("cluster", spec.cluster.name);
        } else {
            row("network and plan", "not stated by the profile");
        }
        std::set<std::string> devices, transports;
        for (const RankInfo& rank : m_header.ranks)
            if (!rank.device.empty()) devices.insert(m_redaction.text(rank.device));
        for (const ProcessGroupInfo& group : m_info.groups)
            if (!group.transport.empty()) transports.insert(group.transport);
        row("device", joined(devices));
        row("ranks", formatCount(static_cast<std::int64_t>(m_header.ranks.size())));
        row("transport", joined(transports));
        row("length", formatTime(m_info.range.length()) + ", " + formatCount(m_info.stepCount) + " steps, " +
                          formatCount(m_info.counts.slices) + " slices, " + formatCount(m_info.counts.allocations) +
                          " buffers");
        m_page.table({"", ""}, rows, false);
    }

    std::string clockSentence() const
    {
        switch (m_header.clock) {
        case ClockKind::Wall: return "Times are those of the clock on the wall: what really happened.";
        case ClockKind::Device:
            return "Times are those of virtual devices: operators were measured, links between ranks are modelled.";
        case ClockKind::Predicted: return "Times are those of the cost model.";
        }
        return {};
    }

    static std::string joined(const std::set<std::string>& all)
    {
        std::string text;
        for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
        return text;
    }

    void glance()
    {
        m_page.section("At a glance", "Times and shares are of the median measured step.");
        std::vector<ReportFigure> figures;
        for (std::size_t i = 0; i < kFigureCount; ++i) {
            const auto figure = static_cast<Figure>(i);
            const FigureInfo& info = infoOf(figure);
            // One of the two rates: that of samples where there are no tokens.
            const bool hasTokens = m_metrics.tokensPerSecond || !m_metrics.samplesPerSecond;
            if (!info.use.glance || figure == (hasTokens ? Figure::SamplesPerSecond : Figure::TokensPerSecond))
                continue;
            figures.push_back({info.words, figureText(info, info.of(m_metrics)), info.meaning});
        }
        m_page.figures(figures);
        if (m_metrics.recorderOverheadFraction)
            m_page.paragraph("Recording itself cost " + formatPercent(*m_metrics.recorderOverheadFraction, 2) +
                             " of a step.");
    }

    void waterfall()
    {
        m_page.section("Where the time of a step goes", "The shares add up to the whole step, averaged over ranks.");
        if (m_metrics.waterfall.empty())
            return m_page.paragraph("The trace has no complete step, so there is nothing to divide.");
        std::vector<BarPart> parts;
        std::vector<std::pair<std::string, std::string>> key;
        Rows rows;
        for (const auto& [part, share] : m_metrics.waterfall.parts()) {
            const FigureInfo& info = infoOf(part);
            parts.push_back({info.words, info.key, share});
            if (share > 0) key.emplace_back(info.key, info.words);
            const std::string time = m_metrics.stepTime
                                         ? formatTime(Duration::fromSeconds(m_metrics.stepTime->seconds() * share))
                                         : kReportDash;
            rows.push_back({info.words, formatPercent(share), time, info.meaning});
        }
        m_page.figure(svgBar(parts, "shares of the step time"));
        m_page.key(key);
        m_page.table({"share", "of the step", "time", "meaning"}, rows, false);
        if (m_metrics.idleFraction.value_or(0) <= 0.0005) return;
        std::string reasons;
        for (std::size_t i = kWaterfallParts; i < kAllWaterfallParts; ++i) {
            const auto part = static_cast<WaterfallPart>(i);
            reasons += (reasons.empty() ? "" : ", ") + std::string(infoOf(part).words) + " " +
                       formatPercent(m_metrics.waterfall[part]);
        }
        m_page.paragraph("Idle time by reason: " + reasons + " of the step.");
    }

    void steps()
    {
        m_page.section("Steps");
        if (m_steps.empty()) return m_page.paragraph("The trace has no complete step.");
        const std::size_t every = (m_steps.size() + kMostPoints - 1) / kMostPoints;
        PointCurve times, losses;
        double longest = 0;
        for (std::size_t i = 0; i < m_steps.size(); i += every) {
            const double seconds = m_steps[i].range.length().seconds();
            longest = std::max(longest, seconds);
            times.points.emplace_back(static_cast<double>(m_steps[i].step.value), seconds);
        }
        times.begin = losses.begin = static_cast<double>(m_steps.front().step.value) - 0.5;
        times.end = losses.end = static_cast<double>(m_steps.back().step.value) + 0.5;
        times.top = longest > 0 ? 1.1 * longest : 1;
        for (const double tick : roundTicks(0, times.top)) times.valueTicks.emplace_back(tick, timeTick(tick));
        std::set<std::int64_t> numbers; // whole steps only
        for (const double tick : roundTicks(times.begin, times.end, 8)) {
            const auto number = static_cast<std::int64_t>(std::llround(tick));
            if (number >= m_steps.front().step.value && number <= m_steps.back().step.value) numbers.insert(number);
        }
        for (const std::int64_t number : numbers)
            times.positionTicks.emplace_back(static_cast<double>(number), std::to_string(number));
        std::string caption = "Time of each step, by its number.";
        const auto leftOut = std::count_if(m_steps.begin(), m_steps.end(), [](const StepUtilisation& step) {
            return step.state != StepState::Measured;
        });
        if (leftOut > 0)
            caption += " " + formatCount(leftOut) + " of " + formatCount(static_cast<std::int64_t>(m_steps.size())) +
                       " (warm-up, cut or odd) are left out of the other figures.";
        m_page.figure(svgPoints(times, "time per step"), caption);

        for (std::size_t i = 0; i < m_metrics.loss.size() && i < m_steps.size(); i += every)
            if (m_metrics.loss[i] && std::isfinite(*m_metrics.loss[i]))
                losses.points.emplace_back(static_cast<double>(m_steps[i].step.value), *m_metrics.loss[i]);
        if (losses.points.empty()) return m_page.paragraph("The trace does not say what the loss was.");
        const auto [low, high] = std::minmax_element(losses.points.begin(), losses.points.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
        const double margin = std::max(0.05 * (high->second - low->second), 1e-3 * std::abs(high->second) + 1e-9);
        losses.bottom = low->second - margin;
        losses.top = high->second + margin;
        losses.positionTicks = times.positionTicks;
        for (const double tick : roundTicks(losses.bottom, losses.top))
            losses.valueTicks.emplace_back(tick, formatFigure(tick, 4));
        m_page.figure(svgPoints(losses, "loss per step"),
                      "Loss of each step: " + formatFigure(losses.points.front().second, 4) + " at first, " +
                          formatFigure(losses.points.back().second, 4) + " at last.");
    }

    Status operators()
    {
        m_page.section("Operators that took the most time",
                       "Over all measured steps and ranks. Waiting for a batch or a message is left out; a collective "
                       "lasts from a rank's arrival, so that it holds the waiting for the last one.");
        FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> all, m_trace.opSummaries(1000));
        // One row for all layers: a network repeats them.
        struct Kind {
            std::int64_t count = 0;
            Duration total, longest;
            double flops = 0;
            std::set<std::int32_t> layers;
        };
        std::map<std::tuple<std::string, Phase, Activity>, Kind> kinds;
        for (const OpSummary& summary : all) {
            FOURWALLS_TRY_ASSIGN(const auto op, m_trace.op(summary.op));
            if (!isWork(op->activity) || summary.total.ns <= 0) continue;
            Kind& kind = kinds[{m_redaction.text(op->name), op->phase, op->activity}];
            kind.count += summary.count;
            addTo(kind.total, summary.total);
            kind.longest = std::max(kind.longest, summary.longest);
            kind.flops += op->flops * static_cast<double>(summary.count);
            if (op->layer) kind.layers.insert(op->layer->value);
        }
        std::vector<std::pair<std::tuple<std::string, Phase, Activity>, Kind>> sorted(kinds.begin(), kinds.end());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& x, const auto& y) { return x.second.total > y.second.total; });
        Rows rows;
        for (const auto& [what, kind] : sorted) {
            if (rows.size() == kMostOperators) break;
            const auto& [operation, phase, activity] = what;
            std::string where = phase == Phase::None ? "" : spacedWords(name(phase));
            if (!kind.layers.empty()) where += (where.empty() ? "" : ", ") + layersText(kind.layers);
            const double rate = kind.flops / kind.total.seconds();
            rows.push_back({operation, where.empty() ? kReportDash : where, spacedWords(name(activity)),
                            formatCount(kind.count), formatTime(kind.total), formatTime(kind.longest),
                            rate > 0 ? formatRate(rate, "FLOP/s") : kReportDash});
        }
        if (rows.empty())
            m_page.paragraph("No operator was recorded within a measured step.");
        else
            m_page.table({"operator", "where", "kind", "times", "together", "longest", "rate"}, rows);
        return {};
    }

    /// "pp of ranks 0, 2": several groups may have one name.
    std::string groupOf(const CollectiveMetrics& collective) const
    {
        std::string text = m_redaction.text(collective.group);
        const auto index = static_cast<std::size_t>(collective.summary.group.value);
        if (collective.summary.group.value < 0 || index >= m_info.groups.size()) return text;
        const std::vector<RankId>& ranks = m_info.groups[index].ranks;
        if (ranks.size() > 8) return text + " of " + formatCount(static_cast<std::int64_t>(ranks.size())) + " ranks";
        for (std::size_t i = 0; i < ranks.size(); ++i)
            text += (i == 0 ? " of ranks " : ", ") + std::to_string(ranks[i].value);
        return text;
    }

    void collectives()
    {
        m_page.section("Communication between ranks", "Transfer time is from the last rank's arrival to the end; "
                                                      "waiting is from a rank's own arrival to the last one's.");
        Rows rows;
        for (const CollectiveMetrics& collective : m_metrics.collectives) {
            if (rows.size() == kMostRows) break;
            const CollectiveSummary& summary = collective.summary;
            const auto rate = [](const std::optional<double>& value) {
                return value ? formatRate(*value, "B/s") : std::string(kReportDash);
            };
            const auto bytes = [](const std::optional<std::int64_t>& value) {
                return value ? formatBytes(static_cast<double>(*value)) : std::string(kReportDash);
            };
            rows.push_back({spacedWords(name(summary.operation)), groupOf(collective), formatCount(summary.count),
                            bytes(summary.payloadBytes), bytes(summary.wireBytes), formatTime(summary.time),
                            formatTime(summary.wait), rate(collective.algorithmBytesPerSecond),
                            rate(collective.busBytesPerSecond)});
        }
        if (rows.empty())
            return m_page.paragraph(m_header.ranks.size() > 1 ? "No collective was recorded."
                                                              : "One rank: it has nobody to talk to.");
        m_page.table({"operation", "group", "times", "payload", "on the wire", "transfer", "waiting", "algbw", "busbw"},
                     rows);
        m_page.more(m_metrics.collectives.size(), rows.size(), "kinds");
    }

    void bubble()
    {
        if (m_metrics.bubbleByStage.size() < 2) return; // no pipeline
        m_page.section(
            "Pipeline bubble",
            "Share of the pipeline's window in which a stage neither computes nor exchanges data with its peers.");
        for (std::size_t stage = 0; stage < std::min(m_metrics.bubbleByStage.size(), kMostRows); ++stage) {
            const double share = m_metrics.bubbleByStage[stage];
            const std::string label = "stage " + std::to_string(stage), lost = "bubble " + formatPercent(share);
            m_page.figure(svgBar({{label, infoOf(WaterfallPart::Achieved).key, 1 - share},
                                  {lost, infoOf(WaterfallPart::Bubble).key, share}},
                                 label + ": " + lost));
        }
        m_page.more(m_metrics.bubbleByStage.size(), std::min(m_metrics.bubbleByStage.size(), kMostRows), "stages");
        if (!m_header.spec) return;
        const ParallelPlan& plan = m_header.spec->plan;
        const bool closedForm = plan.schedule == PipelineSchedule::Naive || plan.schedule == PipelineSchedule::GPipe ||
                                plan.schedule == PipelineSchedule::OneFOneB ||
                                plan.schedule == PipelineSchedule::Interleaved;
        if (closedForm && plan.pp > 1)
            m_page.paragraph("Mean " + percent(m_metrics.bubbleFraction) + "; " + std::to_string(plan.pp) +
                             " equal stages with " + std::to_string(plan.microbatches) +
                             " micro-batches under the schedule " + std::string(name(plan.schedule)) + " would have " +
                             formatPercent(pipelineBubble(plan.schedule, plan.pp, plan.microbatches, plan.vpp)) + ".");
    }

    void inferred()
    {
        const std::vector<InferredField> fields = inferredFields(m_info.audit);
        if (fields.empty()) return;
        m_page.section("What the profile shows of the run behind it", "Inferred, not stated by the file.");
        Rows rows;
        for (const InferredField& field : fields)
            rows.push_back({spacedWords(field.field), m_redaction.text(field.value),
                            std::string(name(field.confidence)),
                            field.runnerUp ? m_redaction.text(field.runnerUp->value) + ", " +
                                                 formatPercent(field.runnerUp->odds) + " as likely"
                                           : std::string(),
                            m_redaction.text(field.why)});
        m_page.table({"", "value", "sure", "else", "because"}, rows, false);
    }

    void audit()
    {
        m_page.section("What was lost, repaired or noticed");
        Rows rows;
        for (const AuditRecord& record : m_info.audit) {
            if (isCounter(record, AuditCounter::Inferred) || isCounter(record, AuditCounter::ImportFacts))
                continue; // for programs
            if (rows.size() == kMostRows) break;
            rows.push_back({spacedWords(record.name), std::string(name(record.severity)), formatCount(record.count),
                            m_redaction.text(record.detail)});
        }
        if (m_metrics.dropped == 0) m_page.paragraph("No record was dropped.");
        if (!rows.empty()) m_page.table({"counter", "kind", "count", "detail"}, rows, false);
    }

    TraceQuery& m_trace;
    const ReportView& m_view;
    const TraceInfo& m_info;
    Redaction m_redaction;
    TraceHeader m_header;
    TraceMetrics m_metrics;
    std::vector<StepUtilisation> m_steps;
    ReportPage m_page;
};

} // namespace

Status writeHtmlReport(TraceQuery& trace, std::ostream& out, std::stop_token stop, const ReportView& view)
{
    return Report(trace, view).write(out, stop);
}

} // namespace fourwalls
