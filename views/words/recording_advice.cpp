// SPDX-License-Identifier: GPL-3.0-or-later
// See recording_advice.h.
#include "views/words/recording_advice.h"

#include <QCoreApplication>

namespace fourwalls::views {

namespace {

struct RecordingAdvice {
    Q_DECLARE_TR_FUNCTIONS(RecordingAdvice)
};

QString lackName(Lack lack)
{
    switch (lack) {
    case Lack::Device: return RecordingAdvice::tr("device work");
    case Lack::Steps: return RecordingAdvice::tr("steps");
    case Lack::Flops: return RecordingAdvice::tr("FLOPs");
    case Lack::Memory: return RecordingAdvice::tr("memory");
    }
    return {};
}

/// What records the steps and the memory of any CUDA program.
QString anyProgram()
{
    return QStringLiteral("fourwalls-cli record -o job.fourwalls --steps 10-13 --memory -- python train.py");
}

/// What knows the FLOPs of a PyTorch program, whatever else recorded it.
QString flopsOfPyTorch()
{
    return QStringLiteral("torch.profiler.profile(with_flops=True, record_shapes=True)");
}

} // namespace

QString linesToRecord(Lack lack, Recorder recorder)
{
    switch (recorder) {
    case Recorder::PyTorch:
    case Recorder::AscendPyTorch:
        switch (lack) {
        case Lack::Device:
            return recorder == Recorder::PyTorch
                       ? QStringLiteral("activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]")
                       : QStringLiteral("activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]");
        case Lack::Steps: return QStringLiteral("prof.step()");
        case Lack::Flops: return QStringLiteral("with_flops=True, record_shapes=True");
        case Lack::Memory: return QStringLiteral("profile_memory=True");
        }
        break;
    case Recorder::NsightSystems:
        switch (lack) {
        case Lack::Device: return QStringLiteral("nsys profile --trace=cuda,nvtx");
        case Lack::Steps: return QStringLiteral("with torch.cuda.nvtx.range(\"step\"): …");
        case Lack::Flops: return {};
        case Lack::Memory: return QStringLiteral("nsys profile --cuda-memory-usage=true");
        }
        break;
    case Recorder::Jax:
    case Recorder::JaxCuda:
        switch (lack) {
        case Lack::Device: return QStringLiteral("jax.default_backend() == \"gpu\"");
        case Lack::Steps: return QStringLiteral("with jax.profiler.StepTraceAnnotation(\"step\", step_num=i): …");
        case Lack::Flops:
        case Lack::Memory: return {};
        }
        break;
    case Recorder::Rocprof:
        switch (lack) {
        case Lack::Device: return QStringLiteral("rocprofv3 --kernel-trace --memory-copy-trace");
        case Lack::Steps: return QStringLiteral("rocprofv3 --marker-trace, roctxRangePush(\"step\")");
        case Lack::Flops: return {};
        case Lack::Memory: return QStringLiteral("rocprofv3 --memory-allocation-trace --output-format rocpd");
        }
        break;
    case Recorder::Own:
    case Recorder::MemorySnapshot:
    case Recorder::Other: break;
    }
    return {};
}

QString howToRecord(const QList<Lack>& lacks, Recorder recorder)
{
    if (recorder == Recorder::Own || lacks.isEmpty()) return {};
    if (recorder == Recorder::MemorySnapshot)
        return RecordingAdvice::tr("For steps and kernels, profile the same run: %1")
            .arg(QStringLiteral(
                "with torch.profiler.profile() as prof: train(); prof.export_chrome_trace(\"trace.json\")"));
    const bool isJax = recorder == Recorder::Jax || recorder == Recorder::JaxCuda;
    QStringList lines, others, never;
    for (const Lack lack : lacks) {
        const QString line = linesToRecord(lack, recorder);
        if (!line.isEmpty())
            lines << QStringLiteral("%1: %2").arg(lackName(lack), line);
        else if (isJax && (lack == Lack::Flops || recorder == Recorder::Jax))
            never << lackName(lack); // the collector records programs of CUDA, and none of JAX's tools says it
        else if (lack == Lack::Flops)
            lines << RecordingAdvice::tr("FLOPs, of a PyTorch program: %1").arg(flopsOfPyTorch());
        else
            others << lackName(lack);
    }
    if (!others.isEmpty()) lines << QStringLiteral("%1: %2").arg(others.join(QStringLiteral(", ")), anyProgram());
    QStringList parts;
    if (!lines.isEmpty())
        parts << RecordingAdvice::tr("To record what is missing: %1").arg(lines.join(QStringLiteral(" · ")));
    if (!never.isEmpty())
        parts << RecordingAdvice::tr("No profile of JAX has: %1").arg(never.join(QStringLiteral(", ")));
    return parts.join(QStringLiteral(" · "));
}

QString howToMarkSteps(Recorder recorder)
{
    switch (recorder) {
    case Recorder::PyTorch:
    case Recorder::AscendPyTorch:
        return RecordingAdvice::tr("Call the profiler's step() after every iteration: %1")
            .arg(linesToRecord(Lack::Steps, recorder));
    case Recorder::NsightSystems:
    case Recorder::Rocprof:
    case Recorder::Jax:
    case Recorder::JaxCuda:
        return RecordingAdvice::tr("Put a range round every iteration: %1").arg(linesToRecord(Lack::Steps, recorder));
    case Recorder::MemorySnapshot:
        return RecordingAdvice::tr("A memory snapshot has none: open the profile of the same run beside it.");
    case Recorder::Own: return RecordingAdvice::tr("Traces that Fourwalls records mark them.");
    case Recorder::Other: return RecordingAdvice::tr("Record the program with its steps: %1").arg(anyProgram());
    }
    return {};
}

} // namespace fourwalls::views
