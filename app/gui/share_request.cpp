// SPDX-License-Identifier: GPL-3.0-or-later
// See share_request.h.
#include "app/gui/share_request.h"

#include <QCoreApplication>
#include <QFileInfo>

namespace fourwalls::gui {

namespace {

struct ShareWords {
    Q_DECLARE_TR_FUNCTIONS(ShareWords)
};

} // namespace

QString ShareChoice::filter() const
{
    return suffix.isEmpty() ? words + QStringLiteral(" (*)") : words + QStringLiteral(" (*.%1)").arg(suffix);
}

QString ShareChoice::named(const QString& path) const
{
    return suffix.isEmpty() || !QFileInfo(path).suffix().isEmpty() ? path : path + QLatin1Char('.') + suffix;
}

std::vector<ShareChoice> exportChoices(const QString& trace)
{
    const auto choice = [&trace](const QString& words, const char* suffix, const char* format) {
        return ShareChoice{words,
                           QLatin1String(suffix),
                           {QStringLiteral("export"), trace, QStringLiteral("--format"), QLatin1String(format)},
                           {}};
    };
    return {choice(ShareWords::tr("Trace events, for Perfetto"), "json", "chrome"),
            choice(ShareWords::tr("One database of plain tables"), "db", "sqlite-plain"),
            choice(ShareWords::tr("A folder of CSV tables"), "", "csv"),
            choice(ShareWords::tr("A folder of Chakra execution traces"), "", "chakra"),
            choice(ShareWords::tr("What ran, as a specification"), "json", "spec")};
}

std::vector<ShareChoice> trimChoices(const QString& trace, TimeRange range)
{
    const QStringList arguments{QStringLiteral("trim"), trace, QStringLiteral("--range"),
                                QStringLiteral("%1ns:%2ns").arg(range.begin.ns).arg(range.end.ns)};
    return {{ShareWords::tr("Trace"), QStringLiteral("fourwalls"), arguments},
            {ShareWords::tr("Trace without names of hosts and files"), QStringLiteral("fourwalls"),
             arguments + QStringList{QStringLiteral("--redact")}}};
}

std::vector<ShareChoice> reportChoices(const QString& trace, const SharedView& view)
{
    const QStringList plain{QStringLiteral("report"), trace};
    const QStringList seen{QStringLiteral("--picture"), QStringLiteral("-"), QStringLiteral("--caption"), view.caption,
                           QStringLiteral("--command"), view.command};
    return {{ShareWords::tr("Page with the view that is shown"), QStringLiteral("html"), plain + seen, view.png},
            {ShareWords::tr("Page without it"), QStringLiteral("html"), plain}};
}

std::vector<ShareChoice> measureChoices()
{
    return {{ShareWords::tr("Cluster file"), QStringLiteral("json"), {QStringLiteral("calibrate")}}};
}

std::vector<ShareChoice> mergeChoices(const QStringList& files)
{
    return {{ShareWords::tr("Trace"), QStringLiteral("fourwalls"), QStringList{QStringLiteral("merge")} + files}};
}

std::vector<ShareChoice> calibrateChoices(const QString& trace)
{
    return {{ShareWords::tr("Cluster file"),
             QStringLiteral("json"),
             {QStringLiteral("calibrate"), QStringLiteral("--from"), trace}}};
}

} // namespace fourwalls::gui
