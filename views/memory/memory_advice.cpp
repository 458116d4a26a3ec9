// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_advice.h.
#include "views/memory/memory_advice.h"

#include "model/trace/memory_facts.h"
#include "views/base/page_actions.h"

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
    const Recorder recorder = recorderOf(info.header);
    // Code is not translated.
    const QString snapshot = QStringLiteral("torch.cuda.memory._record_memory_history()\n"
                                            "torch.cuda.memory._dump_snapshot(\"snap.pickle\")");
    if (hasMemorySnapshot(info))
        return MemoryAdvice::tr("The memory snapshot is empty: nothing was allocated on a GPU when it was written.\n"
                                "Call the first line before training and the second behind it:\n\n%1")
            .arg(snapshot);
    const QString none = MemoryAdvice::tr("This trace has no allocations, so there is no memory curve.");
    if (recorder == Recorder::Own) return none;
    const QString how = none + QLatin1Char('\n') + howToRecord({Lack::Memory}, recorder);
    if (!takesSnapshot(recorder)) return how;
    return how + QStringLiteral("\n\n") +
           MemoryAdvice::tr("For every buffer and its stack, write a snapshot and open it together with the "
                            "profile:\n\n%1")
               .arg(snapshot);
}

} // namespace fourwalls::views
