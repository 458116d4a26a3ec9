// SPDX-License-Identifier: GPL-3.0-or-later
// The memory view's widgets, pickers and actions.
#include "views/base/step_picker.h"
#include "views/memory/memory_answers.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_compare_panel.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_stack_panel.h"
#include "views/memory/memory_view.h"
#include "views/plot/plot_card.h"
#include "views/plot/wrap_row.h"

#include <QAction>
#include <QButtonGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {
/// The range stands still when it has not moved for this long.
constexpr int kRangeSettleMs = 60;
} // namespace

MemoryView::MemoryView(QWidget* parent) : View(parent)
{
    m_answers = new MemoryAnswers(*this);
    connect(m_answers, &MemoryAnswers::factsKnown, this, &MemoryView::onFacts);
    connect(m_answers, &MemoryAnswers::windowKnown, this, &MemoryView::onWindow);
    connect(m_answers, &MemoryAnswers::buffersKnown, this, &MemoryView::onBuffers);
    connect(m_answers, &MemoryAnswers::aliveKnown, this, &MemoryView::onAlive);
    connect(m_answers, &MemoryAnswers::failed, this, &MemoryView::fail);
    build();
    m_listing = new QTimer(this);
    m_listing->setSingleShot(true);
    m_listing->setInterval(kRangeSettleMs);
    connect(m_listing, &QTimer::timeout, this, [this] {
        listBuffers();
        shownPlot().update(); // reports that nothing better will follow
    });
    buildControls();
    buildActions();
    retranslate();
    m_content->hide();
}

void MemoryView::build()
{
    m_content = new QWidget(this);
    QVBoxLayout* column = fillWith(m_content);

    m_figures = new FigureStrip(m_content);
    column->addWidget(m_figures);

    m_splitter = cardSplitter(Qt::Vertical, m_content);
    column->addWidget(m_splitter, 1);

    m_card = new PlotCard(m_splitter);
    m_plots = new QStackedWidget(m_card);
    m_area = new MemoryAreaPlot(m_plots);
    m_blocks = new MemoryBlockPlot(m_plots);
    m_plots->addWidget(m_area);
    m_plots->addWidget(m_blocks);
    m_counted = new MemoryCounterPlot(m_plots);
    m_plots->addWidget(m_counted);

    m_cards = new MemoryCards(*this, m_splitter);
    QSplitter* tables = &m_cards->tables();
    m_comparePanel = new MemoryComparePanel(tables);
    m_comparePanel->hide();
    m_alivePanel = new MemoryAlivePanel(tables);
    m_bufferPanel = new MemoryBufferPanel(tables);
    m_stackPanel = new MemoryStackPanel(tables);
    m_stackPanel->hide();
    connect(m_stackPanel, &MemoryStackPanel::closed, m_stackPanel, &QWidget::hide);
    tables->setStretchFactor(0, 2);
    tables->setStretchFactor(1, 2);
    tables->setStretchFactor(2, 3);
    tables->setStretchFactor(3, 2);
    tables->setSizes(
        {2000, 2000, 3000, 2500}); // two to three, whatever the widgets would like: the buffers have more columns
    connect(m_cards, &MemoryCards::bufferClicked, this, &MemoryView::selectBuffer);
    connect(m_cards, &MemoryCards::settled, this, [this] { shownPlot().update(); }); // reports that all is there
    connect(m_cards, &MemoryCards::momentWanted, this, &MemoryView::mapMoment);
    m_splitter->setStretchFactor(0, 3);
    m_splitter->setStretchFactor(1, 2);
    m_splitter->setSizes({600, 360});

    for (TimePlot* plot :
         {static_cast<TimePlot*>(m_area), static_cast<TimePlot*>(m_blocks), static_cast<TimePlot*>(m_counted)}) {
        connect(plot, &TimePlot::shownRangeChanged, this, [this, plot] {
            if (plot == &shownPlot()) onShownRange();
        });
        connect(plot, &TimePlot::instantClicked, this, &MemoryView::onInstantClicked);
        connect(plot, &TimePlot::painted, this,
                [this](TimeRange range, FrameQuality quality) { reportFrame(range, quality); });
    }
    connect(m_area, &TimePlot::doubleClicked, this, [this](Instant at) {
        if (!facts()) return;
        if (const StepSpan* step = stepAt(*facts()->steps, at)) selection()->setRange(step->range);
    });
    connect(m_area, &MemoryAreaPlot::peakClicked, m_alivePanel, &MemoryAlivePanel::backToPeak);
    connect(m_blocks, &MemoryBlockPlot::blockClicked, this, &MemoryView::selectBuffer);
    connect(m_bufferPanel, &MemoryBufferPanel::bufferSelected, this, [this](AllocationId id) {
        m_blocks->setSelected(id);
        showStack(id);
    });
    connect(m_bufferPanel, &MemoryBufferPanel::bufferActivated, this, &MemoryView::zoomToBuffer);
    connect(m_alivePanel, &MemoryAlivePanel::showOnTimeline, this, &MemoryView::jumpToTimeline);
    connect(m_alivePanel, &MemoryAlivePanel::backToPeak, this, [this] {
        m_marked.reset();
        showSummary();
        askInstant();
    });
}

void MemoryView::buildControls()
{
    m_rankPicker = new QComboBox(m_card);
    m_stepPicker = new StepPicker(m_card);
    m_card->addControl(m_rankPicker);
    m_card->addControl(m_stepPicker);
    connect(m_rankPicker, &QComboBox::activated, this,
            [this](int index) { selection()->setRank(RankId(m_rankPicker->itemData(index).toInt())); });
    connect(m_stepPicker, &StepPicker::stepChosen, this, [this](std::optional<StepIndex> number) {
        selection()->setStep(number);
        const StepSpan* step = number ? stepNumbered(*facts()->steps, *number) : nullptr;
        selection()->setRange(step ? step->range : selection()->whole());
    });

    auto* row = new QWidget(m_card);
    auto* layout = new WrapRow(row);
    m_legend = new PlotLegend(row);
    layout->addWidget(m_legend);
    const auto pair = [&](QToolButton*& first, QToolButton*& second) {
        auto* group = new QButtonGroup(row);
        auto* both = new QHBoxLayout;
        both->setSpacing(2);
        first = choiceButton(row);
        second = choiceButton(row);
        group->addButton(first);
        group->addButton(second);
        first->setChecked(true);
        both->addWidget(first);
        both->addWidget(second);
        layout->addLayout(both);
    };
    m_wall = choiceButton(row);
    m_address = choiceButton(row);
    layout->addWidget(m_wall);
    layout->addWidget(m_address);
    m_address->hide();
    for (QToolButton* button : m_cards->makeButtons(row)) layout->addWidget(button);
    pair(m_areas, m_blocksButton);
    pair(m_gb, m_gib);
    m_card->addContent(row);
    m_card->addContent(m_plots, 1);

    connect(m_areas, &QToolButton::clicked, this, [this] { setShowsBlocks(false); });
    connect(m_blocksButton, &QToolButton::clicked, this, [this] { setShowsBlocks(true); });
    connect(m_gb, &QToolButton::clicked, this, [this] { selection()->setByteUnit(ByteUnit::GB); });
    connect(m_gib, &QToolButton::clicked, this, [this] { selection()->setByteUnit(ByteUnit::GiB); });
    connect(m_wall, &QToolButton::toggled, m_area, &MemoryAreaPlot::setWallToScale);
    connect(m_address, &QToolButton::toggled, this, [this] { m_answers->placeBuffersAnew(inSight()); });
}

void MemoryView::buildActions()
{
    // Keys as on the timeline.
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, [this, run] {
            if (facts()) run();
        });
        addAction(action);
        return action;
    };
    add("memory.zoomIn", {Qt::Key_W, Qt::Key_Plus}, [this] { shownPlot().zoom(kKeyZoom); });
    add("memory.zoomOut", {Qt::Key_S, Qt::Key_Minus}, [this] { shownPlot().zoom(-kKeyZoom); });
    add("memory.panLeft", {Qt::Key_A}, [this] { shownPlot().pan(-kKeyPan); });
    add("memory.panRight", {Qt::Key_D}, [this] { shownPlot().pan(kKeyPan); });
    add("memory.fit", {Qt::Key_F}, [this] { fit(); });
    add("memory.fitAll", {Qt::SHIFT | Qt::Key_F, Qt::Key_Home}, [this] { fitAll(); });
    QAction* measure = add("memory.measure", {Qt::Key_M}, [] {});
    measure->setCheckable(true);
    connect(measure, &QAction::toggled, this, [this](bool on) {
        m_area->setMeasuring(on);
        m_blocks->setMeasuring(on);
        m_counted->setMeasuring(on);
    });
    add("memory.clear", {Qt::Key_Escape}, [this, measure] {
        measure->setChecked(false);
        selection()->setMeasured(std::nullopt);
        emit m_alivePanel->backToPeak();
    });
    add("memory.blocks", {Qt::Key_B}, [this] { setShowsBlocks(!showsBlocks()); });
    add("memory.wall", {Qt::Key_L}, [this] { m_wall->toggle(); });
    add("memory.fits", {Qt::Key_K}, [this] { m_cards->toggle(MemoryCards::Card::Fit); });
    add("memory.growth", {Qt::Key_G}, [this] { m_cards->toggle(MemoryCards::Card::Growth); });
    add("memory.segments", {Qt::Key_E}, [this] { m_cards->toggle(MemoryCards::Card::Segments); });
    add("memory.peak", {Qt::Key_P}, [this] {
        emit m_alivePanel->backToPeak();
        const MemorySummary* peak = summary();
        const TimeRange range = selection()->range();
        const Duration half{range.length().ns / 2};
        if (peak) selection()->setRange({peak->peakAt - half, peak->peakAt + half});
    });
    add("memory.timeline", {Qt::Key_T}, [this] { jumpToTimeline(); });
}

void MemoryView::retranslate()
{
    m_card->title().setText(tr("Memory"));
    m_rankPicker->setAccessibleName(tr("Rank"));
    m_stepPicker->setAccessibleName(tr("Step"));
    m_areas->setText(tr("Areas"));
    m_areas->setToolTip(tr("Live memory by category"));
    m_blocksButton->setText(tr("Blocks"));
    m_blocksButton->setToolTip(tr("Every buffer as a block over its life"));
    m_gb->setText(tr("GB"));
    m_gb->setToolTip(tr("Decimal units: 1 GB is 10⁹ bytes"));
    m_gib->setText(tr("GiB"));
    m_gib->setToolTip(tr("Binary units: 1 GiB is 2³⁰ bytes"));
    m_wall->setText(tr("Wall to scale"));
    m_wall->setToolTip(tr("Keep the axis unbroken up to the device's capacity"));
    m_address->setText(tr("By address"));
    m_address->setToolTip(tr("Blocks at their recorded addresses instead of piled up"));
    m_cards->retranslate();
    m_comparePanel->retranslate();
    m_alivePanel->retranslate();
    m_bufferPanel->retranslate();
    m_stackPanel->retranslate();
    const std::pair<const char*, QString> names[] = {
        {"memory.zoomIn", tr("Memory: zoom in")},
        {"memory.zoomOut", tr("Memory: zoom out")},
        {"memory.panLeft", tr("Memory: earlier")},
        {"memory.panRight", tr("Memory: later")},
        {"memory.fit", tr("Memory: fit the measured range or step")},
        {"memory.fitAll", tr("Memory: show everything")},
        {"memory.measure", tr("Memory: measure by dragging")},
        {"memory.clear", tr("Memory: clear the marks")},
        {"memory.blocks", tr("Memory: areas or blocks")},
        {"memory.wall", tr("Memory: wall to scale")},
        {"memory.fits", tr("Memory: what fits")},
        {"memory.growth", tr("Memory: growth over the steps")},
        {"memory.segments", tr("Memory: the allocator's segments")},
        {"memory.peak", tr("Memory: go to the peak")},
        {"memory.timeline", tr("Memory: show the instant on the timeline")}};
    for (QAction* action : actions()) {
        for (const auto& [name, text] : names) {
            if (action->objectName() == QLatin1String(name)) action->setText(text);
        }
    }
}

void MemoryView::fit()
{
    if (selection()->measured()) return selection()->setRange(*selection()->measured());
    const auto number = selection()->step();
    if (const StepSpan* step = number ? stepNumbered(*facts()->steps, *number) : nullptr)
        return selection()->setRange(step->range);
    fitAll();
}

void MemoryView::setShowsBlocks(bool blocks)
{
    if (facts() && facts()->counted) return; // there are none
    m_areas->setChecked(!blocks);
    m_blocksButton->setChecked(blocks);
    m_wall->setVisible(!blocks);
    m_address->setVisible(blocks);
    m_plots->setCurrentWidget(blocks ? static_cast<QWidget*>(m_blocks) : m_area);
    showLegend();
    onShownRange();
}

void MemoryView::fillPickers()
{
    if (!facts()) return;
    const QSignalBlocker quietRank(m_rankPicker), quietStep(m_stepPicker);
    m_rankPicker->clear();
    for (const RankInfo& rank : session()->info().header.ranks) {
        m_rankPicker->addItem(tr("rank %1").arg(rank.rank.value), rank.rank.value);
    }
    m_rankPicker->setCurrentIndex(m_rankPicker->findData(selection()->rank().value));
    // One rank is no choice.
    m_rankPicker->setVisible(m_rankPicker->count() > 1);
    m_card->title().setText(m_rankPicker->count() > 1 ? tr("Memory")
                                                      : tr("Memory · rank %1").arg(facts()->rank.rank.value));

    m_stepPicker->setSteps(facts()->steps, session()->info().closing.stepsBy);
    m_stepPicker->showStep(selection()->step());
    m_stepPicker->setVisible(!facts()->steps->empty());
}

} // namespace fourwalls::views
