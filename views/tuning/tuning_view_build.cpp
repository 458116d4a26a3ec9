// SPDX-License-Identifier: GPL-3.0-or-later
// The tuning view's widgets, actions and texts.
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/wrap_row.h"
#include "views/tuning/goodput_plot.h"
#include "views/tuning/job_time_bars.h"
#include "views/tuning/plan_lines.h"
#include "views/tuning/plan_scatter.h"
#include "views/tuning/plan_table.h"
#include "views/tuning/tuning_view.h"
#include "views/whatif/plan_searcher.h"
#include "views/whatif/what_if.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

/// Room for the name of a plan in two lines [pixels].
constexpr int kPlanNames = 220;

/// Rows of plans stand apart: a name in two lines is not taken for two names.
class PlanDelegate : public ShareDelegate {
public:
    using ShareDelegate::ShareDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        return ShareDelegate::sizeHint(option, index) + QSize(0, 8);
    }
};

QLabel* smallLabel(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setFont(fontOf(TextRole::Small));
    return label;
}

} // namespace

void TuningView::build()
{
    m_content = new QWidget(this);
    QVBoxLayout* grid = fillWith(m_content);
    auto* rows = new QSplitter(Qt::Vertical, m_content);
    rows->setHandleWidth(kGap);
    rows->setChildrenCollapsible(false);
    grid->addWidget(rows);
    auto* top = new QSplitter(Qt::Horizontal, rows);
    auto* bottom = new QSplitter(Qt::Horizontal, rows);
    for (QSplitter* row : {top, bottom}) {
        row->setHandleWidth(kGap);
        row->setChildrenCollapsible(false);
    }

    buildPlans(top);
    buildTable(top);
    m_linesCard = new PlotCard(bottom);
    m_clear = new QPushButton(m_linesCard);
    m_clear->setFont(fontOf(TextRole::Small));
    m_clear->hide();
    m_linesCard->addControl(m_clear);
    m_lines = new PlanLines(m_linesCard);
    m_linesCard->addContent(m_lines, 1);
    buildGoodput(bottom);
    top->setSizes({900, 560});
    bottom->setSizes({900, 560});
    rows->setSizes({560, 380});
    rows->setStretchFactor(0, 3);
    rows->setStretchFactor(1, 2);
    connectPlans();
}

void TuningView::buildPlans(QWidget* parent)
{
    m_planCard = new PlotCard(parent);
    auto* controls = new QWidget(m_planCard);
    auto* row = new WrapRow(controls);
    m_devicesName = smallLabel(controls);
    m_devices = new QSpinBox(controls);
    m_devices->setRange(1, 100'000);
    m_devices->setButtonSymbols(QAbstractSpinBox::NoButtons);
    m_devices->setFont(fontOf(TextRole::Small));
    m_devices->setFixedWidth(64);
    m_devicesName->setBuddy(m_devices);
    m_objective = new QComboBox(controls);
    m_objective->setFont(fontOf(TextRole::Small));
    m_objective->setSizeAdjustPolicy(QComboBox::AdjustToContents); // another language has longer words
    m_start = new QPushButton(controls);
    m_start->setFont(fontOf(TextRole::Small));
    m_state = smallLabel(controls);
    m_legend = new PlotLegend(m_planCard);
    auto* devices = new QHBoxLayout;
    devices->addWidget(m_devicesName);
    devices->addWidget(m_devices);
    row->addLayout(devices);
    row->addWidget(m_objective);
    row->addWidget(m_start);
    row->addWidget(m_state);
    m_planCard->addContent(controls);
    m_planCard->addContent(m_legend);
    m_scatter = new PlanScatter(m_planCard);
    m_planCard->addContent(m_scatter, 1);
}

void TuningView::buildTable(QWidget* parent)
{
    m_tableCard = new PlotCard(parent);
    m_table = new QTableView(m_tableCard);
    m_table->setModel(m_model);
    prepareTable(*m_table);
    m_table->setSortingEnabled(false); // best first: that is what the search is for
    // A plan has a long name: it takes two lines rather than being cut.
    m_table->setWordWrap(true);
    m_table->setItemDelegate(new PlanDelegate(m_table));
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_columns = new ColumnFit(m_table, {{kPlanNames, true}, {}, {}, {0, false, 1}, {0, false, 2}});
    m_tableCard->addContent(m_table, 1);
    m_why = new ElidedText(ElidedText::Tone::Quiet, Qt::AlignLeft, m_tableCard);
    m_why->setMostLines(2);
    m_tableCard->addContent(m_why);
    m_robust = new ElidedText(ElidedText::Tone::Quiet, Qt::AlignLeft, m_tableCard);
    m_robust->setMostLines(2);
    m_robust->hide();
    m_tableCard->addContent(m_robust);
}

void TuningView::connectPlans()
{
    connect(m_devices, &QSpinBox::valueChanged, this, [this] {
        m_devicesTouched = true;
        showGoodput();
    });
    connect(m_devices, &QSpinBox::editingFinished, this, [this] {
        if (m_devicesTouched && m_searched && !isSearching() && m_devices->hasFocus()) search(0);
    });
    connect(m_objective, &QComboBox::activated, this, [this] { search(0); });
    connect(m_start, &QPushButton::clicked, this, [this] {
        if (isSearching())
            m_searcher->stop();
        else
            search(0);
    });
    connect(m_clear, &QPushButton::clicked, this, [this] { m_lines->setBrushes({}); });
    connect(m_lines, &PlanLines::brushesChanged, this, [this] {
        m_scatter->setBrushes(m_lines->brushes());
        fillTable();
        showState();
    });
    connect(m_scatter, &PlanScatter::planClicked, this, &TuningView::choosePoint);
    connect(m_scatter, &PlanScatter::painted, this, [this] {
        m_painted = true;
        reportFrame(selection() ? selection()->range() : TimeRange{}, FrameQuality::Full);
    });
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        const PlanRow& chosen = m_model->row(index.row());
        m_scatter->setSelected(chosen.point);
        m_lines->setSelected(chosen.point);
    });
    connect(m_table, &QTableView::activated, this,
            [this](const QModelIndex& index) { takePlan(m_model->row(index.row()).plan); });
    connect(m_table, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { takePlan(m_model->row(index.row()).plan); });
}

void TuningView::buildActions()
{
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, run);
        addAction(action);
    };
    add("tuning.search", {Qt::Key_R}, [this] { m_start->click(); });
    add("tuning.clear", {Qt::Key_F, Qt::Key_Home}, [this] { fitAll(); });
    add("tuning.take", {Qt::Key_T}, [this] {
        const QModelIndex index = m_table->currentIndex();
        if (m_model->rowCount() > 0) takePlan(m_model->row(index.isValid() ? index.row() : 0).plan);
    });
}

void TuningView::retranslate()
{
    m_planCard->title().setText(tr("Plans"));
    m_tableCard->title().setText(tr("Best plans"));
    m_tableCard->finding().setText(tr("double click: into the sliders"));
    m_linesCard->title().setText(tr("What plans are made of"));
    m_linesCard->finding().setText(tr("drag on an axis to keep only some"));
    m_goodputCard->title().setText(tr("Goodput"));
    m_devicesName->setText(tr("Devices"));
    m_devices->setAccessibleName(tr("Devices"));
    m_objective->setAccessibleName(tr("What is best"));
    m_objective->setToolTip(
        tr("Shortest step, smallest peak, or fewest device-seconds or least energy (which may leave devices idle)"));
    m_clear->setText(tr("Clear"));
    m_mtbfName->setText(tr("A device fails every"));
    m_checkpointName->setText(tr("checkpoint"));
    m_restartName->setText(tr("restart"));
    m_mtbf->setAccessibleName(m_mtbfName->text());
    m_mtbf->setToolTip(
        tr("Mean time between failures of one device; the job fails with any of them: M = MTBF / devices"));
    m_checkpoint->setAccessibleName(m_checkpointName->text());
    m_checkpoint->setToolTip(tr("Time to write a checkpoint d; best interval by Daly: sqrt(2dM) with corrections"));
    m_restart->setAccessibleName(m_restartName->text());
    m_restart->setToolTip(tr("From a failure until training goes on: detection, new nodes, loading"));
    m_scatter->setAccessibleName(tr("Step time against peak memory of every plan"));
    m_lines->setAccessibleName(tr("Degrees, time and memory of every plan as lines"));
    m_table->setAccessibleName(tr("Best plans"));
    const QSignalBlocker quiet(m_objective);
    const int before = std::max(0, m_objective->currentIndex());
    m_objective->clear();
    m_objective->addItem(tr("shortest step"), static_cast<int>(cost::SearchObjective::Time));
    m_objective->addItem(tr("smallest peak"), static_cast<int>(cost::SearchObjective::Memory));
    m_objective->addItem(tr("fewest device-seconds"), static_cast<int>(cost::SearchObjective::Cost));
    m_objective->addItem(tr("least energy"), static_cast<int>(cost::SearchObjective::Energy));
    m_objective->setCurrentIndex(before);
    const std::pair<const char*, QString> names[] = {{"tuning.search", tr("Tuning: search or stop")},
                                                     {"tuning.clear", tr("Tuning: show all plans")},
                                                     {"tuning.take", tr("Tuning: the chosen plan into the sliders")}};
    for (QAction* action : actions())
        for (const auto& [name, text] : names)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
    showState();
    showGoodput();
    themeChanged();
}

} // namespace fourwalls::views
