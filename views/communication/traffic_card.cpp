// SPDX-License-Identifier: GPL-3.0-or-later
// See traffic_card.h.
#include "views/communication/traffic_card.h"

#include "views/communication/collectives_card.h"
#include "views/communication/matrix_plot.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QSignalBlocker>
#include <QToolButton>

namespace fourwalls::views {

TrafficCard::TrafficCard(QWidget* parent)
    : PlotCard(parent)
    , m_plot(new MatrixPlot(this))
    , m_wire(choiceButton(this))
    , m_payload(choiceButton(this))
    , m_groups(new QComboBox(this))
{
    auto* group = new QButtonGroup(this);
    for (QToolButton* button : {m_wire, m_payload}) {
        group->addButton(button);
        addControl(button);
        connect(button, &QToolButton::clicked, this, &TrafficCard::fill);
    }
    m_wire->setChecked(true);
    m_groups->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_groups->setMinimumContentsLength(12);
    addControl(m_groups);
    addContent(m_plot, 1);
    connect(m_groups, &QComboBox::currentIndexChanged, this, &TrafficCard::fill);
    retranslate();
}

void TrafficCard::retranslate()
{
    title().setText(tr("Traffic"));
    m_wire->setText(tr("wire"));
    m_wire->setToolTip(tr("Bytes that were really sent"));
    m_payload->setText(tr("payload"));
    m_payload->setToolTip(tr("Buffers handed to operations, shared out by what was sent to whom"));
    m_groups->setAccessibleName(tr("Process group"));
    m_plot->setAccessibleName(tr("Traffic from rank to rank"));
    m_plot->setAxisNames(tr("from rank"), tr("to rank"));
}

void TrafficCard::setShowsWire(bool wire)
{
    (wire ? m_wire : m_payload)->setChecked(true);
    fill();
}

void TrafficCard::present(std::shared_ptr<const CommunicationData> facts, ByteUnit unit)
{
    m_data = std::move(facts);
    m_unit = unit;
    {
        const QSignalBlocker quiet(m_groups);
        const QString before = m_groups->currentData().toString();
        m_groups->clear();
        m_groups->addItem(tr("all groups"), QString());
        if (m_data)
            for (const std::string& name : m_data->traffic.groups)
                m_groups->addItem(groupText(name), QString::fromStdString(name));
        m_groups->setCurrentIndex(std::max(0, m_groups->findData(before)));
        m_groups->setVisible(m_groups->count() > 2);
    }
    fill();
}

void TrafficCard::fill()
{
    using Origin = TrafficMatrix::Origin;
    m_plot->setText([unit = m_unit](double value) { return formatBytes(value, unit, 2); });
    if (!m_data || m_data->traffic.origin == Origin::None) {
        m_plot->setMatrix({}, {}, 0);
        m_plot->setNothing(!m_data ? QString()
                           : m_data->step.operations.empty()
                               ? tr("Nothing was sent between ranks in %1.").arg(stepName(m_data->step.window))
                           : m_data->rates.why == NoRates::OneRankGroups ? noRatesText(m_data->rates)
                           : m_data->rates.withBytes > 0
                               ? tr("This trace does not say which ranks its operations sent to.")
                               : tr("This trace does not say how many bytes its operations sent, or to whom."));
        return finding().setText({});
    }
    const TrafficMatrix& traffic = m_data->traffic;
    const bool wire = m_wire->isChecked();
    const int group = m_groups->currentIndex() - 1;
    std::vector<int> names;
    for (const RankId rank : traffic.ranks) names.push_back(rank.value);
    std::vector<double> values = traffic.dense(wire, group);
    // The busiest pair, for the sentence.
    const auto largest = std::max_element(values.begin(), values.end());
    const auto n = traffic.ranks.size();
    const auto at = static_cast<std::size_t>(largest - values.begin());
    const double most = largest == values.end() ? 0 : *largest;
    const int every =
        m_data->devicesPerNode > 1 && static_cast<std::size_t>(m_data->devicesPerNode) < n ? m_data->devicesPerNode : 0;
    m_plot->setMatrix(std::move(names), std::move(values), every);

    QString text;
    if (most > 0)
        text = tr("most: rank %1 → %2, %3")
                   .arg(traffic.ranks[at / n].value)
                   .arg(traffic.ranks[at % n].value)
                   .arg(formatBytes(most, m_unit));
    switch (traffic.origin) {
    case Origin::Recorded: text += tr(" · recorded, whole trace, warm-up included"); break;
    case Origin::Derived:
        text += traffic.assumedRing
                    ? tr(" · derived from the operations of %1, rings assumed").arg(stepName(m_data->step.window))
                    : tr(" · derived from the operations of %1 and their algorithm").arg(stepName(m_data->step.window));
        break;
    case Origin::Modelled: text += tr(" · modelled, %1").arg(stepName(m_data->step.window)); break;
    case Origin::None: break;
    }
    if (traffic.ranksInAll > n) text += tr(" · the first %1 of %2 ranks").arg(n).arg(traffic.ranksInAll);
    finding().setText(text);
}

} // namespace fourwalls::views
