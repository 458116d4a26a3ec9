// SPDX-License-Identifier: GPL-3.0-or-later
// See order_controls.h.
#include "views/pipeline/order_controls.h"

#include "model/spec/names.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/replayer.h"
#include "views/words/plan_words.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

namespace fourwalls::views {

namespace {

constexpr int kSliderWidth = 110, kFieldWidth = 52;
constexpr int kMostMicrobatches = 4096, kMostChunks = 64;
/// Numbers of micro-batches that a slider goes through one by one.
constexpr int kMostSingly = 64;

bool hasChunks(PipelineSchedule schedule)
{
    return schedule == PipelineSchedule::Interleaved || schedule == PipelineSchedule::ZeroBubbleV;
}

std::vector<double> microbatchStops(int recorded)
{
    std::vector<double> stops;
    for (int each = 1; each <= std::clamp(4 * recorded, 16, kMostSingly); ++each) stops.push_back(each);
    for (int each = 2 * kMostSingly; each <= 4 * recorded; each *= 2) stops.push_back(each);
    if (std::find(stops.begin(), stops.end(), double(recorded)) == stops.end()) stops.push_back(recorded);
    std::sort(stops.begin(), stops.end());
    return stops;
}

} // namespace

QString changeWords(const std::string& change)
{
    const std::size_t equals = change.find('=');
    const std::string key = change.substr(0, equals);
    const QString value = equals == std::string::npos ? QString() : QString::fromStdString(change.substr(equals + 1));
    if (key == "microbatches") return OrderControls::tr("%1 micro-batches").arg(value);
    if (key == "vpp") return OrderControls::tr("%1 chunks per stage").arg(value);
    if (key == "schedule")
        for (const auto& [schedule, word] : kScheduleWords)
            if (word == value.toStdString()) return words(schedule);
    return QString::fromStdString(change);
}

OrderControls::OrderControls(QWidget* parent)
    : QWidget(parent)
    , m_name(new QLabel(this))
    , m_microbatchesName(new QLabel(this))
    , m_chunksName(new QLabel(this))
    , m_schedule(new QComboBox(this))
    , m_slider(new KnobSlider(this))
    , m_microbatches(new QSpinBox(this))
    , m_chunks(new QSpinBox(this))
{
    auto* row = new WrapRow(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(14);
    const auto add = [&](QLabel* name, std::initializer_list<QWidget*> fields) {
        auto* together = new QHBoxLayout;
        together->setSpacing(6);
        name->setFont(fontOf(TextRole::Small));
        name->setBuddy(*(fields.end() - 1));
        together->addWidget(name);
        for (QWidget* field : fields) {
            field->setFont(fontOf(TextRole::Small));
            together->addWidget(field);
        }
        row->addLayout(together);
    };
    add(m_name, {m_schedule});
    add(m_microbatchesName, {m_slider, m_microbatches});
    add(m_chunksName, {m_chunks});
    m_schedule->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_slider->setFixedWidth(kSliderWidth);
    m_slider->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed); // else the row gives its room to what is beside it
    connect(m_schedule, &QComboBox::activated, this, [this] {
        Order order = shown();
        order.schedule = static_cast<PipelineSchedule>(m_schedule->currentData().toInt());
        order.chunks = hasChunks(order.schedule) ? std::max(order.chunks, 2) : 1;
        choose(order);
    });
    const auto chooseMicrobatches = [this](int number) {
        Order order = shown();
        order.microbatches = number;
        choose(order);
    };
    for (QSpinBox* field : {m_microbatches, m_chunks}) {
        field->setKeyboardTracking(false);
        field->setButtonSymbols(QAbstractSpinBox::NoButtons);
        field->setFixedWidth(kFieldWidth);
    }
    connect(m_slider, &KnobSlider::valueChosen, this,
            [chooseMicrobatches](double value) { chooseMicrobatches(static_cast<int>(std::lround(value))); });
    connect(m_microbatches, &QSpinBox::valueChanged, this, chooseMicrobatches);
    connect(m_chunks, &QSpinBox::valueChanged, this, [this](int number) {
        Order order = shown();
        order.chunks = number;
        if (number > 1 && !hasChunks(order.schedule)) order.schedule = PipelineSchedule::Interleaved;
        if (number == 1 && hasChunks(order.schedule)) order.schedule = PipelineSchedule::OneFOneB;
        choose(order);
    });
    retranslate();
}

void OrderControls::setReplayer(Replayer* replayer)
{
    if (m_replayer == replayer) return;
    if (m_replayer) m_replayer->disconnect(this);
    m_replayer = replayer;
    if (replayer) {
        connect(replayer, &Replayer::offersKnown, this, &OrderControls::retranslate);
        connect(replayer, &Replayer::changesChanged, this, &OrderControls::refresh);
    }
    retranslate();
}

std::optional<PipelineShape> OrderControls::recorded() const
{
    return m_replayer && m_replayer->offers() ? m_replayer->offers()->knobs.passes : std::nullopt;
}

QString OrderControls::blocked() const
{
    if (recorded()) return {};
    if (m_replayer && m_replayer->offers())
        return tr("The passes cannot be ordered anew: %1.")
            .arg(QString::fromStdString(m_replayer->offers()->knobs.noPasses));
    if (m_replayer && !m_replayer->failure().isEmpty())
        return tr("This step cannot be run again: %1.").arg(m_replayer->failure());
    return tr("Not known yet.");
}

OrderControls::Order OrderControls::shown() const
{
    const PipelineShape shape = recorded().value_or(PipelineShape{});
    Order order{shape.schedule, shape.microbatches, shape.chunks};
    if (!m_replayer) return order;
    const auto numberOf = [this](std::string_view key) {
        return QString::fromStdString(m_replayer->value(key)).toInt();
    };
    const std::string schedule = m_replayer->value("schedule");
    for (const auto& [each, word] : kScheduleWords)
        if (word == schedule) order = {each, order.microbatches, hasChunks(each) ? std::max(2, shape.chunks) : 1};
    if (const int number = numberOf("microbatches"); number > 0) order.microbatches = number;
    if (const int number = numberOf("vpp"); number > 0) {
        order.chunks = number;
        order.schedule = number > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
    }
    return order;
}

void OrderControls::choose(const Order& order)
{
    const auto shape = recorded();
    if (!shape) return;
    std::vector<std::string> changes;
    for (const std::string& change : m_replayer->changes()) {
        const std::string key = change.substr(0, change.find('='));
        if (key != "schedule" && key != "microbatches" && key != "vpp") changes.push_back(change);
    }
    // The number of chunks says which of two schedules is meant, see orderPasses.
    const bool byChunks = order.schedule == PipelineSchedule::Interleaved;
    const bool sameOrder = order.schedule == shape->schedule && order.chunks == shape->chunks;
    if (!sameOrder && !byChunks) changes.push_back("schedule=" + std::string(name(order.schedule)));
    if (order.microbatches != shape->microbatches)
        changes.push_back("microbatches=" + std::to_string(order.microbatches));
    if (!sameOrder && byChunks) changes.push_back("vpp=" + std::to_string(order.chunks));
    m_replayer->setChanges(std::move(changes));
}

void OrderControls::fillSchedules()
{
    const QSignalBlocker quiet(m_schedule);
    m_schedule->clear();
    const auto shape = recorded();
    for (const auto& [schedule, word] : kScheduleWords) {
        const QString text = words(schedule);
        const bool isRecorded = shape && schedule == shape->schedule;
        m_schedule->addItem(isRecorded ? tr("%1, as recorded").arg(text) : text, static_cast<int>(schedule));
    }
}

void OrderControls::retranslate()
{
    m_name->setText(tr("Order of the passes"));
    m_schedule->setAccessibleName(m_name->text());
    m_microbatchesName->setText(tr("Micro-batches"));
    m_chunksName->setText(tr("Chunks per stage"));
    m_slider->setAccessibleName(m_microbatchesName->text());
    m_microbatches->setAccessibleName(m_microbatchesName->text());
    m_chunks->setAccessibleName(m_chunksName->text());
    fillSchedules();
    const PipelineShape shape = recorded().value_or(PipelineShape{});
    m_slider->setStops(microbatchStops(shape.microbatches));
    m_slider->setRecorded(shape.microbatches);
    refresh();
}

void OrderControls::refresh()
{
    const QString reason = blocked();
    const Order order = shown();
    const auto explain = [&](std::initializer_list<QWidget*> fields, const QString& meaning) {
        for (QWidget* field : fields) {
            field->setEnabled(reason.isEmpty());
            field->setToolTip(reason.isEmpty() ? meaning : reason);
        }
    };
    explain({m_schedule}, tr("The measured passes in the order of another schedule"));
    explain({m_slider, m_microbatches}, tr("They keep their size and their measured passes"));
    explain({m_chunks}, tr("Virtual stages per rank, which take equal times"));
    m_schedule->setCurrentIndex(m_schedule->findData(static_cast<int>(order.schedule)));
    m_slider->showValue(order.microbatches);
    for (const auto& [field, number] :
         {std::pair(m_microbatches, order.microbatches), std::pair(m_chunks, order.chunks)}) {
        const QSignalBlocker quiet(field);
        field->setRange(1, std::max(number, field == m_chunks ? kMostChunks : kMostMicrobatches));
        field->setValue(number);
    }
}

void OrderControls::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

} // namespace fourwalls::views
