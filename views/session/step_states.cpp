// SPDX-License-Identifier: GPL-3.0-or-later
// See step_states.h.
#include "views/session/step_states.h"

#include "views/words/words.h"

#include <QCoreApplication>
#include <QStringList>

#include <numeric>

namespace fourwalls::views {

namespace {

struct StepStates {
    Q_DECLARE_TR_FUNCTIONS(StepStates)
};

} // namespace

QString stepCountsText(const StepCounts& counts)
{
    const int all = std::accumulate(counts.begin(), counts.end(), 0);
    if (all == 0) return {};
    if (counts[0] == all) return all == 1 ? StepStates::tr("one step") : StepStates::tr("%1 steps").arg(all);
    QStringList leftOut;
    for (std::size_t state = 1; state < counts.size(); ++state)
        if (counts[state] > 0)
            leftOut << StepStates::tr("%1 %2").arg(counts[state]).arg(words(static_cast<StepState>(state)));
    return StepStates::tr("%1 of %2 steps measured (%3)")
        .arg(counts[0])
        .arg(all)
        .arg(leftOut.join(QStringLiteral(", ")));
}

QString stepsByText(const std::string& by)
{
    const QString text = QString::fromStdString(by);
    if (by.empty()) return StepStates::tr("the recorder's own marks");
    if (isWholeTrace(by)) return StepStates::tr("the whole trace");
    const auto behind = [&](const char* start) {
        return text.mid(static_cast<qsizetype>(std::char_traits<char>::length(start)));
    };
    if (text.startsWith(QLatin1String("range "))) return StepStates::tr("the range %1").arg(behind("range "));
    if (text.startsWith(QLatin1String("kernel "))) return StepStates::tr("the kernel %1").arg(behind("kernel "));
    if (text.startsWith(QLatin1String("period of ")))
        return StepStates::tr("kernels that repeat from %1 on").arg(behind("period of "));
    if (text.startsWith(QLatin1String("period "))) return StepStates::tr("a period of %1").arg(behind("period "));
    return text;
}

} // namespace fourwalls::views
