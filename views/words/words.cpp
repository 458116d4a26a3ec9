// SPDX-License-Identifier: GPL-3.0-or-later
// The trace's vocabulary in the user's language.
#include "views/words/words.h"

#include <QCoreApplication>

#include <algorithm>
#include <span>
#include <string_view>

namespace fourwalls::views {

namespace {

/// Marks and translates in one context, "Vocabulary", so that a word is translated once for all views.
struct Vocabulary {
    Q_DECLARE_TR_FUNCTIONS(Vocabulary)
};

} // namespace

QString words(TraceSource source)
{
    switch (source) {
    case TraceSource::Recorded: return Vocabulary::tr("recorded");
    case TraceSource::Imported: return Vocabulary::tr("imported");
    case TraceSource::Predicted: return Vocabulary::tr("predicted");
    case TraceSource::Synthetic: return Vocabulary::tr("synthetic");
    }
    return {};
}

QString words(ClockKind clock)
{
    switch (clock) {
    case ClockKind::Wall: return Vocabulary::tr("wall clock");
    case ClockKind::Device: return Vocabulary::tr("device clock");
    case ClockKind::Predicted: return Vocabulary::tr("predicted clock");
    }
    return {};
}

QString words(const RankScope& scope)
{
    if (scope.one)
        return scope.isPart() && scope.present == 1
                   ? Vocabulary::tr("rank %1 of %2").arg(scope.one->value).arg(static_cast<qulonglong>(*scope.job))
                   : Vocabulary::tr("rank %1").arg(scope.one->value);
    if (scope.isPart())
        return Vocabulary::tr("%1 of %2 ranks")
            .arg(static_cast<qulonglong>(scope.present))
            .arg(static_cast<qulonglong>(*scope.job));
    if (scope.present == 2) return Vocabulary::tr("both ranks");
    return Vocabulary::tr("all %1 ranks").arg(static_cast<qulonglong>(scope.present));
}

QString words(SliceKind kind)
{
    switch (kind) {
    case SliceKind::Step: return Vocabulary::tr("step");
    case SliceKind::Phase: return Vocabulary::tr("phase");
    case SliceKind::Layer: return Vocabulary::tr("layer");
    case SliceKind::Operator: return Vocabulary::tr("operator");
    case SliceKind::Kernel: return Vocabulary::tr("kernel");
    case SliceKind::Collective: return Vocabulary::tr("collective");
    case SliceKind::Hop: return Vocabulary::tr("hop");
    case SliceKind::Copy: return Vocabulary::tr("copy");
    case SliceKind::Wait: return Vocabulary::tr("wait");
    case SliceKind::DataLoading: return Vocabulary::tr("data loading");
    case SliceKind::Checkpoint: return Vocabulary::tr("checkpoint");
    case SliceKind::Marker: return Vocabulary::tr("marker");
    case SliceKind::HostCall: return Vocabulary::tr("host call");
    }
    return {};
}

QString words(Phase phase)
{
    switch (phase) {
    case Phase::None: return Vocabulary::tr("no phase");
    case Phase::Forward: return Vocabulary::tr("forward");
    case Phase::BackwardInput: return Vocabulary::tr("backward input");
    case Phase::BackwardWeight: return Vocabulary::tr("backward weight");
    case Phase::Recompute: return Vocabulary::tr("recompute");
    case Phase::Optimizer: return Vocabulary::tr("optimizer");
    case Phase::GradientSync: return Vocabulary::tr("gradient synchronisation");
    case Phase::DataLoading: return Vocabulary::tr("data loading");
    case Phase::CheckpointSave: return Vocabulary::tr("checkpoint save");
    case Phase::CheckpointLoad: return Vocabulary::tr("checkpoint load");
    case Phase::Evaluation: return Vocabulary::tr("evaluation");
    case Phase::Setup: return Vocabulary::tr("setup");
    }
    return {};
}

QString words(Activity activity)
{
    switch (activity) {
    case Activity::None: return Vocabulary::tr("structure");
    case Activity::Compute: return Vocabulary::tr("compute");
    case Activity::Transfer: return Vocabulary::tr("transfer");
    case Activity::CollectiveWait: return Vocabulary::tr("collective wait");
    case Activity::Copy: return Vocabulary::tr("copy");
    case Activity::PipelineWait: return Vocabulary::tr("pipeline wait");
    case Activity::DataLoading: return Vocabulary::tr("data loading");
    case Activity::Launch: return Vocabulary::tr("launch");
    case Activity::PipelineTransfer: return Vocabulary::tr("pipeline transfer");
    case Activity::Synchronisation: return Vocabulary::tr("synchronisation");
    }
    return {};
}

QString words(MemoryCategory category)
{
    switch (category) {
    case MemoryCategory::Weights: return Vocabulary::tr("weights");
    case MemoryCategory::Gradients: return Vocabulary::tr("gradients");
    case MemoryCategory::OptimizerState: return Vocabulary::tr("optimizer state");
    case MemoryCategory::Activations: return Vocabulary::tr("activations");
    case MemoryCategory::Temporaries: return Vocabulary::tr("temporaries");
    case MemoryCategory::CommBuffers: return Vocabulary::tr("communication buffers");
    case MemoryCategory::Workspace: return Vocabulary::tr("workspace");
    case MemoryCategory::Other: return Vocabulary::tr("other memory");
    }
    return {};
}

QString words(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllReduce: return Vocabulary::tr("all-reduce");
    case CollectiveOp::AllGather: return Vocabulary::tr("all-gather");
    case CollectiveOp::ReduceScatter: return Vocabulary::tr("reduce-scatter");
    case CollectiveOp::Broadcast: return Vocabulary::tr("broadcast");
    case CollectiveOp::AllToAll: return Vocabulary::tr("all-to-all");
    case CollectiveOp::Send: return Vocabulary::tr("send");
    case CollectiveOp::Receive: return Vocabulary::tr("receive");
    case CollectiveOp::Reduce: return Vocabulary::tr("reduce");
    case CollectiveOp::Gather: return Vocabulary::tr("gather");
    case CollectiveOp::Scatter: return Vocabulary::tr("scatter");
    case CollectiveOp::Barrier: return Vocabulary::tr("barrier");
    case CollectiveOp::Other: return Vocabulary::tr("other operation");
    }
    return {};
}

QString words(AuditSeverity severity)
{
    switch (severity) {
    case AuditSeverity::Info: return Vocabulary::tr("noted");
    case AuditSeverity::Repaired: return Vocabulary::tr("repaired");
    case AuditSeverity::Skipped: return Vocabulary::tr("skipped");
    case AuditSeverity::Dropped: return Vocabulary::tr("dropped");
    }
    return {};
}

namespace {

struct Word {
    std::string_view name;
    const char* text;
};

QString wordOr(std::string_view name, std::span<const Word> known)
{
    const auto found = std::find_if(known.begin(), known.end(), [name](const Word& word) { return word.name == name; });
    return found != known.end() ? Vocabulary::tr(found->text)
                                : QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

} // namespace

QString words(StepState state)
{
    switch (state) {
    case StepState::Measured: break;
    case StepState::Warmup: return Vocabulary::tr("warm-up");
    case StepState::Cut: return Vocabulary::tr("cut");
    case StepState::Odd: return Vocabulary::tr("odd");
    case StepState::Lost: return Vocabulary::tr("lost");
    }
    return {};
}

QString stepStateNote(StepState state)
{
    return state == StepState::Measured ? QString() : QStringLiteral(" (%1)").arg(words(state));
}

QString trackName(const TrackInfo& track)
{
    static constexpr Word kTracks[] = {
        {"steps", QT_TRANSLATE_NOOP("Vocabulary", "steps")},
        {"phases", QT_TRANSLATE_NOOP("Vocabulary", "phases")},
        {"layers and operators", QT_TRANSLATE_NOOP("Vocabulary", "layers and operators")},
        {"operators", QT_TRANSLATE_NOOP("Vocabulary", "operators")},
        {"kernels", QT_TRANSLATE_NOOP("Vocabulary", "kernels")},
        {"communication", QT_TRANSLATE_NOOP("Vocabulary", "communication")},
        {"communication thread", QT_TRANSLATE_NOOP("Vocabulary", "communication thread")},
        {"copies", QT_TRANSLATE_NOOP("Vocabulary", "copies")},
        {"annotations", QT_TRANSLATE_NOOP("Vocabulary", "annotations")},
        {"other", QT_TRANSLATE_NOOP("Vocabulary", "other")},
    };
    return wordOr(track.name, kTracks);
}

namespace {

/// A message's name says whose it is: "receive from 3".
QString messageName(const std::string& name)
{
    static constexpr Word kMessages[] = {
        {"send to ", QT_TRANSLATE_NOOP("Vocabulary", "send to %1")},
        {"receive from ", QT_TRANSLATE_NOOP("Vocabulary", "receive from %1")},
    };
    for (const Word& message : kMessages) {
        if (!name.starts_with(message.name)) continue;
        const QString rank = QString::fromStdString(name.substr(message.name.size()));
        bool isNumber = false;
        rank.toInt(&isNumber);
        if (isNumber) return Vocabulary::tr(message.text).arg(rank);
    }
    return wordOr(name, {});
}

} // namespace

QString opName(const OpInfo& op)
{
    static constexpr Word kPhases[] = {
        {"step", QT_TRANSLATE_NOOP("Vocabulary", "step")},
        {"setup", QT_TRANSLATE_NOOP("Vocabulary", "setup")},
        {"forward", QT_TRANSLATE_NOOP("Vocabulary", "forward")},
        {"loss", QT_TRANSLATE_NOOP("Vocabulary", "loss")},
        {"backward", QT_TRANSLATE_NOOP("Vocabulary", "backward")},
        {"optimizer", QT_TRANSLATE_NOOP("Vocabulary", "optimizer")},
        {"between steps", QT_TRANSLATE_NOOP("Vocabulary", "between steps")},
        {"detection", QT_TRANSLATE_NOOP("Vocabulary", "detection")},
        {"restart", QT_TRANSLATE_NOOP("Vocabulary", "restart")},
    };
    static constexpr Word kCheckpoints[] = {
        {"save checkpoint", QT_TRANSLATE_NOOP("Vocabulary", "save checkpoint")},
        {"load checkpoint", QT_TRANSLATE_NOOP("Vocabulary", "load checkpoint")},
        {"check weights", QT_TRANSLATE_NOOP("Vocabulary", "check weights")},
    };
    static constexpr Word kLoading[] = {{"data loading", QT_TRANSLATE_NOOP("Vocabulary", "data loading")}};
    static constexpr Word kWaits[] = {{"wait", QT_TRANSLATE_NOOP("Vocabulary", "wait")}};
    static constexpr Word kLayers[] = {
        {"decoder layer", QT_TRANSLATE_NOOP("Vocabulary", "decoder layer")},
        {"stem", QT_TRANSLATE_NOOP("Vocabulary", "stem")},
        {"head", QT_TRANSLATE_NOOP("Vocabulary", "head")},
        {"bottom net", QT_TRANSLATE_NOOP("Vocabulary", "bottom net")},
        {"tables", QT_TRANSLATE_NOOP("Vocabulary", "tables")},
        {"interaction", QT_TRANSLATE_NOOP("Vocabulary", "interaction")},
        {"top net", QT_TRANSLATE_NOOP("Vocabulary", "top net")},
    };
    switch (op.kind) {
    case SliceKind::Step:
    case SliceKind::Phase: return wordOr(op.name, kPhases);
    case SliceKind::Wait: return wordOr(op.name, kWaits);
    case SliceKind::Layer: return wordOr(op.name, kLayers);
    case SliceKind::Collective: return messageName(op.name);
    case SliceKind::Checkpoint: return wordOr(op.name, kCheckpoints);
    case SliceKind::DataLoading: return wordOr(op.name, kLoading);
    default: return wordOr(op.name, {});
    }
}

} // namespace fourwalls::views
