// SPDX-License-Identifier: GPL-3.0-or-later
// See cost_words.h.
#include "views/whatif/cost_words.h"

#include "model/spec/names.h"
#include "views/session/trace_session.h"
#include "views/whatif/gain_words.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"
#include "views/words/format.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace fourwalls::views {

namespace {

struct CostWords {
    Q_DECLARE_TR_FUNCTIONS(CostWords)
};

} // namespace

QString words(cost::CostPart part)
{
    using cost::CostPart;
    switch (part) {
    case CostPart::Gemm: return CostWords::tr("matrix products");
    case CostPart::Attention: return CostWords::tr("attention");
    case CostPart::MemoryBound: return CostWords::tr("memory-bound operators");
    case CostPart::Host: return CostWords::tr("launching");
    case CostPart::TensorComm: return CostWords::tr("tensor-parallel communication");
    case CostPart::ContextComm: return CostWords::tr("context-parallel communication");
    case CostPart::ExpertComm: return CostWords::tr("expert-parallel communication");
    case CostPart::ParameterComm: return CostWords::tr("gathering of parameters");
    case CostPart::GradientComm: return CostWords::tr("reduction of gradients");
    case CostPart::PipelineComm: return CostWords::tr("sending between stages");
    case CostPart::Copy: return CostWords::tr("copies to and from the host");
    case CostPart::Contention: return CostWords::tr("computation slowed by communication");
    case CostPart::Optimizer: return CostWords::tr("optimizer");
    case CostPart::Count: break;
    }
    return {};
}

QString dominantWords(const cost::PredictedStep& step)
{
    const auto& seconds = step.parts.seconds;
    const auto largest = std::max_element(seconds.begin(), seconds.end());
    if (step.waitSeconds > *largest) return CostWords::tr("the pipeline bubble");
    return words(static_cast<cost::CostPart>(largest - seconds.begin()));
}

std::vector<MemoryShare> memoryShares(const cost::PredictedStep& step)
{
    std::vector<MemoryShare> shares;
    const auto add = [&](const QString& name, MemoryCategory category) {
        const double bytes = step.peakByCategory[static_cast<std::size_t>(category)];
        if (bytes > 0) shares.push_back({name, category, bytes});
    };
    add(CostWords::tr("weights"), MemoryCategory::Weights);
    add(CostWords::tr("gradients"), MemoryCategory::Gradients);
    add(CostWords::tr("optimizer state"), MemoryCategory::OptimizerState);
    add(CostWords::tr("activations"), MemoryCategory::Activations);
    add(CostWords::tr("temporaries"), MemoryCategory::Temporaries);
    add(CostWords::tr("communication buffers"), MemoryCategory::CommBuffers);
    add(CostWords::tr("driver, libraries and slack"), MemoryCategory::Other);
    return shares;
}

QString memorySentence(const cost::PredictedStep& step, ByteUnit unit)
{
    const std::vector<MemoryShare> shares = memoryShares(step);
    const auto largest = std::max_element(shares.begin(), shares.end(),
                                          [](const MemoryShare& a, const MemoryShare& b) { return a.bytes < b.bytes; });
    const QString most = largest == shares.end()
                             ? QString()
                             : CostWords::tr("%1 of %2").arg(formatBytes(largest->bytes, unit), largest->name);
    const QString peak = formatBytes(step.peakBytes, unit);
    const double capacity = step.usableMemoryBytes;
    if (!(capacity > 0))
        return CostWords::tr("A rank needs %1, with %2. How much the device has is not known.").arg(peak, most);
    const QString has = formatBytes(capacity, unit);
    if (step.feasible) return CostWords::tr("Fits: a rank needs %1 of %2, with %3.").arg(peak, has, most);
    const QString over = formatBytes(step.peakBytes - capacity, unit);
    return CostWords::tr("Does not fit: a rank needs %1, %2 more than the %3 of the device, with %4.")
        .arg(peak, over, has, most);
}

QString guessedNote(const WhatIf* whatIf)
{
    return whatIf && whatIf->isGuess() ? QStringLiteral(" · ") + CostWords::tr("guessed") : QString();
}

QString ghostName(const WhatIf* whatIf)
{
    return whatIf && whatIf->showsReplay() ? CostWords::tr("replayed") : CostWords::tr("predicted");
}

QString ghostFigure(const WhatIf* whatIf, const QString& value)
{
    if (whatIf && whatIf->showsReplay()) return CostWords::tr("replayed %1").arg(value);
    return CostWords::tr("predicted %1").arg(value) + guessedNote(whatIf);
}

QString ghostNote(const WhatIf* whatIf)
{
    if (!whatIf || !whatIf->showsReplay()) return guessedNote(whatIf);
    const auto step = whatIf->replayer().step();
    if (!step) return {};
    const replay::ReplayOutcome& outcome = step->changed.outcome;
    // It is one step, whichever recorded ones it is laid over.
    const std::optional<StepIndex> of = replayedStep(whatIf->replayer());
    const QString which = of ? QStringLiteral(" · ") + CostWords::tr("step %1").arg(of->value) : QString();
    return which + QStringLiteral(" · ") + basisText(outcome.measured, outcome.scaled, outcome.modelled);
}

namespace {

/// What the trace shows of its run, with what would fit nearly as well.
QString inferredWords(std::span<const InferredField> inferred)
{
    constexpr int kMost = 4;
    QStringList known;
    for (const InferredField& field : inferred)
        if (known.size() < kMost) known << inferredText(field);
    return known.isEmpty() ? QString()
                           : QLatin1Char(' ') + CostWords::tr("Inferred: %1.").arg(known.join(QStringLiteral(", ")));
}

/// What a verdict over a guess says.
QString verdictWords(const compare::GuessVerdict& verdict)
{
    using compare::GateReason;
    const auto text = [](const std::string& words) { return QString::fromStdString(words); };
    const auto differing = std::ranges::find_if(verdict.facts, [](const auto& fact) { return !fact.matches; });
    const bool differs = differing != verdict.facts.end();
    const QString found = differs ? text(differing->found) : QString(kDash);
    QStringList fields;
    for (const std::string& field : verdict.missing)
        if (fields.size() < 4) fields << text(field);
    const QString fill =
        fields.isEmpty() ? QString()
                         : QLatin1Char(' ') + CostWords::tr("To fill in: %1.").arg(fields.join(QStringLiteral(", ")));
    switch (verdict.reason) {
    case GateReason::Allowed: return {};
    case GateReason::OnlyMemory:
        return CostWords::tr("No training step is predicted: a memory snapshot does not say what ran.");
    case GateReason::NotTraining:
        return verdict.sawBackward
                   ? CostWords::tr("No training step is predicted: no optimizer's step was found in this trace.")
               : verdict.sawOptimizer
                   ? CostWords::tr("No training step is predicted: no backward pass was found in this trace.")
                   : CostWords::tr("No training step is predicted: neither a backward pass nor an optimizer's step was "
                                   "found in this trace.");
    case GateReason::UnknownDevice:
        return CostWords::tr("Nothing is predicted: no machine among the presets has this device (%1).").arg(found);
    case GateReason::NoGuess:
        return CostWords::tr("Nothing is predicted: too little of the network and its plan shows in this trace.") +
               fill;
    case GateReason::FactsDiffer:
        return !differs ? QString()
                        : CostWords::tr("Nothing is predicted: what could be guessed does not match what was recorded "
                                        "(%1: expected %2, found %3).")
                                  .arg(text(differing->what), text(differing->expected), found) +
                              fill;
    case GateReason::StepUnknown:
        return CostWords::tr("Nothing is predicted: the trace has no measured step to hold a model against.");
    case GateReason::StepDiffers:
        return CostWords::tr("The model does not describe this trace: it predicts a step of %1, recorded were %2.")
                   .arg(formatDuration(Duration::fromSeconds(verdict.predictedSeconds.value_or(0)), 3),
                        formatDuration(Duration::fromSeconds(verdict.recordedSeconds.value_or(0)), 3)) +
               fill;
    }
    return {};
}

/// The names of spec and plan are what people type, and stay in English; other languages have words for most.
constexpr const char* kFieldNames[] = {
    QT_TRANSLATE_NOOP("CostWords", "device"),       QT_TRANSLATE_NOOP("CostWords", "ffn_hidden"),
    QT_TRANSLATE_NOOP("CostWords", "heads"),        QT_TRANSLATE_NOOP("CostWords", "hidden"),
    QT_TRANSLATE_NOOP("CostWords", "kv_heads"),     QT_TRANSLATE_NOOP("CostWords", "layers"),
    QT_TRANSLATE_NOOP("CostWords", "microbatches"), QT_TRANSLATE_NOOP("CostWords", "microbatch_size"),
    QT_TRANSLATE_NOOP("CostWords", "optimizer"),    QT_TRANSLATE_NOOP("CostWords", "precision"),
    QT_TRANSLATE_NOOP("CostWords", "sequence"),     QT_TRANSLATE_NOOP("CostWords", "vocabulary"),
    QT_TRANSLATE_NOOP("CostWords", "world_size"),   QT_TRANSLATE_NOOP("CostWords", "peak"),
    QT_TRANSLATE_NOOP("CostWords", "link"),         QT_TRANSLATE_NOOP("CostWords", "memory bandwidth"),
};

} // namespace

QString fieldWords(const std::string& field)
{
    for (const char* name : kFieldNames)
        if (field == name) return CostWords::tr(name);
    return QString::fromStdString(field);
}

QString inferredText(const InferredField& field)
{
    constexpr double kLeastOdds = 0.01; // what is less likely is worth no words

    const QString text = QStringLiteral("%1 = %2").arg(fieldWords(field.field), QString::fromStdString(field.value));
    if (!field.runnerUp || field.runnerUp->odds < kLeastOdds) return text;
    return CostWords::tr("%1 (or %2, %3 as likely)")
        .arg(text, QString::fromStdString(field.runnerUp->value), formatPercent(field.runnerUp->odds, 0));
}

QString whyNothingIsPredicted(const WhatIf* whatIf, std::span<const InferredField> inferred)
{
    if (whatIf && whatIf->guessVerdict()) {
        const QString words = verdictWords(*whatIf->guessVerdict());
        return words.isEmpty() ? words : words + inferredWords(inferred);
    }
    if (whatIf && whatIf->recorded()) return {};
    return CostWords::tr("Nothing is predicted: this trace does not say which network ran on which machines.") +
           inferredWords(inferred);
}

} // namespace fourwalls::views
