// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_map_card.h.
#include "views/memory/memory_map_card.h"

#include "views/memory/memory_map_plot.h"
#include "views/memory/memory_words.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"

#include <QComboBox>
#include <QEvent>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {

constexpr int kHistoryPixels = 600;

/// The line of a curve that holds each value until the next one.
std::vector<std::pair<double, double>> stepsOf(const std::vector<std::pair<double, double>>& samples, double end)
{
    std::vector<std::pair<double, double>> points;
    for (const auto& [at, value] : samples) {
        // What stood before the history begins in its first instants: within a pixel it is what the curve begins with.
        if (points.size() == 1 && at - points.front().first < end / kHistoryPixels) {
            points.front().second = value;
            continue;
        }
        if (!points.empty()) points.emplace_back(at, points.back().second);
        points.emplace_back(at, value);
    }
    if (!points.empty() && points.back().first < end) points.emplace_back(end, points.back().second);
    return points;
}

} // namespace

Result<AllocatorHistory> askAllocatorHistory(TraceQuery& trace, RankId rank, int pixels)
{
    AllocatorHistory history;
    const TraceInfo& info = trace.info();
    history.range = {info.range.begin, info.range.end + Duration{1}};
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const CounterInfo& counter = info.counters[i];
        if (counter.rank != rank) continue;
        const CounterId id(static_cast<std::int32_t>(i));
        if (counter.name != "reserved_bytes" && counter.name != kLargestFreeCounter) continue;
        FOURWALLS_TRY_ASSIGN(std::vector<CounterSample> samples, trace.counter(id, history.range, pixels));
        (counter.name == kLargestFreeCounter ? history.largestFree : history.reserved) = std::move(samples);
    }
    FOURWALLS_TRY_ASSIGN(MemoryWindow window, trace.memory(rank, history.range, pixels));
    history.buffers = std::move(window.samples);
    return history;
}

MemoryMapCard::MemoryMapCard(QWidget* parent)
    : PlotCard(parent)
    , m_order(new QComboBox(this))
    , m_colours(new QComboBox(this))
    , m_plot(new MemoryMapPlot(this))
    , m_overTime(new XyPlot(this))
    , m_blockLegend(new PlotLegend(this))
    , m_legend(new PlotLegend(this))
{
    addControl(m_order);
    addControl(m_colours);
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(m_plot, 5);
    m_beside = new QWidget(row);
    auto* column = new QVBoxLayout(m_beside);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(m_legend);
    column->addWidget(m_overTime, 1);
    layout->addWidget(m_beside, 3);
    addContent(row, 1);
    addContent(m_blockLegend);
    connect(m_order, &QComboBox::activated, this,
            [this](int index) { m_plot->setOrder(static_cast<MapOrder>(m_order->itemData(index).toInt())); });
    connect(m_colours, &QComboBox::activated, this, [this](int index) {
        m_plot->setColours(static_cast<MemoryMapPlot::Colours>(m_colours->itemData(index).toInt()));
        showBlockLegend();
    });
    connect(m_plot, &MemoryMapPlot::bufferClicked, this, &MemoryMapCard::bufferClicked);
    retranslate();
}

void MemoryMapCard::retranslate()
{
    title().setText(tr("Segments"));
    const auto fill = [](QComboBox& box, const std::vector<std::pair<QString, int>>& items) {
        const QSignalBlocker quiet(&box);
        const int present = std::max(0, box.currentIndex());
        box.clear();
        for (const auto& [text, value] : items) box.addItem(text, value);
        box.setCurrentIndex(present);
    };
    fill(*m_order, {{tr("by address"), static_cast<int>(MapOrder::Address)},
                    {tr("by pool and stream"), static_cast<int>(MapOrder::Pool)},
                    {tr("largest first"), static_cast<int>(MapOrder::Size)},
                    {tr("most free first"), static_cast<int>(MapOrder::Holes)}});
    fill(*m_colours, {{tr("colours: category"), static_cast<int>(MemoryMapPlot::Colours::Category)},
                      {tr("colours: state"), static_cast<int>(MemoryMapPlot::Colours::State)}});
    m_order->setAccessibleName(tr("Order of the segments"));
    m_colours->setAccessibleName(tr("What the colours of the segments mean"));
    m_overTime->setAccessibleName(tr("Reserved memory and the largest hole over time"));
    m_plot->retranslate();
    showMap();
    showHistory();
}

void MemoryMapCard::setTrace(TraceSession* session)
{
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    m_moment.reset();
    m_shown.reset();
    m_historyOf.reset();
    m_map.reset();
    m_history.reset();
    m_problem.clear();
    m_isAsked = false;
    showMap();
    showHistory();
}

void MemoryMapCard::setMoment(RankId rank, Instant at, std::optional<OutOfMemory> refused)
{
    m_moment = {rank, at, std::move(refused)};
    if (isVisible()) {
        askMap();
        askHistory();
    }
}

void MemoryMapCard::showEvent(QShowEvent* event)
{
    PlotCard::showEvent(event);
    askMap();
    askHistory();
}

void MemoryMapCard::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    m_unit = unit;
    m_plot->setByteUnit(unit);
    showMap();
    showHistory();
}

void MemoryMapCard::setSelected(std::optional<AllocationId> id)
{
    m_plot->setSelected(id);
}

void MemoryMapCard::askMap()
{
    if (!m_session || !m_session->isOpen() || !m_moment || !hasAllocatorSegments(m_session->info())) return showMap();
    const bool isSame = m_shown && m_shown->rank == m_moment->rank && m_shown->at == m_moment->at;
    m_shown = m_moment;
    if (isSame) return m_isAsked ? void() : showMap(); // what was refused there may be another request
    m_isAsked = true;                                  // a newer question takes the place of an older one
    m_session->ask<AllocatorMap>(
        this, "map",
        [rank = m_moment->rank, at = m_moment->at](TraceQuery& trace, const std::stop_token&) {
            return allocatorMap(trace, rank, at);
        },
        [this, asked = m_session](const Answer<AllocatorMap>& answer) {
            if (m_session != asked) return;
            m_isAsked = false;
            m_map = answer.value;
            m_problem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            showMap();
            emit settled();
        });
}

void MemoryMapCard::askHistory()
{
    if (!m_session || !m_session->isOpen() || !m_moment || !hasAllocatorSegments(m_session->info())) return;
    if (m_historyOf == m_moment->rank) return showHistory(); // the moment's mark may have moved
    m_historyOf = m_moment->rank;
    m_session->ask<AllocatorHistory>(
        this, "history",
        [rank = m_moment->rank](TraceQuery& trace, const std::stop_token&) {
            return askAllocatorHistory(trace, rank, kHistoryPixels);
        },
        [this, asked = m_session](const Answer<AllocatorHistory>& answer) {
            if (m_session != asked) return;
            m_history = answer.value;
            showHistory();
        },
        Urgency::Background);
}

QString MemoryMapCard::nothing() const
{
    if (!m_problem.isEmpty()) return m_problem;
    if (m_session && m_session->isOpen() && !hasAllocatorSegments(m_session->info()))
        return tr(
            "The trace does not say where the allocator's segments lie. PyTorch's memory snapshots do: call "
            "torch.cuda.memory._record_memory_history(), later torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"), "
            "and open the file, alone or beside the profile of the same run.");
    if (m_map && m_map->rows.empty()) return tr("The allocator had no segments at this moment.");
    return {};
}

QString MemoryMapCard::sentence() const
{
    if (!m_map || m_map->rows.empty()) return {};
    const AllocatorFigures& all = m_map->all;
    const auto bytes = [this](std::int64_t value) { return formatBytes(static_cast<double>(value), m_unit); };
    if (m_shown && m_shown->refused && m_shown->refused->askedBytes) {
        const OutOfMemory& refused = *m_shown->refused;
        const QString asked = bytes(*refused.askedBytes);
        if (refusalOf(refused, all) == Refusal::Fragmented)
            return tr("%1 could not be served although %2 were free: the largest hole was %3")
                .arg(asked, bytes(all.freeBytes + refused.freeBytes.value_or(0)), bytes(all.largestFree));
        if (refusalOf(refused, all) == Refusal::Full)
            return tr("%1 could not be served: %2 were free altogether")
                .arg(asked, bytes(all.freeBytes + refused.freeBytes.value_or(0)));
    }
    QString text =
        tr("%1 in %2 segments, %3 free in them, largest hole %4")
            .arg(bytes(all.reservedBytes), formatCount(all.segments), bytes(all.freeBytes), bytes(all.largestFree));
    if (all.awaitedBytes > 0) text += tr("; %1 let go and not free yet").arg(bytes(all.awaitedBytes));
    if (all.outsideCount > 0) text += tr("; %1 buffers lie in no known segment").arg(formatCount(all.outsideCount));
    return text;
}

void MemoryMapCard::showMap()
{
    const QString none = nothing();
    const bool isEmpty = !m_map || m_map->rows.empty();
    m_plot->setMap(isEmpty ? nullptr : m_map,
                   m_session && m_session->isOpen() ? m_session->info().range.begin : Instant{}, none);
    m_order->setVisible(!isEmpty);
    m_colours->setVisible(!isEmpty);
    showBlockLegend();
    m_beside->setVisible(none.isEmpty() || m_history);
    finding().setText(sentence());
    const bool alarm =
        m_map && m_shown && m_shown->refused && refusalOf(*m_shown->refused, m_map->all) != Refusal::Unknown;
    finding().setTone(alarm ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
}

void MemoryMapCard::showBlockLegend()
{
    std::vector<PlotLegend::Entry> entries;
    const bool isEmpty = !m_map || m_map->rows.empty();
    const Theme& t = currentTheme();
    if (!isEmpty && m_colours->currentData().toInt() == static_cast<int>(MemoryMapPlot::Colours::State)) {
        entries.push_back({PlotLegend::Mark::Area, t.accent, tr("in use")});
        if (m_map->all.awaitedBytes > 0)
            entries.push_back({PlotLegend::Mark::Area, t.hatchBase, tr("let go and not free yet")});
    } else if (!isEmpty) {
        for (const BlockColour& each : blockColours(m_map->buffers))
            entries.push_back(
                {each.colour.isValid() ? PlotLegend::Mark::Area : PlotLegend::Mark::Note, each.colour, each.name});
    }
    m_blockLegend->setVisible(!entries.empty());
    m_blockLegend->setEntries(std::move(entries));
}

void MemoryMapCard::showHistory()
{
    const Theme& t = currentTheme();
    m_legend->setEntries({{PlotLegend::Mark::Line, t.secondaryText, tr("reserved")},
                          {PlotLegend::Mark::Line, t.accent, tr("in buffers")},
                          {PlotLegend::Mark::Line, t.warning, tr("largest hole")}});
    if (!m_history) return m_overTime->setContent({}, {}, {});
    const auto secondsOf = [this](Instant at) { return static_cast<double>((at - m_history->range.begin).ns) * 1e-9; };
    const double end = secondsOf(m_history->range.end);
    XyContent content;
    double most = 1;
    const auto add = [&](const std::vector<std::pair<double, double>>& samples, const QColor& colour) {
        for (const auto& [at, value] : samples) most = std::max(most, value);
        if (!samples.empty()) content.lines.push_back({stepsOf(samples, end), QPen(colour, 1.6), false});
    };
    const auto ofCounter = [&](const std::vector<CounterSample>& samples) {
        std::vector<std::pair<double, double>> points;
        points.reserve(samples.size());
        for (const CounterSample& sample : samples) points.emplace_back(secondsOf(sample.at), sample.max);
        return points;
    };
    std::vector<std::pair<double, double>> buffers;
    buffers.reserve(m_history->buffers.size());
    for (const MemorySample& sample : m_history->buffers)
        buffers.emplace_back(secondsOf(sample.at), static_cast<double>(sample.total()));
    add(ofCounter(m_history->reserved), t.secondaryText);
    add(buffers, t.accent);
    add(ofCounter(m_history->largestFree), t.warning);
    const double top = most * 1.06;
    if (m_moment) {
        const double at = secondsOf(m_moment->at);
        content.lines.push_back({{{at, 0}, {at, top}}, QPen(t.text, 1, Qt::DotLine), false});
    }
    XyAxis time, bytes;
    time.text = [](double seconds) { return formatDuration(Duration::fromSeconds(seconds), 3); };
    time.range = {0, std::max(end, 1e-9)};
    bytes.text = [unit = m_unit](double value) { return formatBytes(value, unit, 2); };
    bytes.range = {0, top};
    m_overTime->setContent(time, bytes, std::move(content));
}

void MemoryMapCard::changeEvent(QEvent* event)
{
    PlotCard::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    m_overTime->applyTheme();
    showBlockLegend();
    showHistory();
}

QString MemoryMapCard::tableAsCsv() const
{
    if (!m_map) return {};
    QString text =
        QStringLiteral("address,bytes,stream,pool,private,expandable,buffers,free_bytes,largest_free_bytes\n");
    for (const MapRow& row : m_map->rows)
        text += QStringLiteral("0x%1,%2,%3,%4,%5,%6,%7,%8,%9\n")
                    .arg(row.segment.address, 0, 16)
                    .arg(row.segment.bytes)
                    .arg(row.segment.stream)
                    .arg(row.segment.small ? QStringLiteral("small") : QStringLiteral("large"))
                    .arg(row.segment.privatePool ? 1 : 0)
                    .arg(row.segment.expandable ? 1 : 0)
                    .arg(row.buffers)
                    .arg(row.freeBytes)
                    .arg(row.largestFree);
    return text;
}

} // namespace fourwalls::views
