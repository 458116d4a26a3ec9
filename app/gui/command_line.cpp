// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of the desktop application.
#include "app/gui/command_line.h"

#include "model/replay/replay_change.h"
#include "model/spec/parallel_plan.h"
#include "model/trace/range_statistics.h"

#include <QRegularExpression>

#include <cmath>
#include <functional>
#include <map>

namespace fourwalls::gui {

namespace {

Error wrong(const QString& what, const QString& where, const QString& hint)
{
    return {ErrorCode::InvalidArgument, what.toStdString(), where.toStdString(), hint.toStdString()};
}

Result<Instant> parseTime(const QString& text)
{
    static const QRegularExpression form(QStringLiteral("^([+-]?[0-9]*\\.?[0-9]+)\\s*(ns|us|\u00b5s|ms|s)?$"));
    const QRegularExpressionMatch match = form.match(text.trimmed());
    if (!match.hasMatch()) return wrong(QStringLiteral("\"%1\" is not a time").arg(text), {}, QStringLiteral("12.5ms"));
    const QString unit = match.captured(2);
    const double factor = unit == QLatin1String("ns")                                          ? 1
                          : unit == QLatin1String("s")                                         ? 1e9
                          : unit.endsWith(QLatin1String("us")) || unit.startsWith(QChar(0xb5)) ? 1e3
                                                                                               : 1e6;
    const double ns = match.captured(1).toDouble() * factor;
    if (std::fabs(ns) > static_cast<double>(kLargestTimeNs))
        return wrong(QStringLiteral("\"%1\" is too far away").arg(text), {}, {});
    return Instant{static_cast<std::int64_t>(std::llround(ns))};
}

Result<QSize> parseSize(const QString& text)
{
    static const QRegularExpression form(QStringLiteral("^([0-9]{1,5})x([0-9]{1,5})$"));
    const QRegularExpressionMatch match = form.match(text);
    const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
    constexpr int kNarrowest = 400, kLowest = 300, kLargest = 16384; // below, a view has no room for any data
    if (!match.hasMatch() || size.width() < kNarrowest || size.height() < kLowest || size.width() > kLargest ||
        size.height() > kLargest) {
        return wrong(QStringLiteral("\"%1\" is not a size from 400x300 to 16384x16384").arg(text),
                     QStringLiteral("--size"), QStringLiteral("--size 1600x900"));
    }
    return size;
}

Result<int> parseNumber(const QString& text, const QString& option)
{
    bool good = false;
    const int value = text.toInt(&good);
    if (!good || value < 0)
        return wrong(QStringLiteral("\"%1\" is not a whole number from 0").arg(text), option,
                     option + QStringLiteral(" 0"));
    return value;
}

/// Reads the value of one option into the result.
using Take = std::function<Status(const QString& value)>;

Status checkTogether(const CommandLine& line, const QStringList& given)
{
    using Mode = CommandLine::Mode;
    if (line.mode == Mode::Render) {
        if (line.output.isEmpty())
            return wrong(QStringLiteral("--render needs a file to write"), {}, QStringLiteral("-o picture.png"));
        const QString suffix = line.output.section(QLatin1Char('.'), -1).toLower();
        if (suffix != QLatin1String("png") && suffix != QLatin1String("svg") && suffix != QLatin1String("pdf"))
            return wrong(QStringLiteral("the picture's name must end in .png, .svg or .pdf"), QStringLiteral("-o"), {});
        if (given.contains(QLatin1String("--view")))
            return wrong(QStringLiteral("--view goes without --render, which names the view itself"), {},
                         QStringLiteral("fourwalls --help"));
        const bool two = line.view == QLatin1String("compare") && line.files.size() == 2;
        if (needsTrace(line.view) && line.files.size() != 1 && !two)
            return wrong(QStringLiteral("--render %1 needs one trace").arg(line.view), {},
                         QStringLiteral("fourwalls --render %1 -o picture.png FILE").arg(line.view));
    } else {
        static const QStringList kRenderOnly{QStringLiteral("--size"),   QStringLiteral("--view-only"),
                                             QStringLiteral("--whatif"), QStringLiteral("--change"),
                                             QStringLiteral("--by"),     QStringLiteral("-o")};
        static const QStringList kOfPlace{
            QStringLiteral("--view"), QStringLiteral("--range"), QStringLiteral("--step"),  QStringLiteral("--rank"),
            QStringLiteral("--area"), QStringLiteral("--find"),  QStringLiteral("--slice"), QStringLiteral("--page")};
        for (const QString& option : given)
            if (kOfPlace.contains(option) && (line.mode != Mode::Window || line.files.isEmpty()))
                return wrong(QStringLiteral("%1 needs a trace that is opened").arg(option), {},
                             QStringLiteral("fourwalls FILE %1 …, or --render").arg(option));
        for (const QString& option : given)
            if (kRenderOnly.contains(option))
                return wrong(QStringLiteral("%1 goes with --render").arg(option), {},
                             QStringLiteral("fourwalls --help"));
    }
    if (line.mode == Mode::Bench && line.files.size() != 1)
        return wrong(QStringLiteral("--bench needs one trace"), {}, QStringLiteral("fourwalls --bench FILE --json"));
    if (line.mode != Mode::Window && !line.demo.isEmpty())
        return wrong(QStringLiteral("--demo plays in the window"), {}, QStringLiteral("fourwalls --help"));
    if (line.mode != Mode::Bench && line.json)
        return wrong(QStringLiteral("--json goes with --bench"), {}, QStringLiteral("fourwalls --help"));
    return {};
}

} // namespace

bool needsTrace(const QString& view)
{
    return view != QLatin1String("welcome") && view != QLatin1String("demos") && view != QLatin1String("claims") &&
           view != QLatin1String("hang") && view != QLatin1String("runs");
}

QStringList areaPages()
{
    QStringList pages;
    for (int i = 0; i < kRangeGroupingCount; ++i)
        pages << QString::fromUtf8(name(static_cast<RangeGrouping>(i)).data());
    return pages << QStringLiteral("calls") << QStringLiteral("flame");
}

Result<TimeRange> parseTimeRange(const QString& text)
{
    const QStringList parts = text.split(QLatin1Char(':'));
    const Error bad = wrong(QStringLiteral("\"%1\" is not a range of time").arg(text), QStringLiteral("--range"),
                            QStringLiteral("--range 10ms:25ms"));
    if (parts.size() != 2) return bad;
    const Result<Instant> begin = parseTime(parts[0]);
    const Result<Instant> end = parseTime(parts[1]);
    if (!begin.ok() || !end.ok() || *end <= *begin) return bad;
    return TimeRange{*begin, *end};
}

namespace {

Status setMode(CommandLine& line, CommandLine::Mode mode)
{
    if (line.mode != CommandLine::Mode::Window && line.mode != mode)
        return wrong(QStringLiteral("--render and --bench exclude each other"), {}, {});
    line.mode = mode;
    return {};
}

/// Those that select something.
std::map<QString, Take> selectingOptions(CommandLine& line, const QStringList& views)
{
    return {
        {QStringLiteral("--view"),
         [&line, &views](const QString& value) -> Status {
             if (!views.contains(value))
                 return wrong(QStringLiteral("there is no view \"%1\"").arg(value), QStringLiteral("--view"),
                              views.join(QStringLiteral(", ")));
             line.view = value;
             return {};
         }},
        {QStringLiteral("--page"),
         [&line](const QString& value) -> Status {
             line.page = value;
             return {};
         }},
        {QStringLiteral("--slice"),
         [&line](const QString& value) -> Status {
             bool good = false;
             line.slice = value.toLongLong(&good);
             if (good && *line.slice >= 0) return {};
             return wrong(QStringLiteral("\"%1\" is not the number of a slice").arg(value), QStringLiteral("--slice"),
                          QStringLiteral("as Copy the command that opens this view writes it"));
         }},
        {QStringLiteral("--area"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY_ASSIGN(line.area, parseTimeRange(value));
             return {};
         }},
        {QStringLiteral("--by"),
         [&line](const QString& value) -> Status {
             if (!areaPages().contains(value))
                 return wrong(QStringLiteral("an area is not shown by \"%1\"").arg(value), QStringLiteral("--by"),
                              areaPages().join(QStringLiteral(", ")));
             line.by = value;
             return {};
         }},
        {QStringLiteral("--find"),
         [&line](const QString& value) -> Status {
             line.find = value;
             return {};
         }},
    };
}

/// The options that have a value, and what they do to `line`.
std::map<QString, Take> optionsWithValue(CommandLine& line, const QStringList& views)
{
    return {
        {QStringLiteral("--render"),
         [&line, &views](const QString& value) -> Status {
             if (!views.contains(value) && value != kFirstView)
                 return wrong(QStringLiteral("there is no view \"%1\"").arg(value), QStringLiteral("--render"),
                              views.join(QStringLiteral(", ")));
             line.view = value;
             return setMode(line, CommandLine::Mode::Render);
         }},
        {QStringLiteral("--size"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY_ASSIGN(line.size, parseSize(value));
             return {};
         }},
        {QStringLiteral("--range"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY_ASSIGN(line.range, parseTimeRange(value));
             return {};
         }},
        {QStringLiteral("--step"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY_ASSIGN(line.step, parseNumber(value, QStringLiteral("--step")));
             return {};
         }},
        {QStringLiteral("--rank"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY_ASSIGN(line.rank, parseNumber(value, QStringLiteral("--rank")));
             return {};
         }},
        {QStringLiteral("--whatif"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY(parsePlan(value.toStdString()));
             line.whatIf = value;
             return {};
         }},
        {QStringLiteral("--change"),
         [&line](const QString& value) -> Status {
             FOURWALLS_TRY(replay::parseChange(value.toStdString()));
             line.changes.append(value);
             return {};
         }},
        {QStringLiteral("--theme"),
         [&line](const QString& value) -> Status {
             if (value != QLatin1String("light") && value != QLatin1String("dark"))
                 return wrong(QStringLiteral("there is no theme \"%1\"").arg(value), QStringLiteral("--theme"),
                              QStringLiteral("light, dark"));
             line.dark = value == QLatin1String("dark");
             return {};
         }},
        {QStringLiteral("--lang"),
         [&line](const QString& value) -> Status {
             if (value != QLatin1String("en") && value != QLatin1String("zh_CN"))
                 return wrong(QStringLiteral("there is no language \"%1\"").arg(value), QStringLiteral("--lang"),
                              QStringLiteral("en, zh_CN"));
             line.language = value;
             return {};
         }},
        {QStringLiteral("--demo"),
         [&line](const QString& value) -> Status {
             if (value.isEmpty())
                 return wrong(QStringLiteral("--demo needs a name or a file"), {}, QStringLiteral("--demo tour"));
             line.demo = value;
             return {};
         }},
        {QStringLiteral("-o"),
         [&line](const QString& value) -> Status {
             line.output = value;
             return {};
         }},
    };
}

} // namespace

Result<CommandLine> parseCommandLine(const QStringList& arguments, const QStringList& views)
{
    CommandLine line;
    using Mode = CommandLine::Mode;
    std::map<QString, Take> withValue = optionsWithValue(line, views);
    withValue.merge(selectingOptions(line, views));

    QStringList given;
    bool onlyFiles = false;
    for (qsizetype i = 0; i < arguments.size(); ++i) {
        QString argument = arguments[i];
        if (onlyFiles || !argument.startsWith(QLatin1Char('-')) || argument == QLatin1String("-")) {
            line.files.append(argument);
            continue;
        }
        std::optional<QString> attached;
        if (const qsizetype equals = argument.indexOf(QLatin1Char('='));
            argument.startsWith(QLatin1String("--")) && equals > 0) {
            attached = argument.mid(equals + 1);
            argument.truncate(equals);
        }
        given.append(argument);
        if (argument == QLatin1String("--") && !attached) {
            onlyFiles = true;
        } else if (argument == QLatin1String("--help") || argument == QLatin1String("-h")) {
            line.mode = Mode::Help;
            return line;
        } else if (argument == QLatin1String("--version")) {
            line.mode = Mode::Version;
            return line;
        } else if (argument == QLatin1String("--bench") && !attached) {
            FOURWALLS_TRY(setMode(line, Mode::Bench));
        } else if (argument == QLatin1String("--view-only") && !attached) {
            line.viewOnly = true;
        } else if (argument == QLatin1String("--json") && !attached) {
            line.json = true;
        } else if (const auto found = withValue.find(argument); found != withValue.end()) {
            if (!attached && i + 1 >= arguments.size())
                return wrong(QStringLiteral("%1 needs a value").arg(argument), {}, QStringLiteral("fourwalls --help"));
            FOURWALLS_TRY(found->second(attached ? *attached : arguments[++i]));
        } else {
            return wrong(QStringLiteral("unknown option %1").arg(argument), {}, QStringLiteral("fourwalls --help"));
        }
    }
    FOURWALLS_TRY(checkTogether(line, given));
    return line;
}

QString usage(const QStringList& views, const QStringList& demos)
{
    return QStringLiteral(
               "Usage: fourwalls [FILE…] [--view VIEW] [options of what to show]\n"
               "       fourwalls --render VIEW -o OUT.png|svg|pdf [options] FILE\n"
               "       fourwalls --render compare -o OUT.png [options] FILE FILE2\n"
               "       fourwalls --bench FILE [--json]\n"
               "\n"
               "Opens traces of training steps. Without a file the last session is restored.\n"
               "\n"
               "  --demo NAME|FILE     play a demo, or one from a .json file; demos:\n"
               "                       %3\n"
               "  --theme light|dark   colours\n"
               "  --lang en|zh_CN      language\n"
               "  --view VIEW          open the trace at this view, and at what --page, --range, --step, --rank,\n"
               "                       --area, --find or --slice name; the window's menu copies such a command\n"
               "  --render VIEW        draw a view into a file, without a display; VIEW is one of\n"
               "                       %1;\n"
               "                       first: the one that the trace opens on (memory, of a memory snapshot)\n"
               "    -o FILE            the picture: .png, .svg or .pdf\n"
               "    --size WxH         of the window in pixels (1600x900)\n"
               "    --page NAME        of a view with several pages, as operators, launches, path, experts,\n"
               "                       and of memory fit, growth, segments\n"
               "    --range FROM:TO    what to show, as 10ms:25ms (units ns, us, ms, s; ms without one)\n"
               "    --step N           show this training step\n"
               "    --area FROM:TO     select this range; the timeline shows its statistics\n"
               "    --by WORD          of the area, one of %2\n"
               "    --find TEXT        select the first slice whose name has this text\n"
               "    --slice N          select the slice of this number\n"
               "    --rank N           show this rank\n"
               "    --whatif PLAN      with the prediction of that plan over it, as \"dp=2 pp=4 microbatches=8\"\n"
               "    --change CHANGE    with the recorded step replayed over it, changed as fourwalls-cli replay does;\n"
               "                       repeatable, as \"schedule=zb\"\n"
               "    --view-only        only the view, without the window around it\n"
               "  --bench FILE         open the file, pan and zoom by a fixed script, print how quick that was\n"
               "    --json             as JSON\n"
               "  --version, --help\n"
               "\n"
               "Exit codes: 0 done, 1 could not, 2 wrong usage.\n")
        .arg(views.join(QStringLiteral(", ")), areaPages().join(QStringLiteral(", ")),
             demos.join(QStringLiteral(", ")));
}

} // namespace fourwalls::gui
