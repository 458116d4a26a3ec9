// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_advice.h.
#include "views/memory/memory_advice.h"

#include "model/trace/memory_facts.h"

#include <QCoreApplication>

namespace fourwalls::views {

namespace {

struct MemoryAdvice {
    Q_DECLARE_TR_FUNCTIONS(MemoryAdvice)
};

} // namespace

QString memoryAdvice(const TraceInfo& info)
{
    if (info.counts.allocations > 0 || hasAllocatorCurve(info)) return {};
    const QString producer = QString::fromStdString(info.header.producer);
    const bool imported = info.header.source == TraceSource::Imported;
    // Code is not translated.
    const QString profile = QStringLiteral("torch.profiler.profile(profile_memory=True)");
    const QString snapshot = QStringLiteral("torch.cuda.memory._record_memory_history()\n"
                                            "torch.cuda.memory._dump_snapshot(\"snap.pickle\")");
    if (hasMemorySnapshot(info))
        return MemoryAdvice::tr("The memory snapshot is empty: nothing was allocated on a GPU when it was written.\n"
                                "Call the first line before training and the second behind it:\n\n%1")
            .arg(snapshot);
    if (imported && (producer.contains(QLatin1String("PyTorch")) || producer.contains(QLatin1String("Kineto"))))
        return MemoryAdvice::tr("This profile has no allocator events: it was recorded without profile_memory.\n"
                                "For the curve, record with\n\n%1\n\n"
                                "For every buffer and its stack, write a snapshot and open it together with the "
                                "profile:\n\n%2")
            .arg(profile, snapshot);
    if (imported)
        return MemoryAdvice::tr("This trace has no allocations, so there is no memory curve.\n"
                                "Of a PyTorch program, write a snapshot and open it together with the trace:\n\n%1")
            .arg(snapshot);
    return MemoryAdvice::tr("This trace has no allocations, so there is no memory curve.");
}

} // namespace fourwalls::views
