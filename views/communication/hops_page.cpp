// SPDX-License-Identifier: GPL-3.0-or-later
// See hops_page.h.
#include "views/communication/hops_page.h"

#include "views/communication/collectives_card.h"
#include "views/communication/hop_plot.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/whatif/gain_line.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <map>

namespace fourwalls::views {

namespace {
constexpr int kListed = 4000;
constexpr int kSliderSteps = 20; ///< per round
} // namespace

HopsPage::HopsPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_listCard = new PlotCard(splitter);
    m_table = new CellTable(m_listCard);
    m_listCard->addContent(m_table, 1);
    m_gain = new GainLine(m_listCard);
    m_listCard->addContent(m_gain);
    m_hopCard = new PlotCard(splitter);
    m_plot = new HopPlot(m_hopCard);
    m_hopCard->addContent(m_plot, 1);
    auto* row = new QWidget(m_hopCard);
    auto* controls = new QHBoxLayout(row);
    controls->setContentsMargins(0, 0, 0, 0);
    controls->setSpacing(4);
    m_back = choiceButton(row);
    m_play = choiceButton(row);
    m_next = choiceButton(row);
    for (QToolButton* button : {m_back, m_next}) button->setCheckable(false);
    m_slider = new QSlider(Qt::Horizontal, row);
    m_timeline = new QPushButton(row);
    controls->addWidget(m_back);
    controls->addWidget(m_play);
    controls->addWidget(m_next);
    controls->addWidget(m_slider, 1);
    controls->addWidget(m_timeline);
    m_hopCard->addContent(row);
    splitter->setSizes({4700, 5300});

    connect(m_table, &CellTable::rowChosen, this, [this](int at) {
        if (at >= 0 && at < static_cast<int>(m_rows.size())) emit operationChosen(m_rows[static_cast<std::size_t>(at)]);
    });
    connect(m_table, &CellTable::rowActivated, this, [this](int at) {
        if (at >= 0 && at < static_cast<int>(m_rows.size()))
            emit operationActivated(m_rows[static_cast<std::size_t>(at)]);
    });
    connect(m_timeline, &QPushButton::clicked, this, [this] {
        if (m_chosen >= 0) emit operationActivated(m_chosen);
    });
    connect(m_play, &QToolButton::clicked, this, [this](bool on) { m_plot->setPlaying(on); });
    connect(m_next, &QToolButton::clicked, this, [this] {
        m_plot->setPlaying(false);
        m_plot->setPosition(std::floor(m_plot->position()) + 1);
    });
    connect(m_back, &QToolButton::clicked, this, [this] {
        m_plot->setPlaying(false);
        m_plot->setPosition(std::ceil(m_plot->position()) - 1);
    });
    connect(m_plot, &HopPlot::playingChanged, this, [this](bool on) {
        m_play->setChecked(on);
        m_play->setText(on ? QStringLiteral("❚❚") : QStringLiteral("▶"));
    });
    connect(m_plot, &HopPlot::positionChanged, this, [this](double position) {
        const QSignalBlocker quiet(m_slider);
        m_slider->setValue(static_cast<int>(std::lround(position * kSliderSteps)));
    });
    connect(m_slider, &QSlider::valueChanged, this,
            [this](int value) { m_plot->setPosition(double(value) / kSliderSteps); });
    retranslate();
}

void HopsPage::retranslate()
{
    m_listCard->title().setText(tr("Operations"));
    m_hopCard->title().setText(tr("Hops"));
    m_back->setText(QStringLiteral("◀|"));
    m_back->setToolTip(tr("The round before"));
    m_back->setAccessibleName(tr("The round before"));
    m_play->setText(m_plot->isPlaying() ? QStringLiteral("❚❚") : QStringLiteral("▶"));
    m_play->setToolTip(tr("Play or pause"));
    m_play->setAccessibleName(tr("Play or pause"));
    m_next->setText(QStringLiteral("|▶"));
    m_next->setToolTip(tr("The next round"));
    m_next->setAccessibleName(tr("The next round"));
    m_slider->setAccessibleName(tr("Round"));
    m_gain->retranslate();
    m_timeline->setText(tr("Timeline →"));
    m_timeline->setToolTip(tr("Show this operation on the timeline"));
    m_table->setAccessibleName(tr("Operations of the step"));
    m_plot->setAccessibleName(tr("Messages of the operation, round by round"));
}

void HopsPage::present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit)
{
    m_data = std::move(facts);
    m_unit = unit;
    m_plot->setByteUnit(unit);
    m_rows.clear();
    std::vector<CellColumn> columns{{tr("begins"), tr("After the step's begin"), true, 78},
                                    {tr("operation"), {}, false, 0},
                                    {tr("ranks"), {}, true, 48},
                                    {tr("payload"), {}, true, 76},
                                    {tr("transfer"), {}, true, 76},
                                    {tr("skew"), tr("Last arrival minus first arrival"), true, 76}};
    std::vector<std::vector<CellValue>> rows;
    if (m_data) {
        const auto& operations = m_data->step.operations;
        for (std::size_t i = 0; i < operations.size() && m_rows.size() < kListed; ++i) {
            const JoinedOperation& operation = operations[i];
            if (operation.operation == CollectiveOp::Receive && operation.members.front().record.peer)
                continue; // its send is listed
            const auto index = static_cast<std::size_t>(std::max(0, operation.group.value));
            const auto members = operation.isMessage() ? 2
                                                       : static_cast<qlonglong>(index < info.groups.size()
                                                                                    ? info.groups[index].ranks.size()
                                                                                    : operation.members.size());
            const auto time = [](Duration d) {
                return CellValue{.text = formatDuration(d, 3), .exact = static_cast<qlonglong>(d.ns)};
            };
            QString what = kindName(operation.operation, groupName(info, operation.group),
                                    collectiveTiming(info, operation.group, operation.operation));
            if (operation.isMessage() && operation.members.front().record.peer)
                what = tr("%1 %2 → %3")
                           .arg(what)
                           .arg(operation.members.front().rank.value)
                           .arg(operation.members.front().record.peer->value);
            rows.push_back(
                {time(operation.firstArrival() - m_data->step.window.range.begin),
                 {.text = what, .colour = currentTheme().communication},
                 {.text = members > 0 ? QString::number(members) : QString(kDash), .exact = members},
                 {.text = operation.payloadBytes ? formatBytes(static_cast<double>(*operation.payloadBytes), unit)
                                                 : QString(kDash),
                  .exact = static_cast<qlonglong>(operation.payloadBytes.value_or(-1))},
                 time(operation.transfer()),
                 time(operation.skew())});
            m_rows.push_back(static_cast<int>(i));
        }
        const auto all = static_cast<qint64>(operations.size());
        m_listCard->finding().setText(
            all > kListed
                ? tr("first %1 of %2 in %3").arg(formatCount(kListed), formatCount(all), stepName(m_data->step.window))
                : tr("%1 in %2").arg(formatCount(static_cast<qint64>(m_rows.size())), stepName(m_data->step.window)));
    }
    m_table->setContent(std::move(columns), std::move(rows), 0, Qt::AscendingOrder);
    setChosen(m_chosen);
    describe();
}

void HopsPage::setChosen(int operation)
{
    m_chosen = operation;
    const auto found = std::find(m_rows.begin(), m_rows.end(), operation);
    m_table->showRow(found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin()));
    m_timeline->setEnabled(m_chosen >= 0);
}

void HopsPage::setSchedule(std::shared_ptr<const HopSchedule> schedule)
{
    m_schedule = std::move(schedule);
    {
        const QSignalBlocker quiet(m_slider);
        m_slider->setRange(0, (m_schedule ? m_schedule->rounds : 0) * kSliderSteps);
        m_slider->setPageStep(kSliderSteps);
    }
    const bool any = m_schedule && m_schedule->rounds > 0;
    for (QWidget* control : std::initializer_list<QWidget*>{m_play, m_next, m_back, m_slider}) control->setEnabled(any);
    m_plot->setSchedule(m_schedule);
    describe();
}

QString HopsPage::finding() const
{
    if (!m_schedule || m_schedule->hops.empty()) return {};
    const HopSchedule& s = *m_schedule;
    const auto n = static_cast<int>(s.members.size());
    const QString algorithm = s.algorithm == "ring"     ? tr("ring")
                              : s.algorithm == "tree"   ? tr("tree")
                              : s.algorithm == "direct" ? tr("direct exchange")
                                                        : tr("hierarchical");
    std::map<decltype(ScheduledHop::from), int> sent;
    int perRank = 0;
    for (const ScheduledHop& hop : s.hops) perRank = std::max(perRank, ++sent[hop.from]);
    QString text;
    if (s.algorithm == "ring" && s.operation == CollectiveOp::AllReduce)
        text = tr("%1: each rank sends 2(n−1) = %2 messages of 1/%3 of %4")
                   .arg(algorithm)
                   .arg(2 * (n - 1))
                   .arg(n)
                   .arg(formatBytes(s.payloadBytes, m_unit));
    else if (s.algorithm == "ring")
        text = tr("%1: each rank sends n−1 = %2 messages of 1/%3 of %4")
                   .arg(algorithm)
                   .arg(n - 1)
                   .arg(n)
                   .arg(formatBytes(s.payloadBytes, m_unit));
    else
        text = tr("%1 of %2: %3 rounds, messages per rank: up to %4")
                   .arg(algorithm, formatBytes(s.payloadBytes, m_unit))
                   .arg(s.rounds)
                   .arg(perRank);
    if (s.recorded) return text + tr(" · recorded");
    return text + (s.algorithmKnown ? tr(" · modelled: its hops were not recorded")
                                    : tr(" · modelled: the trace does not name the algorithm"));
}

void HopsPage::describe()
{
    m_hopCard->finding().setText(finding());
}

} // namespace fourwalls::views
