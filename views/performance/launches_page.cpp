// SPDX-License-Identifier: GPL-3.0-or-later
// See launches_page.h.
#include "views/performance/launches_page.h"

#include "model/trace/short_name.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QHBoxLayout>
#include <QSplitter>

#include <algorithm>

namespace fourwalls::views {

namespace {

QString className(std::size_t index)
{
    const auto limit = [](std::size_t i) { return formatDuration(Duration{kLengthLimits[i]}, 3); };
    if (index == 0) return LaunchesPage::tr("under %1").arg(limit(0));
    if (index == kLengthLimits.size()) return LaunchesPage::tr("%1 and more").arg(limit(index - 1));
    return QStringLiteral("%1 – %2").arg(limit(index - 1), limit(index));
}

} // namespace

QString sequenceName(const std::vector<std::string>& names)
{
    QStringList parts;
    for (std::size_t i = 0; i < names.size();) {
        std::size_t last = i;
        while (last < names.size() && names[last] == names[i]) ++last;
        QString name = QString::fromStdString(shortName(names[i]));
        if (last - i > 1) name += QStringLiteral(" ×%1").arg(last - i);
        parts << name;
        i = last;
    }
    return parts.join(QStringLiteral(", "));
}

LaunchesPage::LaunchesPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_classCard = new PlotCard(splitter);
    m_classes = new CellTable(m_classCard);
    m_gaps = new CellTable(m_classCard);
    m_classes->setFixedHeight(180); // its classes and the heading
    m_classCard->addContent(m_classes);
    m_classCard->addContent(m_gaps, 1);
    m_fusionCard = new PlotCard(splitter);
    m_candidates = new CellTable(m_fusionCard);
    m_fusionCard->addContent(m_candidates, 1);
    splitter->setSizes({3800, 6200});
    connect(m_candidates, &CellTable::rowActivated, this, [this](int row) {
        if (m_facts && row >= 0 && row < static_cast<int>(m_facts->candidates.size()))
            emit rangeActivated(m_facts->candidates[static_cast<std::size_t>(row)].longest);
    });
    connect(m_gaps, &CellTable::rowActivated, this, [this](int) {
        if (m_facts && !m_facts->longestGapAt.empty()) emit rangeActivated(m_facts->longestGapAt);
    });
    retranslate();
}

void LaunchesPage::retranslate()
{
    m_classCard->title().setText(tr("Small operators"));
    m_fusionCard->title().setText(tr("Fusion candidates"));
    m_classes->setAccessibleName(tr("Operators by length"));
    m_gaps->setAccessibleName(tr("Gaps between operators"));
    m_candidates->setAccessibleName(tr("Sequences that could be one kernel"));
}

void LaunchesPage::present(std::shared_ptr<const LaunchAnalysis> facts, ByteUnit unit)
{
    m_facts = std::move(facts);
    fillClasses();
    fillCandidates(unit);
}

void LaunchesPage::fillClasses()
{
    const Theme& t = currentTheme();
    std::vector<std::vector<CellValue>> rows, gaps;
    m_finding.clear();
    if (m_facts) {
        const LaunchAnalysis& f = *m_facts;
        std::int64_t small = 0;
        for (std::size_t i = 0; i < kLengthClasses; ++i) {
            const LengthClass& each = f.classes[i];
            if (i < 2) small += each.count;
            const double ofCount = f.operators > 0 ? double(each.count) / double(f.operators) : 0;
            const double ofTime = f.compute.ns > 0 ? double(each.time.ns) / double(f.compute.ns) : 0;
            rows.push_back({{.text = className(i), .exact = static_cast<qlonglong>(i)},
                            {.text = formatPercent(ofCount, ofCount < 0.0995 ? 1 : 0),
                             .exact = ofCount,
                             .share = ofCount,
                             .colour = t.otherCompute,
                             .toolTip = tr("%1 operators").arg(formatCount(each.count))},
                            {.text = formatPercent(ofTime, ofTime < 0.0995 ? 1 : 0),
                             .exact = ofTime,
                             .share = ofTime,
                             .colour = t.phases[static_cast<std::size_t>(Phase::Forward)],
                             .toolTip = formatDuration(each.time, 4)}});
        }
        const auto line = [&](const QString& name, const QString& value, const QString& tip) {
            gaps.push_back({{.text = name, .toolTip = tip}, {.text = value, .toolTip = tip}});
        };
        const double share = f.stepLength.ns > 0 ? double(f.gaps.ns) / double(f.stepLength.ns) : 0;
        line(tr("operators"), formatCount(f.operators), {});
        line(tr("empty between them"), tr("%1, %2 of the step").arg(formatDuration(f.gaps, 3), formatPercent(share)),
             tr("Time between the first and the last operator in which the device neither computed, nor communicated, "
                "copied or loaded"));
        line(tr("in gaps"), formatCount(f.gapCount), {});
        line(tr("median gap on a stream"), formatDuration(f.medianGap, 3),
             tr("Between one operator's end and the next one's begin, back to back ones counted"));
        line(tr("longest gap"), formatDuration(f.longestGap, 3), tr("Double click to see it on the timeline"));
        line(tr("one launch is taken as"), formatDuration(f.launchOverhead, 3),
             f.overheadFromGaps    ? tr("The median gap of this stream")
             : f.overheadFromCalls ? tr("What a call that launches a kernel takes on the host, on average")
                                   : tr("A typical value: the trace's gaps are shorter than any launch"));
        if (f.operators > 0)
            m_finding = tr("%1 of %2 operators take under %3; gaps are %4 of the step")
                            .arg(formatPercent(double(small) / double(f.operators), 0), formatCount(f.operators),
                                 formatDuration(Duration{kLengthLimits[1]}, 3), formatPercent(share));
        if (f.shortest.ns > 0)
            m_finding += tr(" · operators under %1 were taken together").arg(formatDuration(f.shortest, 2));
    }
    m_classes->setContent(
        {{tr("length"), {}, false, 118}, {tr("of the operators"), {}, false, 0}, {tr("of their time"), {}, false, 0}},
        std::move(rows));
    m_gaps->setContent(
        {{tr("rank %1").arg(m_facts ? m_facts->rank.value : 0), {}, false, 190}, {QString(), {}, false, 0}},
        std::move(gaps));
    m_classCard->finding().setText(m_finding);
}

void LaunchesPage::fillCandidates(ByteUnit unit)
{
    const Theme& t = currentTheme();
    const QString formula =
        tr("Saved per occurrence: (k − 1) launches of %1, and the intermediates that need not be written and read, "
           "Σ min(bytes of one, bytes of the next) / memory bandwidth; at most all but the longest operator's time")
            .arg(m_facts ? formatDuration(m_facts->launchOverhead, 3) : QString(kDash));
    std::vector<CellColumn> columns{
        {tr("sequence"), tr("Memory-bound operators that follow one another on a stream"), false, 0},
        {tr("phase"), {}, false, 112, true},
        {tr("times"), tr("Occurrences in the step"), true, 56},
        {tr("time"), tr("Of the operators, all occurrences"), true, 76, true},
        {tr("bytes saved"), formula, true, 88},
        {tr("saved"), formula, true, 76},
        {tr("of the step"), formula, false, 118}};
    std::vector<std::vector<CellValue>> rows;
    Duration saved;
    if (m_facts) {
        const double step = static_cast<double>(std::max<std::int64_t>(1, m_facts->stepLength.ns));
        for (const FusionCandidate& each : m_facts->candidates) {
            const QString name = sequenceName(each.names);
            QStringList whole;
            for (const std::string& one : each.names) whole << QString::fromStdString(one);
            const double share = static_cast<double>(each.saved().ns) / step;
            saved += each.saved();
            rows.push_back({{.text = name, .colour = colourOf(t, each.phase), .toolTip = whole.join(QLatin1Char('\n'))},
                            {.text = words(each.phase)},
                            {.text = formatCount(each.occurrences), .exact = static_cast<qlonglong>(each.occurrences)},
                            {.text = formatDuration(each.time, 3), .exact = static_cast<qlonglong>(each.time.ns)},
                            {.text = each.bytesSaved > 0 ? formatBytes(each.bytesSaved, unit) : QString(kDash),
                             .exact = each.bytesSaved,
                             .toolTip = formula},
                            {.text = formatDuration(each.saved(), 3),
                             .exact = static_cast<qlonglong>(each.saved().ns),
                             .toolTip = tr("launches %1, memory %2\n%3")
                                            .arg(formatDuration(each.launchSaved, 3),
                                                 formatDuration(each.memorySaved, 3), formula)},
                            {.text = formatPercent(share),
                             .exact = share,
                             .share = share,
                             .colour = t.prediction,
                             .toolTip = formula}});
        }
    }
    m_candidates->setContent(std::move(columns), std::move(rows));
    QString text;
    if (m_facts && !m_facts->candidates.empty())
        text = tr("fusing all of them would save about %1, %2 of the step (estimate)")
                   .arg(formatDuration(saved, 3),
                        formatPercent(static_cast<double>(saved.ns) /
                                      static_cast<double>(std::max<std::int64_t>(1, m_facts->stepLength.ns))));
    else if (m_facts)
        text = tr("no sequence of short, memory-bound operators");
    if (m_facts && !m_facts->bandwidthKnown) text += tr(" · memory bandwidth unknown: only launches are counted");
    m_fusionCard->finding().setText(text);
}

} // namespace fourwalls::views
