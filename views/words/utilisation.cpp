// SPDX-License-Identifier: GPL-3.0-or-later
// See utilisation.h.
#include "views/words/utilisation.h"

#include <QCoreApplication>

namespace fourwalls::views {

namespace {

struct Utilisation {
    Q_DECLARE_TR_FUNCTIONS(Utilisation)
};

QString deviceOf(const PeakFacts& peak)
{
    return QString::fromStdString(peak.device);
}

QString arithmeticOf(const PeakFacts& peak)
{
    const std::string_view word = name(peak.arithmetic);
    return QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
}

} // namespace

QString whyNoMfu(const TraceMetrics& metrics)
{
    const PeakFacts& peak = metrics.peak;
    switch (metrics.mfuAbsent) {
    case NoMfu::None: break;
    case NoMfu::NoStep: return Utilisation::tr("no measured step");
    case NoMfu::NoFlops: return Utilisation::tr("no operator says how much it computes");
    case NoMfu::NotLinked:
        return Utilisation::tr("operators say how much they compute, but no kernel is known to be theirs");
    case NoMfu::FewFlops:
        return Utilisation::tr("FLOPs known for %1 of the matrix products' time")
            .arg(formatPercent(peak.matrixKnown.value_or(0)));
    case NoMfu::NoDevice: return Utilisation::tr("no device was recorded");
    case NoMfu::UnknownDevice:
        return peak.device.empty() ? Utilisation::tr("the trace does not name its device")
                                   : Utilisation::tr("no data sheet of %1").arg(deviceOf(peak));
    case NoMfu::DifferentDevices: return Utilisation::tr("ranks on devices with different peaks");
    case NoMfu::UnknownArithmetic: return Utilisation::tr("the kernels' names do not say what they multiply");
    case NoMfu::NoRate: return Utilisation::tr("no rate known for %1 on %2").arg(arithmeticOf(peak), deviceOf(peak));
    case NoMfu::AboveRoof:
        return peak.breach ? Utilisation::tr("kernels run at up to %1 times the peak: it is not theirs")
                                 .arg(formatFigure(peak.breach->times, 2))
                           : Utilisation::tr("kernels run above the peak: it is not theirs");
    }
    return {};
}

QString flopsKnownNote(const TraceMetrics& metrics)
{
    constexpr double kAll = 0.95;
    if (metrics.source != TraceSource::Imported || !metrics.peak.flopsKnown || *metrics.peak.flopsKnown >= kAll)
        return {};
    return Utilisation::tr("FLOPs known for %1 of the compute time").arg(formatPercent(*metrics.peak.flopsKnown));
}

QString peakNote(const PeakFacts& peak)
{
    if (!peak.peak) return {};
    const QString rate = formatRate(*peak.peak, QStringLiteral("FLOP/s"));
    return peak.arithmetic == Arithmetic::Unknown ? rate : Utilisation::tr("%1, %2").arg(rate, arithmeticOf(peak));
}

} // namespace fourwalls::views
