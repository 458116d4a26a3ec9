// SPDX-License-Identifier: GPL-3.0-or-later
// See finding_words.h.
#include "views/words/finding_words.h"

#include "model/diagnose/finding_advice.h"
#include "model/diagnose/finding_remedy.h"
#include "model/diagnose/finding_text.h"
#include "views/words/format.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace fourwalls::views {

namespace {

struct FindingWords {
    Q_DECLARE_TR_FUNCTIONS(FindingWords)
};

constexpr double kFewOperations = 30; ///< say little of who comes last

using diagnose::Cause;
using diagnose::EvidenceKind;
using diagnose::Finding;

/// "12.3 ms".
QString milliseconds(double time)
{
    return formatDuration(Duration{qRound64(time * 1e6)}, 3);
}

/// "step 6", "steps 2 to 19", or "the whole trace".
QString scopeOf(const Finding& finding)
{
    if (finding.steps.empty()) return FindingWords::tr("the whole trace");
    if (finding.steps.size() == 1) return FindingWords::tr("step %1").arg(finding.steps.front().value);
    return FindingWords::tr("steps %1 to %2").arg(finding.steps.front().value).arg(finding.steps.back().value);
}

/// "82 % of step 6 (48.2 ms)", with the number of ranks that it is the mean of.
QString costOf(const Finding& finding)
{
    const QString cost = FindingWords::tr("%1 of %2 (%3)")
                             .arg(formatPercent(finding.value(EvidenceKind::ShareOfStep)), scopeOf(finding),
                                  milliseconds(finding.value(EvidenceKind::TimePerStep)));
    const auto ranks = static_cast<qint64>(finding.ranks.size());
    return ranks > 1 ? FindingWords::tr("%1, mean of %2 ranks").arg(cost, formatCount(ranks)) : cost;
}

/// A count with what it is of: "204 kernels per step and rank", "16 kernels per step", "17 032 kernels".
QString perStep(const Finding& finding, const QString& what)
{
    if (finding.steps.empty()) return finding.ranks.size() > 1 ? FindingWords::tr("%1 per rank").arg(what) : what;
    return finding.ranks.size() > 1 ? FindingWords::tr("%1 per step and rank").arg(what)
                                    : FindingWords::tr("%1 per step").arg(what);
}

QString shortened(const std::string& text)
{
    constexpr int kMostLetters = 60;
    const QString name = QString::fromStdString(text);
    return name.size() > kMostLetters ? name.left(kMostLetters - 1) + QChar(0x2026) : name;
}

QString countOf(const Finding& finding, EvidenceKind kind)
{
    return formatCount(qRound64(finding.value(kind)));
}

/// "1410 MHz".
QString clockOf(const Finding& finding, EvidenceKind kind)
{
    return FindingWords::tr("%1 MHz").arg(countOf(finding, kind));
}

QString shownBytes(const Finding& finding, EvidenceKind kind)
{
    return formatBytes(finding.value(kind), ByteUnit::GB);
}

/// "1.52 times what its peers take for the same work".
QString againstPeers(const Finding& finding)
{
    return FindingWords::tr("%1 times what its peers take for the same work")
        .arg(QString::number(finding.value(EvidenceKind::Ratio), 'f', 2));
}

/// "in 8 of 10 steps".
QString inSteps(const Finding& finding)
{
    return FindingWords::tr("in %1 of %2 steps")
        .arg(countOf(finding, EvidenceKind::StepsAffected), countOf(finding, EvidenceKind::StepsLookedAt));
}

/// "rank 3", "ranks 0, 1, 2 and 5 more".
QString namedRanks(const Finding& finding)
{
    constexpr std::size_t kMostNames = 4;
    if (finding.ranks.size() == 1) return FindingWords::tr("rank %1").arg(finding.ranks.front().value);
    QStringList names;
    for (std::size_t i = 0; i < std::min(finding.ranks.size(), kMostNames); ++i)
        names << QString::number(finding.ranks[i].value);
    const QString listed = FindingWords::tr("ranks %1").arg(names.join(FindingWords::tr(", ")));
    return finding.ranks.size() > kMostNames
               ? FindingWords::tr("%1 and %2 more")
                     .arg(listed, formatCount(static_cast<qint64>(finding.ranks.size() - kMostNames)))
               : listed;
}

/// What is slow, uneven or stands still.
QStringList unevenFigures(const Finding& finding)
{
    const auto has = [&finding](EvidenceKind kind) { return finding.find(kind) != nullptr; };
    QStringList parts;
    switch (finding.cause) {
    case Cause::SlowRank:
        if (has(EvidenceKind::Ratio))
            parts << againstPeers(finding) << inSteps(finding);
        else if (has(EvidenceKind::ShareOfStep))
            parts << FindingWords::tr("the others wait for %1 of %2 (%3)")
                         .arg(formatPercent(finding.value(EvidenceKind::ShareOfStep)), scopeOf(finding),
                              milliseconds(finding.value(EvidenceKind::TimePerStep)));
        if (has(EvidenceKind::ComesLast))
            parts << FindingWords::tr("it comes last in %1 of %2 operations")
                         .arg(countOf(finding, EvidenceKind::ComesLast),
                              countOf(finding, EvidenceKind::OperationsTogether));
        break;
    case Cause::SlowStage:
        parts << FindingWords::tr("computes %1 per step, the other stages %2")
                     .arg(milliseconds(finding.value(EvidenceKind::OwnTime)),
                          milliseconds(finding.value(EvidenceKind::PeersTime)));
        break;
    case Cause::SlowLink:
        parts << FindingWords::tr("a transfer takes %1, its siblings take %2")
                     .arg(milliseconds(finding.value(EvidenceKind::MovingTime)),
                          milliseconds(finding.value(EvidenceKind::SiblingsMoving)));
        break;
    case Cause::SequenceImbalance:
        parts << FindingWords::tr("micro-batches differ by %1").arg(formatPercent(finding.value(EvidenceKind::Spread)));
        break;
    case Cause::ExpertImbalance:
        parts << FindingWords::tr("the busiest rank has %1 times the mean")
                     .arg(QString::number(finding.value(EvidenceKind::BusiestShare), 'f', 2));
        if (has(EvidenceKind::BusiestExpert))
            parts << FindingWords::tr("the busiest expert gets %1 times the mean of the tokens")
                         .arg(QString::number(finding.value(EvidenceKind::BusiestExpert), 'f', 2));
        if (finding.source.layer) parts << FindingWords::tr("layer %1").arg(finding.source.layer->value);
        break;
    case Cause::HostPause:
        parts << FindingWords::tr("%1 per step, the longest %2")
                     .arg(milliseconds(finding.value(EvidenceKind::TimePerStep)),
                          milliseconds(finding.value(EvidenceKind::LongestPause)))
              << inSteps(finding);
        break;
    case Cause::UnevenArrivals:
        parts << costOf(finding)
              << (finding.value(EvidenceKind::OperationsTogether) < kFewOperations
                      ? FindingWords::tr("in %1 operations, too few to tell whether one rank is always late")
                      : FindingWords::tr("in %1 operations, no rank is late more often than by chance"))
                     .arg(countOf(finding, EvidenceKind::OperationsTogether));
        break;
    case Cause::Throttling:
        if (has(EvidenceKind::Clock))
            parts << FindingWords::tr("%1 instead of %2 in %3 of the sampled time")
                         .arg(clockOf(finding, EvidenceKind::Clock), clockOf(finding, EvidenceKind::FullClock),
                              formatPercent(finding.value(EvidenceKind::SampledShare)));
        if (has(EvidenceKind::FromStep))
            parts << FindingWords::tr("%1 times as long from step %2 on")
                         .arg(QString::number(finding.value(EvidenceKind::Ratio), 'f', 2),
                              countOf(finding, EvidenceKind::FromStep));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("on %1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        if (has(EvidenceKind::Reasons)) parts << shortened(finding.text(EvidenceKind::Reasons));
        break;
    default: break;
    }
    return parts;
}

/// What happens to the job between its steps, and to a few of them.
QStringList jobFigures(const Finding& finding)
{
    QStringList parts;
    switch (finding.cause) {
    case Cause::CheckpointStall:
    case Cause::EvaluationStall:
        parts << FindingWords::tr("%1 per step, the longest %2")
                     .arg(milliseconds(finding.value(EvidenceKind::TimePerStep)),
                          milliseconds(finding.value(EvidenceKind::LongestPause)));
        break;
    case Cause::Failures:
        parts << FindingWords::tr("%1 times, %2 each until the lost steps were taken again")
                     .arg(countOf(finding, EvidenceKind::Restarts),
                          milliseconds(finding.value(EvidenceKind::TimePerRestart)));
        break;
    case Cause::BadSteps:
        parts << inSteps(finding)
              << FindingWords::tr("the longest takes %1, the median %2")
                     .arg(milliseconds(finding.value(EvidenceKind::LongestStep)),
                          milliseconds(finding.value(EvidenceKind::MedianStep)));
        break;
    default: break;
    }
    return parts;
}

/// What takes a share of the step.
QStringList shareFigures(const Finding& finding)
{
    const auto has = [&finding](EvidenceKind kind) { return finding.find(kind) != nullptr; };
    QStringList parts;
    switch (finding.cause) {
    case Cause::ExposedCommunication:
        parts << costOf(finding);
        if (has(EvidenceKind::HoldsWaiting)) parts << FindingWords::tr("waiting cannot be told apart");
        break;
    case Cause::HostBound:
        parts << costOf(finding);
        if (has(EvidenceKind::LongestPause)) {
            const QString longest = milliseconds(finding.value(EvidenceKind::LongestPause));
            parts << (has(EvidenceKind::Meanwhile) ? FindingWords::tr("the longest gap takes %1, in %2")
                                                         .arg(longest, shortened(finding.text(EvidenceKind::Meanwhile)))
                                                   : FindingWords::tr("the longest gap takes %1").arg(longest));
        }
        if (finding.value(EvidenceKind::LaunchShare) >= diagnose::kLeastFinding)
            parts << FindingWords::tr("launches cover %1").arg(formatPercent(finding.value(EvidenceKind::LaunchShare)));
        if (finding.value(EvidenceKind::Occurrences) > 0)
            parts << perStep(finding,
                             finding.value(EvidenceKind::Occurrences) == 1
                                 ? FindingWords::tr("1 kernel")
                                 : FindingWords::tr("%1 kernels").arg(countOf(finding, EvidenceKind::Occurrences)));
        break;
    case Cause::WarmUp:
        if (has(EvidenceKind::LongestStep)) {
            parts << FindingWords::tr("the longest takes %1, the median %2")
                         .arg(milliseconds(finding.value(EvidenceKind::LongestStep)),
                              milliseconds(finding.value(EvidenceKind::MedianStep)));
            break;
        }
        parts << costOf(finding);
        if (has(EvidenceKind::Mostly))
            parts << FindingWords::tr("mostly %1").arg(shortened(finding.text(EvidenceKind::Mostly)));
        break;
    case Cause::SyncCalls:
    case Cause::DataLoading:
    case Cause::CopyBound:
        parts << costOf(finding);
        if (has(EvidenceKind::Mostly))
            parts << FindingWords::tr("mostly %1").arg(shortened(finding.text(EvidenceKind::Mostly)));
        if (finding.value(EvidenceKind::Occurrences) > 0 && finding.cause != Cause::DataLoading) {
            const QString count = countOf(finding, EvidenceKind::Occurrences);
            parts << perStep(finding, finding.cause == Cause::CopyBound ? FindingWords::tr("copies: %1").arg(count)
                                                                        : FindingWords::tr("calls: %1").arg(count));
        }
        break;
    case Cause::SmallKernels:
        parts << costOf(finding)
              << perStep(finding, FindingWords::tr("kernels: %1").arg(countOf(finding, EvidenceKind::Occurrences)));
        break;
    case Cause::PipelineBubble: parts << costOf(finding); break;
    default: break;
    }
    return parts;
}

/// What memory has.
QStringList memoryFigures(const Finding& finding)
{
    const auto has = [&finding](EvidenceKind kind) { return finding.find(kind) != nullptr; };
    QStringList parts;
    switch (finding.cause) {
    case Cause::MemoryNearWall:
        parts << FindingWords::tr("peak %1 of %2 (%3)")
                     .arg(shownBytes(finding, EvidenceKind::Peak), shownBytes(finding, EvidenceKind::Capacity),
                          formatPercent(finding.value(EvidenceKind::Peak) / finding.value(EvidenceKind::Capacity)));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("%1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        break;
    case Cause::MemoryGrowth:
        parts
            << (has(EvidenceKind::Rises)
                    ? FindingWords::tr("%1 more after each rise and fall")
                          .arg(shownBytes(finding, EvidenceKind::BytesPerRise))
                    : FindingWords::tr("%1 more after each step").arg(shownBytes(finding, EvidenceKind::BytesPerStep)));
        if (has(EvidenceKind::StepsLeft))
            parts << FindingWords::tr("full after %1 more steps").arg(countOf(finding, EvidenceKind::StepsLeft));
        if (has(EvidenceKind::Mostly))
            parts << FindingWords::tr("most of it made by %1").arg(shortened(finding.text(EvidenceKind::Mostly)));
        break;
    case Cause::Fragmentation:
        if (has(EvidenceKind::FreeAtEnd))
            parts << FindingWords::tr("at the end %1 of %2 reserved are free, the largest hole has %3")
                         .arg(shownBytes(finding, EvidenceKind::FreeAtEnd), shownBytes(finding, EvidenceKind::Reserved),
                              shownBytes(finding, EvidenceKind::LargestHole));
        else
            parts << FindingWords::tr("%1 reserved, %2 used at most")
                         .arg(shownBytes(finding, EvidenceKind::Reserved), shownBytes(finding, EvidenceKind::Peak));
        break;
    case Cause::OutOfMemory:
        parts << (finding.value(EvidenceKind::Failures) == 1
                      ? FindingWords::tr("once")
                      : FindingWords::tr("%1 times").arg(countOf(finding, EvidenceKind::Failures)));
        if (finding.ranks.size() > 1)
            parts << FindingWords::tr("on %1 ranks").arg(formatCount(static_cast<qint64>(finding.ranks.size())));
        if (has(EvidenceKind::First)) parts << shortened(finding.text(EvidenceKind::First));
        if (has(EvidenceKind::Mostly))
            parts << FindingWords::tr("most was made by %1").arg(shortened(finding.text(EvidenceKind::Mostly)));
        if (has(EvidenceKind::FreeTogether))
            parts << FindingWords::tr("%1 were free, the largest hole has %2")
                         .arg(shownBytes(finding, EvidenceKind::FreeTogether),
                              shownBytes(finding, EvidenceKind::LargestHole));
        break;
    default: break;
    }
    return parts;
}

} // namespace

QString findingTitle(const Finding& finding)
{
    const bool one = finding.ranks.size() == 1;
    switch (finding.cause) {
    case Cause::SlowRank:
        if (!finding.find(EvidenceKind::Ratio))
            return finding.waiting.size() == 1
                       ? FindingWords::tr("Rank %1 waits for rank %2")
                             .arg(finding.waiting.front().value)
                             .arg(finding.ranks.front().value)
                       : FindingWords::tr("The other ranks wait for rank %1").arg(finding.ranks.front().value);
        return FindingWords::tr("Rank %1 is slower than the others").arg(finding.ranks.front().value);
    case Cause::SlowStage:
        return FindingWords::tr("Pipeline stage %1 takes longer than the others").arg(finding.stage.value_or(0));
    case Cause::SlowLink: return FindingWords::tr("The link between %1 is slow").arg(namedRanks(finding));
    case Cause::SequenceImbalance: return FindingWords::tr("Micro-batches take unequally long");
    case Cause::ExpertImbalance: return FindingWords::tr("Experts have unequally many tokens");
    case Cause::HostPause:
        return FindingWords::tr("The program of %1 stands still now and then").arg(namedRanks(finding));
    case Cause::UnevenArrivals: return FindingWords::tr("Ranks wait for one another in collectives");
    case Cause::ExposedCommunication:
        return finding.find(EvidenceKind::HoldsWaiting)
                   ? FindingWords::tr("Communication (waiting and transfer) that nothing hides")
                   : FindingWords::tr("Transfers that no computation hides");
    case Cause::HostBound: return FindingWords::tr("The device waits for work from the program");
    case Cause::WarmUp: return FindingWords::tr("The program starts up: compilation, loading, first calls");
    case Cause::SyncCalls:
        if (finding.find(EvidenceKind::WithoutDevice))
            return FindingWords::tr("Values of tensors are read within the step");
        return FindingWords::tr("The program waits in synchronising calls while no device work is recorded");
    case Cause::DataLoading:
        return one && finding.waiting.size() > 0
                   ? FindingWords::tr("The others wait until rank %1 has its data").arg(finding.ranks.front().value)
                   : FindingWords::tr("The device waits for data");
    case Cause::CopyBound: return FindingWords::tr("Copies that no computation hides");
    case Cause::SmallKernels:
        return FindingWords::tr("Many kernels that take less than %1 on average")
            .arg(formatDuration(diagnose::kSmallKernel, 3));
    case Cause::PipelineBubble: return FindingWords::tr("Pipeline stages wait for one another");
    case Cause::CheckpointStall: return FindingWords::tr("The job waits for checkpoints");
    case Cause::EvaluationStall: return FindingWords::tr("The job waits for evaluations");
    case Cause::Failures: return FindingWords::tr("The job failed and was started again");
    case Cause::BadSteps: return FindingWords::tr("Few steps are much longer than the rest");
    case Cause::Throttling:
        return finding.find(EvidenceKind::Clock) ? FindingWords::tr("Power or temperature lowers the clock")
                                                 : FindingWords::tr("The same work takes longer as time goes by");
    case Cause::MemoryNearWall: return FindingWords::tr("Memory is nearly full");
    case Cause::MemoryGrowth: return FindingWords::tr("Memory grows from step to step");
    case Cause::Fragmentation: return FindingWords::tr("Far more memory is reserved than used");
    case Cause::OutOfMemory: return FindingWords::tr("Memory ran out");
    }
    return {};
}

QString findingFigures(const Finding& finding)
{
    QStringList parts = unevenFigures(finding) + jobFigures(finding) + shareFigures(finding) + memoryFigures(finding);
    if (finding.source.frame)
        parts << FindingWords::tr("%1 at %2:%3")
                     .arg(QString::fromStdString(finding.source.frame->function),
                          QString::fromStdString(finding.source.frame->file))
                     .arg(finding.source.frame->line);
    return parts.join(QStringLiteral(" \u00b7 "));
}

QString findingGain(const Finding& finding)
{
    if (!finding.gain) return {};
    const diagnose::Gain& gain = *finding.gain;
    const QString share = formatPercent(gain.share);
    if (gain.source == diagnose::GainSource::UpperBound) return FindingWords::tr("up to %1 less").arg(share);
    if (!gain.band || gain.perStep.ns <= 0) return FindingWords::tr("replayed without it: %1 less").arg(share);
    const auto ofStep = [&gain](Duration time) {
        return formatPercent(gain.share * static_cast<double>(time.ns) / static_cast<double>(gain.perStep.ns));
    };
    const QString low = ofStep(gain.band->low), high = ofStep(gain.band->high);
    if (low == high) return FindingWords::tr("replayed without it: %1 less").arg(share);
    return FindingWords::tr("replayed without it: %1 less (%2 to %3)").arg(share, low, high);
}

QString whyNoGain(const Finding& finding)
{
    switch (finding.cause) {
    case Cause::MemoryGrowth:
    case Cause::Fragmentation:
    case Cause::MemoryNearWall:
    case Cause::OutOfMemory: return FindingWords::tr("of memory: no gain of time is promised");
    case Cause::WarmUp: return FindingWords::tr("later steps do not have it: no gain is promised");
    default:
        return diagnose::remedyOf(finding).empty() ? FindingWords::tr("no change of a replay takes it away")
                                                   : QString();
    }
}

namespace {

QString translatedWording(const diagnose::Wording& words)
{
    const QString text = FindingWords::tr(words.text);
    return words.argument.empty() ? text : text.arg(QString::fromStdString(words.argument));
}

} // namespace

QString untold(const diagnose::Abstention& abstention)
{
    QString text = translatedWording(reasonOf(abstention));
    if (!abstention.source.empty()) text += QLatin1Char(' ') + findingPlace(abstention.source) + QLatin1Char('.');
    if (const diagnose::Wording record = whatToRecord(abstention); !record.empty())
        text += QLatin1Char(' ') + translatedWording(record);
    return text;
}

QString findingPlace(const diagnose::SourcePlace& place)
{
    QStringList parts;
    const bool isLine =
        place.frame && place.what.find(" \u00b7 ") != std::string::npos; // a snapshot's operators are lines
    if (!place.what.empty() && !isLine) parts << shortened(place.what);
    if (place.layer) parts << FindingWords::tr("layer %1").arg(place.layer->value);
    if (place.frame)
        parts << FindingWords::tr("%1 at %2:%3")
                     .arg(QString::fromStdString(place.frame->function), QString::fromStdString(place.frame->file))
                     .arg(place.frame->line);
    return parts.join(FindingWords::tr(", "));
}

QString findingAdvice(const Finding& finding)
{
    return translatedWording(adviceOn(finding));
}

QString findingSentence(const diagnose::Finding& finding)
{
    const QString fact = FindingWords::tr("%1: %2.").arg(findingTitle(finding), findingFigures(finding));
    const QString advice = findingAdvice(finding);
    return advice.isEmpty() ? fact : fact + QLatin1Char(' ') + advice;
}

QString nothingFound(const diagnose::Diagnosis& findings, bool lostInKernels)
{
    if (!findings.compute) return FindingWords::tr("Nothing in this trace tells what would help.");
    if (std::any_of(findings.abstained.begin(), findings.abstained.end(),
                    [](const diagnose::Abstention& each) { return each.lack == diagnose::Lack::Device; }))
        return FindingWords::tr("No work of a device is in this trace: what would help it cannot be told.");
    const QString share = formatPercent(*findings.compute);
    const QString scope = findings.wholeTrace || !findings.step ? FindingWords::tr("the whole trace")
                                                                : FindingWords::tr("step %1").arg(findings.step->value);
    if (findings.unexplainedIdle) {
        const QString text =
            FindingWords::tr("Computation takes %1 of %2. For %3 the device is idle; why, the trace does not tell.")
                .arg(share, scope, formatPercent(*findings.unexplainedIdle));
        for (const diagnose::Abstention& each : findings.abstained)
            if (each.lack == diagnose::Lack::Program || each.lack == diagnose::Lack::Gap ||
                each.lack == diagnose::Lack::WorkAwaited)
                return text + QLatin1Char(' ') + translatedWording(whatToRecord(each));
        return text;
    }
    return (lostInKernels ? FindingWords::tr("Nothing stands out but the kernels, which run far below the peak: "
                                             "computation takes %1 of %2, and nothing else costs %3 or more.")
                          : FindingWords::tr(
                                "Nothing stands out: computation takes %1 of %2, and nothing else costs %3 or more."))
        .arg(share, scope, formatPercent(diagnose::kLeastFinding, 0));
}

QString findingView(const diagnose::Finding& finding)
{
    return QString::fromStdString(std::string(diagnose::name(finding.show.view)));
}

} // namespace fourwalls::views
