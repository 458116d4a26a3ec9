// SPDX-License-Identifier: GPL-3.0-or-later
// See performance_data.h.
#include "views/performance/performance_data.h"

#include "views/format.h"

#include <QCoreApplication>
#include <QRegularExpression>

namespace fourwalls::views {

Result<PerformanceData> askPerformance(TraceQuery& trace)
{
    PerformanceData result;
    FOURWALLS_TRY_ASSIGN(result.metrics, computeMetrics(trace));
    FOURWALLS_TRY_ASSIGN(result.roofline, operatorRoofline(trace));
    FOURWALLS_TRY_ASSIGN(result.steps, stepUtilisation(trace));
    result.peakSource = trace.info().closing.peakFlopsPerDevice ? trace.info().closing.peakSource : "datasheet";
    return result;
}

QString shortName(const std::string& name)
{
    QString text = QString::fromStdString(name);
    if (!text.startsWith(QLatin1String("void ")) && !text.contains(QLatin1Char('<'))) return text;
    if (text.startsWith(QLatin1String("void "))) text.remove(0, 5);
    text.remove(QLatin1String("(anonymous namespace)::"));
    const auto end = text.indexOf(QRegularExpression(QStringLiteral("[<(]")));
    if (end > 0) text.truncate(end);
    const auto scope = text.lastIndexOf(QLatin1String("::"));
    if (scope >= 0 && scope + 2 < text.size()) text.remove(0, scope + 2);
    return text;
}

QString words(BoundBy bound)
{
    switch (bound) {
    case BoundBy::Compute: return QCoreApplication::translate("BoundBy", "compute");
    case BoundBy::Memory: return QCoreApplication::translate("BoundBy", "memory");
    case BoundBy::Launch: return QCoreApplication::translate("BoundBy", "launch");
    case BoundBy::Unknown: break;
    }
    return QString(kDash);
}

} // namespace fourwalls::views
