// SPDX-License-Identifier: GPL-3.0-or-later
// See gain_words.h.
#include "views/whatif/gain_words.h"

#include "views/whatif/replayer.h"
#include "views/words/format.h"

#include <QCoreApplication>
#include <QStringList>

#include <cmath>

namespace fourwalls::views {

namespace {

struct GainWords {
    Q_DECLARE_TR_FUNCTIONS(GainWords)
};

constexpr double kNoGain = 5e-4; ///< of the step

} // namespace

AskedGain AskedGain::of(const replay::GainSubject& subject)
{
    using Kind = replay::GainSubject::Kind;
    const QString what = subject.kind == Kind::Kernel ? GainWords::tr("all of this name in half the time")
                         : subject.kind == Kind::Link
                             ? GainWords::tr("links of %1 twice as fast").arg(QString::fromStdString(subject.name))
                             : GainWords::tr("rank %1 like the mean").arg(subject.rank.value);
    return {what, replay::betterment(subject)};
}

AskedGain AskedGain::of(const std::string& change)
{
    const auto parsed = replay::parseChange(change);
    if (!parsed.ok()) return {QString::fromStdString(change), change};
    switch (parsed->kind) {
    case replay::ChangeKind::Stragglers: return {GainWords::tr("nobody slower than the mean"), change};
    case replay::ChangeKind::Rank:
        if (!parsed->recorded) return of({replay::GainSubject::Kind::Rank, {}, RankId{parsed->index}});
        break;
    case replay::ChangeKind::Stage:
        if (!parsed->recorded) return {GainWords::tr("stage %1 like the mean").arg(parsed->index), change};
        break;
    case replay::ChangeKind::Kernels:
        if (parsed->factor == 0.5) return of({replay::GainSubject::Kind::Kernel, parsed->pattern, {}});
        break;
    case replay::ChangeKind::Link:
        if (parsed->factor == 2) return of({replay::GainSubject::Kind::Link, parsed->pattern, {}});
        break;
    case replay::ChangeKind::Launches: return {GainWords::tr("launched as one graph"), change};
    case replay::ChangeKind::Schedule:
        return {GainWords::tr("passes in the order of %1").arg(QString::fromStdString(parsed->pattern)), change};
    default: break;
    }
    return {QString::fromStdString(change), change};
}

QString basisText(double measured, double scaled, double modelled)
{
    QStringList shares;
    const auto add = [&shares](double share, const QString& text) {
        if (share >= 0.005) shares << text.arg(formatPercent(share, 0));
    };
    add(measured, GainWords::tr("%1 measured"));
    add(scaled, GainWords::tr("%1 scaled"));
    add(modelled, GainWords::tr("%1 modelled"));
    return shares.join(QStringLiteral(", "));
}

namespace {

QString lengthText(const replay::ChangeGain& of)
{
    const double share = of.share();
    const QString percent = formatPercent(std::abs(share), 1);
    if (of.wholeTrace)
        return std::abs(share) < kNoGain ? GainWords::tr("the trace stays as long, replayed")
               : share > 0               ? GainWords::tr("trace %1 shorter, replayed").arg(percent)
                                         : GainWords::tr("trace %1 longer, replayed").arg(percent);
    return std::abs(share) < kNoGain ? GainWords::tr("the step stays as long, replayed")
           : share > 0               ? GainWords::tr("step %1 shorter, replayed").arg(percent)
                                     : GainWords::tr("step %1 longer, replayed").arg(percent);
}

} // namespace

QString gainText(const ReplayGain& gain, std::optional<double> most)
{
    if (!gain.problem.isEmpty()) return GainWords::tr("cannot be said: %1").arg(gain.problem);
    const replay::ChangeGain& of = gain.gain;
    if (most && of.share() > *most + kNoGain)
        return GainWords::tr("all of its %1, and time of other causes besides").arg(formatPercent(*most, 1));
    return lengthText(of) + QStringLiteral(" (") + basisText(of.measured, of.scaled, of.modelled) + QLatin1Char(')');
}

std::optional<StepIndex> replayedStep(const Replayer& replayer)
{
    const auto offers = replayer.offers();
    if (!offers || offers->quality.steps.size() != 1 || offers->replay->recording().wholeTrace) return std::nullopt;
    return offers->quality.steps.front().step;
}

QString replayErrorText(const Replayer& replayer)
{
    if (!replayer.offers()) return {};
    const replay::ReplayQuality& quality = replayer.offers()->quality;
    const QString error = formatPercent(replayer.offers()->error / 100, 2);
    const std::optional<StepIndex> step = replayedStep(replayer);
    if (const auto steps = replayer.offers()->errorSteps; step && steps > 1)
        return GainWords::tr("of step %1; unchanged, this replay is %2 off, mean of %3 steps")
            .arg(step->value)
            .arg(error)
            .arg(steps);
    QString text = step ? GainWords::tr("unchanged, this replay of step %1 is %2 off").arg(step->value).arg(error)
                        : GainWords::tr("unchanged, this replay is %1 off").arg(error);
    if (quality.restsOnItself)
        text += QLatin1Char(' ') + GainWords::tr("(which says nothing: it rests on its own delays)");
    return text;
}

QString whyNoReplay(const Replayer& replayer)
{
    if (!replayer.failure().isEmpty()) return replayer.failure();
    return replayer.isOfMeasured()
               ? QString()
               : GainWords::tr("nothing of this trace was measured; the What-if dock predicts changes");
}

} // namespace fourwalls::views
