// SPDX-License-Identifier: GPL-3.0-or-later
// The status bar.
#include "views/chrome/status_strip.h"

#include "model/trace/audit_counter.h"
#include "model/trace/step_window.h"
#include "model/trace/trace_completeness.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QCoreApplication>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace fourwalls::views {

namespace {

struct StatusWords {
    Q_DECLARE_TR_FUNCTIONS(StatusStrip)
};

/// The first thing the strip says: is all there?
StatusItem completenessItem(const TraceCompleteness& completeness)
{
    QStringList lines;
    for (const AuditRecord& record : completeness.reasons) lines.append(QString::fromStdString(describe(record)));
    const QString warning = QStringLiteral("! ");
    switch (completeness.state) {
    case Completeness::Complete:
        return {QChar(0x2713) + QStringLiteral(" ") + StatusWords::tr("complete"), false,
                StatusWords::tr("The recording was finished in order, and nothing of it was left out.")};
    case Completeness::Partial:
        lines.prepend(StatusWords::tr("Not all that was recorded is here:"));
        return {warning + StatusWords::tr("not complete"), true, lines.join(QLatin1Char('\n'))};
    case Completeness::Cut: {
        lines.prepend(StatusWords::tr("The file ends before it says so: a cut copy, or a job that was killed."));
        const QString text =
            completeness.entriesRead > 0
                ? StatusWords::tr("the file ends early: %1 events read").arg(formatCount(completeness.entriesRead))
                : StatusWords::tr("the file ends early");
        return {warning + text, true, lines.join(QLatin1Char('\n'))};
    }
    case Completeness::Interrupted: break;
    }
    lines.prepend(StatusWords::tr("The recording was interrupted: what was written until then is shown."));
    return {warning + StatusWords::tr("recovered"), true, lines.join(QLatin1Char('\n'))};
}

/// Adds up the audit counters of one severity; the explanation lists them.
StatusItem auditItem(const TraceInfo& info, AuditSeverity severity, const QString& label)
{
    qint64 sum = 0;
    QStringList lines;
    for (const AuditRecord& record : info.audit) {
        if (record.severity != severity || record.count == 0) continue;
        sum += record.count;
        const QString name = QString::fromStdString(record.name).replace(QLatin1Char('_'), QLatin1Char(' '));
        QString line = name + QStringLiteral(": ") + formatCount(record.count);
        if (!record.detail.empty()) line += QStringLiteral(" (%1)").arg(QString::fromStdString(record.detail));
        lines.append(line);
    }
    return {label.arg(formatCount(sum)), sum > 0 && severity != AuditSeverity::Repaired, lines.join(QLatin1Char('\n'))};
}

} // namespace

StatusItem selectedItem(const SliceView& slice, const OpInfo* op, RankId rank)
{
    const QString name = op ? opName(*op) : StatusWords::tr("a slice");
    constexpr qsizetype kMostLetters = 40;
    const QString text = name.size() > kMostLetters ? name.left(kMostLetters - 1) + QChar(0x2026) : name;
    return {
        StatusWords::tr("selected: %1 · rank %2 · %3").arg(text).arg(rank.value).arg(formatDuration(slice.duration)),
        false, StatusWords::tr("%1: marked in every view that shows it").arg(name)};
}

QList<StatusItem> statusOf(const TraceInfo& info, std::span<const OutOfMemory> outOfMemory)
{
    QList<StatusItem> items;
    const auto first =
        std::ranges::find_if(outOfMemory, [](const OutOfMemory& moment) { return moment.rank.has_value(); });
    if (info.complete && first != outOfMemory.end()) {
        items.append({QStringLiteral("! ") + StatusWords::tr("rank %1 ran out of memory").arg(first->rank->value), true,
                      StatusWords::tr("The recording was finished in order, the run was not.")});
    } else {
        items.append(completenessItem(completenessOf(info)));
    }
    const QString separator = QStringLiteral(" %1 ").arg(QChar(0x00b7));
    // A prediction has one timeline for ranks that do the same.
    const int shown = static_cast<int>(info.header.ranks.size());
    int meant = 0;
    for (const RankInfo& rank : info.header.ranks) meant += std::max(1, rank.multiplicity);
    items.append(
        {QStringList{info.counts.slices == 1 ? StatusWords::tr("1 slice")
                                             : StatusWords::tr("%1 slices").arg(formatCount(info.counts.slices)),
                     meant <= shown ? StatusWords::tr("%n rank(s)", nullptr, shown)
                     : shown == 1   ? StatusWords::tr("1 rank for %1").arg(formatCount(meant))
                                    : StatusWords::tr("%1 ranks for %2").arg(shown).arg(formatCount(meant)),
                     info.closing.stepsBy == kWholeTrace ? StatusWords::tr("no steps")
                                                         : StatusWords::tr("%n step(s)", nullptr, info.stepCount)}
             .join(separator),
         false,
         StatusWords::tr("%1 allocations, %2 counter samples, %3 operators")
             .arg(formatCount(info.counts.allocations), formatCount(info.counts.counterSamples),
                  formatCount(info.counts.ops))});
    StatusItem dropped = auditItem(info, AuditSeverity::Dropped, StatusWords::tr("dropped %1"));
    const StatusItem repaired = auditItem(info, AuditSeverity::Repaired, StatusWords::tr("repaired %1"));
    const StatusItem skipped = auditItem(info, AuditSeverity::Skipped, StatusWords::tr("skipped %1"));
    items.append({QStringList{dropped.text, repaired.text, skipped.text}.join(separator),
                  dropped.warning || skipped.warning,
                  QStringList{dropped.explanation, repaired.explanation, skipped.explanation}
                      .join(QLatin1Char('\n'))
                      .trimmed()});
    if (const auto overhead = info.closing.recorderOverheadFraction) {
        QString explanation =
            StatusWords::tr("Accounted: cost of an event times events, and the writer, per step time.");
        if (const auto measured = info.closing.recorderOverheadMeasured)
            explanation += QLatin1Char('\n') +
                           StatusWords::tr("Measured against untraced steps: %1").arg(formatPercent(*measured, 2));
        items.append(
            {StatusWords::tr("recorder overhead %1").arg(formatPercent(*overhead, 2)), *overhead > 0.01, explanation});
    }
    // One file's ranks, and those of a recording, share a clock.
    const bool severalClocks = std::any_of(info.audit.begin(), info.audit.end(), [](const AuditRecord& record) {
        return isCounter(record, AuditCounter::ClockNotAligned) && record.count > 0;
    });
    if (const auto error = clockErrorOf(info))
        items.append({StatusWords::tr("clocks aligned within %1").arg(formatDuration(Duration{*error}, 2)),
                      *error > 1'000'000,
                      StatusWords::tr("How far the ends of common operations are apart between ranks, after the clocks "
                                      "were aligned (the median, of the worst rank).")});
    else if (severalClocks && info.header.ranks.size() > 1)
        items.append({StatusWords::tr("clocks not aligned"), true,
                      StatusWords::tr("The ranks have too few operations in common: times of different ranks may be "
                                      "shifted against one another.")});
    if (info.header.source != TraceSource::Synthetic) {
        items.append({words(info.header.clock), false,
                      StatusWords::tr("compute: %1, communication: %2")
                          .arg(QString::fromStdString(info.header.computeLabel),
                               QString::fromStdString(info.header.communicationLabel))});
    }
    return items;
}

QString describe(const OwnFigures& figures)
{
    QStringList parts;
    const auto milliseconds = [](double ms) { return formatDuration(Duration::fromMilliseconds(ms), 2); };
    if (figures.openedMs) parts.append(StatusWords::tr("opened in %1").arg(milliseconds(*figures.openedMs)));
    if (figures.frameMs) parts.append(StatusWords::tr("frame %1").arg(milliseconds(*figures.frameMs)));
    if (figures.residentMegabytes) parts.append(formatBytes(*figures.residentMegabytes * 1e6, ByteUnit::GB));
    return parts.join(QStringLiteral(" %1 ").arg(QChar(0x00b7)));
}

StatusStrip::StatusStrip(QWidget* parent) : QWidget(parent)
{
    setFixedHeight(27);
    setAccessibleName(tr("Status"));
}

void StatusStrip::setItems(const QList<StatusItem>& items)
{
    m_items = items;
    describeAloud();
    update();
}

void StatusStrip::describeAloud()
{
    QStringList texts;
    for (const StatusItem& item : m_items) texts.append(item.text);
    setAccessibleDescription(m_message.isEmpty() ? texts.join(QStringLiteral(", ")) : m_message);
}

void StatusStrip::setOwnFigures(const OwnFigures& figures)
{
    const QString text = describe(figures);
    if (text == m_own) return;
    m_own = text;
    update();
}

void StatusStrip::setMessage(const QString& text)
{
    m_message = text;
    describeAloud();
    update();
}

void StatusStrip::paintEvent(QPaintEvent*)
{
    const Theme& theme = currentTheme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.chrome);
    painter.fillRect(QRect(0, 0, width(), 1), theme.line);
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics metrics = painter.fontMetrics();
    m_placed.clear();

    int right = width() - 12;
    if (!m_own.isEmpty()) {
        const int advance = metrics.horizontalAdvance(m_own);
        painter.setPen(theme.secondaryText);
        painter.drawText(QRect(right - advance, 1, advance, height() - 1), Qt::AlignVCenter, m_own);
        right -= advance + 24;
    }
    int x = 12;
    const auto put = [&](const StatusItem& item) {
        const int advance = metrics.horizontalAdvance(item.text);
        if (x + advance > right) return false; // dropped by priority: later items go first
        painter.setPen(item.warning ? theme.warning : theme.secondaryText);
        const QRect place(x, 1, advance, height() - 1);
        painter.drawText(place, Qt::AlignVCenter, item.text);
        m_placed.append({place, item.explanation});
        x += advance + 20;
        return true;
    };
    if (!m_message.isEmpty()) {
        const QString shown = metrics.elidedText(m_message, Qt::ElideRight, right - x);
        put({shown, false, shown == m_message ? QString() : m_message});
        return;
    }
    for (const StatusItem& item : m_items)
        if (!put(item)) break;
}

bool StatusStrip::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (const Placed& placed : m_placed) {
            if (placed.rect.contains(help->pos()) && !placed.explanation.isEmpty()) {
                QToolTip::showText(help->globalPos(), placed.explanation, this);
                return true;
            }
        }
        QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace fourwalls::views
