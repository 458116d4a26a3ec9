// SPDX-License-Identifier: GPL-3.0-or-later
// The tuning view's calculator of goodput: its fields, what they start from, and what it says.
#include "model/cost/recorded_goodput.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"
#include "views/tuning/goodput_plot.h"
#include "views/tuning/job_time_bars.h"
#include "views/tuning/tuning_view.h"
#include "views/words/format.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kUsualCheckpoint = 60;     // [s]
constexpr double kLeastGoodputValue = 1e-6; // [s] or [h]
constexpr int kGoodputDigits = 3;           ///< that a value below 1000 is shown with

/// A number of hours or seconds, which may be tens of thousands or a thousandth: as many decimals as it needs.
class GoodputBox : public QDoubleSpinBox {
public:
    using QDoubleSpinBox::QDoubleSpinBox;
    QString textFromValue(double value) const override
    {
        const int decimals =
            value > 0
                ? std::clamp(kGoodputDigits - 1 - static_cast<int>(std::floor(std::log10(value))), 0, this->decimals())
                : 0;
        QLocale plain = locale();
        plain.setNumberOptions(QLocale::OmitGroupSeparator);
        QString text = plain.toString(value, 'f', decimals);
        if (decimals == 0) return text;
        while (text.endsWith(plain.zeroDigit())) text.chop(1);
        if (text.endsWith(plain.decimalPoint())) text.chop(plain.decimalPoint().size());
        return text;
    }
};

QLabel* goodputLabel(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setFont(fontOf(TextRole::Small));
    return label;
}

/// Sets a field without telling anybody, and says what it took.
double put(QDoubleSpinBox& box, double value)
{
    const QSignalBlocker quiet(box);
    box.setValue(value);
    return box.value();
}

} // namespace

void TuningView::buildGoodput(QWidget* parent)
{
    m_goodputCard = new PlotCard(parent);
    auto* inputs = new QWidget(m_goodputCard);
    auto* row = new WrapRow(inputs);
    const auto add = [&](QLabel*& name, QDoubleSpinBox*& box, double most, const QString& suffix) {
        name = goodputLabel(inputs);
        box = new GoodputBox(inputs);
        box->setFont(fontOf(TextRole::Small));
        box->setDecimals(9);
        box->setRange(kLeastGoodputValue, most);
        box->setSuffix(QString(kThinSpace) + suffix);
        box->setButtonSymbols(QAbstractSpinBox::NoButtons);
        box->setFixedWidth(82);
        name->setBuddy(box);
        auto* both = new QHBoxLayout;
        both->addWidget(name);
        both->addWidget(box);
        row->addLayout(both);
        connect(box, &QDoubleSpinBox::valueChanged, this, &TuningView::showGoodput);
    };
    add(m_mtbfName, m_mtbf, 10'000'000, QStringLiteral("h"));
    add(m_checkpointName, m_checkpoint, 100'000, QStringLiteral("s"));
    add(m_restartName, m_restart, 100'000, QStringLiteral("s"));
    m_recordedNote = goodputLabel(inputs);
    row->addWidget(m_recordedNote);
    m_recordedNote->hide();
    m_goodputCard->addContent(inputs);
    m_goodput = new GoodputPlot(m_goodputCard);
    m_goodputCard->addContent(m_goodput, 1);
    m_jobTime = new JobTimeBars(m_goodputCard);
    m_goodputCard->addContent(m_jobTime);
    startGoodput(std::nullopt);
}

void TuningView::startGoodput(const std::optional<JobTime>& job)
{
    const cost::GoodputInput usual;
    const cost::RecordedCosts costs = job ? cost::recordedCosts(*job) : cost::RecordedCosts{};
    const auto start = [](QDoubleSpinBox& box, std::optional<double> recorded, double other) {
        const double taken = put(box, recorded.value_or(other));
        return recorded ? std::optional(taken) : std::nullopt;
    };
    std::optional<double> deviceMtbfHours;
    if (costs.jobMtbfSeconds && session() && session()->isOpen()) {
        const double devices = std::max<double>(1, static_cast<double>(session()->info().header.ranks.size()));
        deviceMtbfHours = *costs.jobMtbfSeconds * devices / 3600;
    }
    m_recordedMtbf = start(*m_mtbf, deviceMtbfHours, usual.deviceMtbfHours);
    m_recordedCheckpoint = start(*m_checkpoint, costs.checkpointSeconds, kUsualCheckpoint);
    m_recordedRestart = start(*m_restart, costs.restartSeconds, usual.restartSeconds);
    showGoodput();
}

QString TuningView::recordedNote() const
{
    QStringList names;
    const auto add = [&](const std::optional<double>& recorded, const QDoubleSpinBox& box, const QString& name) {
        if (recorded && *recorded == box.value()) names << name;
    };
    add(m_recordedMtbf, *m_mtbf, tr("failures"));
    add(m_recordedCheckpoint, *m_checkpoint, tr("checkpoint"));
    add(m_recordedRestart, *m_restart, tr("restart"));
    return names.isEmpty() ? QString() : tr("as this job recorded: %1").arg(names.join(QStringLiteral(", ")));
}

void TuningView::showGoodput()
{
    cost::GoodputInput input;
    input.devices = m_devices->value();
    input.deviceMtbfHours = m_mtbf->value();
    input.checkpointSeconds = m_checkpoint->value();
    input.restartSeconds = m_restart->value();
    m_goodput->setInput(input);
    const QString note = recordedNote();
    m_recordedNote->setText(note);
    m_recordedNote->setVisible(!note.isEmpty());
    const QString recorded = m_jobTime->sentence();
    m_goodputCard->finding().setText(recorded.isEmpty() ? m_goodput->sentence() : recorded);
}

} // namespace fourwalls::views
