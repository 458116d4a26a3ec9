// SPDX-License-Identifier: GPL-3.0-or-later
// What the What-if dock does; what_if_panel_build.cpp has its widgets.
#include "views/whatif/what_if_panel.h"

#include "model/present/plan_knobs.h"
#include "model/spec/framework_preset.h"
#include "model/spec/names.h"
#include "model/trace/spec_guess.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/session/trace_session.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/documents_box.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/prediction_card.h"
#include "views/whatif/replay_card.h"
#include "views/whatif/what_if.h"
#include "views/words/plan_words.h"
#include "views/words/words.h"

#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QToolButton>
#include <QUndoStack>

#include <algorithm>
#include <bit>

namespace fourwalls::views {

namespace {

/// The entry of the box of machines that asks for a file.
const QString kFromFile = QStringLiteral("file");

/// Shows a name in a box of presets; one that is no preset stands first.
void showName(QComboBox& box, const std::string& name)
{
    const QSignalBlocker quiet(box);
    const QString text = QString::fromStdString(name);
    int index = box.findText(text);
    if (index < 0 && !text.isEmpty()) {
        box.insertItem(0, text);
        box.setItemData(0, true);
        index = 0;
    }
    box.setCurrentIndex(index);
}

} // namespace

WhatIfPanel::WhatIfPanel(QWidget* parent) : QWidget(parent)
{
    build();
    retranslate();
    refresh();
}

WhatIfPanel::~WhatIfPanel() = default;

WhatIf* WhatIfPanel::whatIf() const
{
    return m_whatIf;
}

void WhatIfPanel::setDocument(TraceSession* session, WhatIf* whatIf)
{
    if (m_session == session && m_whatIf == whatIf) return;
    if (m_session) {
        m_session->cancel(this, "measured");
        m_session->disconnect(this);
    }
    if (m_whatIf) {
        this->whatIf()->endGesture();
        this->whatIf()->history()->disconnect(this);
        m_whatIf->disconnect(this);
    }
    m_session = session;
    m_whatIf = whatIf;
    m_gestureBase.reset();
    m_card->setWhatIf(whatIf);
    m_replay->setWhatIf(whatIf);
    if (whatIf) {
        connect(whatIf, &WhatIf::specChanged, this, &WhatIfPanel::refresh);
        connect(whatIf, &WhatIf::recordedChanged, this, &WhatIfPanel::refresh);
        connect(whatIf, &WhatIf::recordedChanged, this, &WhatIfPanel::askMeasured);
        connect(whatIf, &WhatIf::machinesChanged, this, &WhatIfPanel::fillMachines);
        connect(whatIf->history(), &QUndoStack::canUndoChanged, m_undo, &QWidget::setEnabled);
        connect(whatIf->history(), &QUndoStack::canRedoChanged, m_redo, &QWidget::setEnabled);
    }
    fillMachines();
    suggestMachines();
    askMeasured();
    refresh();
}

void WhatIfPanel::suggestMachines()
{
    // A trace without a specification may still name its devices: the machines to start from have those.
    if (!whatIf() || whatIf()->spec() || !m_session || !m_session->isOpen()) return;
    const std::vector<RankInfo>& ranks = m_session->info().header.ranks;
    bool isExact = false;
    const auto cluster = ranks.empty() ? std::nullopt : clusterWithDevice(ranks.front().device, isExact);
    const int index = cluster ? m_cluster->findText(QString::fromStdString(cluster->name)) : -1;
    if (index >= 0) m_cluster->setCurrentIndex(index);
}

void WhatIfPanel::askMeasured()
{
    if (!m_session || !m_session->isOpen()) return;
    const TraceSource source = m_session->info().header.source;
    m_card->setMeasured(nullptr, source);
    m_session->ask<TraceMetrics>(
        this, "measured", [](TraceQuery& trace, std::stop_token) { return computeMetrics(trace); },
        [this, asked = m_session, source](const Answer<TraceMetrics>& answer) {
            if (m_session == asked) m_card->setMeasured(answer.value, source);
        });
}

void WhatIfPanel::setByteUnit(ByteUnit unit)
{
    m_card->setByteUnit(unit);
    m_replay->setByteUnit(unit);
}

void WhatIfPanel::setLocks(const KnobLocks& locks)
{
    m_locks = locks;
    for (std::size_t i = 0; i < kKnobCount; ++i) m_rows[i]->setLocked(locks.holds(static_cast<Knob>(i)));
    refreshStops();
}

QString WhatIfPanel::textOf(Knob knob, double value) const
{
    if (knob == Knob::NodeLink) return formatRate(value, QStringLiteral("B/s"), 3);
    if (knob == Knob::Network) return formatRate(value * 8, QStringLiteral("b/s"), 3);
    return formatCount(static_cast<qint64>(value));
}

void WhatIfPanel::refresh()
{
    const bool hasSpec = whatIf() && whatIf()->spec();
    m_sliders->setVisible(hasSpec);
    m_card->setVisible(hasSpec);
    m_record->setVisible(hasSpec);
    m_copy->setVisible(hasSpec);
    m_start->setVisible(whatIf() && !hasSpec && m_session && m_session->isOpen());
    m_scroll->setVisible(whatIf() != nullptr);
    m_undo->setEnabled(hasSpec && whatIf()->history()->canUndo());
    m_redo->setEnabled(hasSpec && whatIf()->history()->canRedo());
    m_reset->setEnabled(hasSpec && whatIf()->recorded() && !whatIf()->isAsRecorded());
    QString none;
    if (!whatIf())
        none = tr("Open or record a trace: its plan is where the sliders start.");
    else if (!hasSpec && m_session && m_session->isOpen())
        none = whyNothingIsPredicted(whatIf()) + QLatin1Char(' ') + tr("Choose a network and machines to start from.");
    m_none->setText(none);
    m_none->setVisible(!none.isEmpty());
    refreshGuesses();
    refreshChoices();
    if (!hasSpec || !isSameSpec(whatIf()->spec(), m_alongFor)) m_along->setText({});
    m_along->setVisible(hasSpec && !m_along->text().isEmpty());
    if (!hasSpec) return;
    for (std::size_t i = 0; i < kKnobCount; ++i) m_rows[i]->showValue(valueOf(*whatIf()->spec(), static_cast<Knob>(i)));
    if (!m_gestureBase) refreshStops();
}

void WhatIfPanel::refreshStops()
{
    if (!whatIf() || !whatIf()->spec() || m_gestureBase) return;
    const RunSpec& spec = *whatIf()->spec();
    const RunSpec* recorded = whatIf()->recorded() ? &*whatIf()->recorded() : nullptr;
    const bool isTransformer = spec.model.transformer() != nullptr;
    const bool hasExperts =
        isTransformer ? spec.model.transformer()->hasExperts() : spec.model.recommendation() != nullptr;
    const int devices = spec.plan.worldSize();
    for (std::size_t i = 0; i < kKnobCount; ++i) {
        const Knob knob = static_cast<Knob>(i);
        KnobRow& each = *m_rows[i];
        bool shown = true;
        if (knob == Knob::Tensor || knob == Knob::Context || knob == Knob::Sequence) shown = isTransformer;
        if (knob == Knob::Expert) shown = hasExperts;
        if (knob == Knob::Chunks) shown = spec.plan.pp > 1;
        if (knob == Knob::NodeLink) shown = devices > 1 && spec.cluster.devicesPerNode > 1;
        if (knob == Knob::Network) shown = devices > spec.cluster.devicesPerNode && spec.cluster.nicsPerNode > 0;
        each.setVisible(shown);
        if (!shown) continue;
        const std::vector<double> stops = feasibleValues(spec, knob, m_locks, recorded);
        each.setStops(stops);
        each.showValue(valueOf(spec, knob));
        each.setRecorded(recorded ? std::optional(valueOf(*recorded, knob)) : std::nullopt);
        each.setBlocked(stops.size() > 1
                            ? QString()
                            : tr("Nothing else fits: the other values are kept or the network does not divide."));
    }
}

void WhatIfPanel::showModules(const RunSpec& spec)
{
    const QSignalBlocker quiet(*m_recompute);
    while (m_recompute->count() > static_cast<int>(kRecomputeWords.size()))
        m_recompute->removeItem(m_recompute->count() - 1);
    for (const RecomputeModule module : nameableModules(spec)) {
        if (m_recompute->count() == static_cast<int>(kRecomputeWords.size()))
            m_recompute->insertSeparator(m_recompute->count());
        const std::string_view word = wordOf(kRecomputeModuleWords, module);
        const QString text = QString::fromLatin1(word.data(), static_cast<qsizetype>(word.size()));
        const bool isNamed = (spec.plan.recomputeModules & module) != 0;
        m_recompute->addItem(isNamed ? QStringLiteral("\u2713 ") + text : text,
                             kFirstModule * static_cast<int>(module));
    }
}

void WhatIfPanel::refreshChoices()
{
    const bool hasSpec = whatIf() && whatIf()->spec();
    const bool isNothingKnown = whatIf() && !hasSpec;
    // Nothing is chosen for a trace that does not say what it is of.
    for (QComboBox* box : {m_model, m_cluster}) box->setPlaceholderText(isNothingKnown ? tr("choose…") : QString());
    if (isNothingKnown && m_wasKnown) m_model->setCurrentIndex(-1);
    m_wasKnown = !isNothingKnown;
    refreshStart();
    for (QWidget* box : {static_cast<QWidget*>(m_framework), static_cast<QWidget*>(m_frameworkName)})
        box->setVisible(hasSpec);
    if (!hasSpec) return;
    const RunSpec& spec = *whatIf()->spec();
    showName(*m_model, spec.model.name);
    showName(*m_cluster, spec.cluster.name);
    showName(*m_framework, spec.framework);
    const auto choose = [](QComboBox& box, int value) {
        const QSignalBlocker quiet(box);
        box.setCurrentIndex(box.findData(value));
    };
    showModules(spec);
    m_documents->showPlan(spec);
    // What differs by stage or by module is none of the choices.
    const bool isOne = spec.plan.stageRecompute.empty() && spec.plan.recomputeModules == 0;
    choose(*m_recompute, isOne ? static_cast<int>(spec.plan.recompute) : -1);
    const int modules = std::popcount(spec.plan.recomputeModules);
    m_recompute->setPlaceholderText(isOne          ? QString()
                                    : modules == 0 ? tr("by stage")
                                    : modules == 1 ? recomputeWords(spec.plan)
                                                   : tr("%n modules", "", modules));
    choose(*m_schedule, static_cast<int>(spec.plan.schedule));
    choose(*m_precision, static_cast<int>(spec.training.precision));
    m_schedule->setEnabled(spec.plan.pp > 1);
    for (const Switch& each : m_switches) each.button->setChecked(spec.plan.*each.member);
    const bool isTransformer = spec.model.transformer() != nullptr;
    m_recompute->setEnabled(isTransformer);
    m_documents->setEnabled(isTransformer);
    for (const Switch& each : m_switches) {
        if (each.member == &ParallelPlan::sequenceParallel) each.button->setEnabled(isTransformer && spec.plan.tp > 1);
        if (each.member == &ParallelPlan::fusedAttention) each.button->setEnabled(isTransformer);
    }
}

void WhatIfPanel::refreshStart()
{
    m_start->setEnabled(m_model->currentIndex() >= 0 && m_cluster->currentIndex() >= 0);
}

void WhatIfPanel::refreshGuesses()
{
    QStringList lines;
    if (whatIf()) {
        for (const InferredField& field : whatIf()->assumed())
            lines << tr("%1: %2").arg(inferredText(field), QString::fromStdString(field.why));
    }
    m_guesses->setVisible(!lines.isEmpty());
    QString text = tr("%n value(s) are not in the trace itself", nullptr, static_cast<int>(lines.size()));
    constexpr qsizetype kMostNamed = 6;
    QStringList names;
    if (whatIf()) {
        for (const InferredField& field : whatIf()->assumed())
            if (names.size() < kMostNamed) names << fieldWords(field.field);
    }
    if (!names.isEmpty()) text += QStringLiteral(": ") + names.join(QStringLiteral(", "));
    if (lines.size() > kMostNamed) text += QStringLiteral(", …");
    m_guesses->setText(text);
    m_guesses->setToolTip(lines.join(QLatin1Char('\n')));
    m_guesses->setAccessibleDescription(lines.join(QStringLiteral("; ")));
}

void WhatIfPanel::onGesture(Knob knob)
{
    if (!whatIf() || !whatIf()->spec()) return;
    m_gestureBase = whatIf()->spec();
    whatIf()->beginGesture(knobName(knob));
}

void WhatIfPanel::onValue(Knob knob, double value)
{
    if (!whatIf() || !whatIf()->spec()) return;
    // From where the hand took the slider: going back brings everything back.
    const RunSpec& base = m_gestureBase ? *m_gestureBase : *whatIf()->spec();
    if (const auto spec = withValue(base, knob, value, m_locks)) {
        const RunSpec from = base; // the gesture may end with the change
        whatIf()->change(*spec, knobName(knob));
        showMovedAlong(from, knob);
    } else
        row(knob).showValue(valueOf(*whatIf()->spec(), knob));
}

void WhatIfPanel::onTyped(Knob knob, double value)
{
    if (!whatIf() || !whatIf()->spec()) return;
    constexpr double kMostPasses = 16'384, kMostOfAnything = 16'777'216;
    const bool isLink = knob == Knob::NodeLink || knob == Knob::Network;
    if (!isLink) value = std::clamp(std::round(value), 0.0, knob == Knob::Microbatches ? kMostPasses : kMostOfAnything);
    auto spec = withValue(*whatIf()->spec(), knob, value, m_locks);
    const std::vector<double>& stops = row(knob).slider().stops();
    if (!spec) spec = withValue(*whatIf()->spec(), knob, stops[nearestIndex(stops, value)], m_locks);
    const RunSpec from = *whatIf()->spec();
    change(spec.value_or(from), knobName(knob));
    showMovedAlong(from, knob);
}

void WhatIfPanel::showMovedAlong(const RunSpec& from, Knob moved)
{
    if (!whatIf() || !whatIf()->spec()) return;
    const RunSpec& now = *whatIf()->spec();
    m_alongFor = now;
    QStringList parts;
    for (const Knob knob : movedAlong(from, now, moved))
        parts << tr("%1 %2 → %3")
                     .arg(knobName(knob), textOf(knob, valueOf(from, knob)), textOf(knob, valueOf(now, knob)));
    m_along->setText(parts.isEmpty() ? QString() : tr("Moved along: %1").arg(parts.join(QStringLiteral(", "))));
    m_along->setVisible(!parts.isEmpty());
}

void WhatIfPanel::change(RunSpec spec, const QString& text)
{
    if (whatIf()) whatIf()->change(spec, text);
    refresh(); // where nothing changed, the widgets go back
}

void WhatIfPanel::changePlan(const ParallelPlan& plan, const QString& text)
{
    RunSpec spec = *whatIf()->spec();
    spec.plan = plan;
    const KnobLocks none;
    auto fitting = adapted(spec, m_locks);
    if (!fitting) fitting = adapted(spec, none);
    // A switch that fits nothing is still shown: the card says why it is impossible.
    change(fitting.value_or(spec), text);
}

void WhatIfPanel::chooseModel(int index)
{
    refreshStart();
    if (!whatIf() || !whatIf()->spec()) return;
    const std::string name = m_model->itemText(index).toStdString();
    if (whatIf()->recorded() && whatIf()->recorded()->model.name == name)
        return change(withModel(*whatIf()->spec(), whatIf()->recorded()->model), m_modelName->text());
    if (const auto model = loadModel(name)) change(withModel(*whatIf()->spec(), *model), m_modelName->text());
}

void WhatIfPanel::chooseCluster(int index)
{
    if (m_cluster->itemData(index).toString() == kFromFile) {
        // The box shows what holds until there is a file.
        m_cluster->setCurrentIndex(-1);
        suggestMachines();
        refreshChoices();
        if (whatIf()) emit machinesRequested();
        return;
    }
    refreshStart();
    if (!whatIf() || !whatIf()->spec()) return;
    const std::string name = m_cluster->itemText(index).toStdString();
    if (const ClusterSpec* machine = whatIf()->machine(name))
        return change(withCluster(*whatIf()->spec(), *machine), m_clusterName->text());
    if (whatIf()->recorded() && whatIf()->recorded()->cluster.name == name)
        return change(withCluster(*whatIf()->spec(), whatIf()->recorded()->cluster), m_clusterName->text());
    if (const auto cluster = loadCluster(name)) change(withCluster(*whatIf()->spec(), *cluster), m_clusterName->text());
}

void WhatIfPanel::chooseMachines(const QString& name)
{
    if (!whatIf()) return;
    const ClusterSpec* machine = whatIf()->machine(name.toStdString());
    if (!machine) return;
    if (whatIf()->spec())
        change(withCluster(*whatIf()->spec(), *machine), m_clusterName->text());
    else
        m_cluster->setCurrentIndex(m_cluster->findText(name)); // to start from
}

void WhatIfPanel::fillMachines()
{
    const QSignalBlocker quiet(m_cluster);
    const QString before = m_cluster->currentText();
    m_cluster->clear();
    if (whatIf()) {
        for (const WhatIf::Machine& each : whatIf()->machines())
            m_cluster->addItem(QString::fromStdString(each.cluster.name));
    }
    for (const std::string& name : clusterPresetNames()) m_cluster->addItem(QString::fromStdString(name));
    m_cluster->addItem(tr("From a file…"), kFromFile);
    m_cluster->setCurrentIndex(before.isEmpty() ? -1 : m_cluster->findText(before));
    refreshChoices();
}

void WhatIfPanel::chooseSchedule(int index)
{
    if (!whatIf() || !whatIf()->spec()) return;
    ParallelPlan plan = whatIf()->spec()->plan;
    plan.schedule = static_cast<PipelineSchedule>(m_schedule->itemData(index).toInt());
    changePlan(plan, m_scheduleName->text());
}

void WhatIfPanel::choosePrecision(int index)
{
    if (!whatIf() || !whatIf()->spec()) return;
    RunSpec spec = *whatIf()->spec();
    spec.training.precision = static_cast<Precision>(m_precision->itemData(index).toInt());
    change(spec, m_precisionName->text());
}

void WhatIfPanel::startFromPresets()
{
    if (!whatIf() || !m_session) return;
    const auto model = loadModel(m_model->currentText().toStdString());
    const std::string machines = m_cluster->currentText().toStdString();
    auto cluster = loadCluster(machines);
    if (const ClusterSpec* machine = whatIf()->machine(machines)) cluster = *machine;
    if (!model || !cluster) return;
    RunSpec spec;
    spec.model = *model;
    spec.plan.dp = std::max(1, static_cast<int>(m_session->info().header.ranks.size()));
    spec.training.batch = spec.plan.dp;
    spec = withCluster(spec, *cluster);
    spec = withModel(spec, *model);
    const bool isProcessor = cluster->device.family == "cpu";
    spec.framework = isProcessor ? "fourwalls" : "megatron-core";
    const std::string why = "chosen by you";
    whatIf()->setRecorded(spec,
                          {{"network", model->name, Confidence::Low, why},
                           {"machines", cluster->name, Confidence::Low, why},
                           {"plan", formatPlan(spec.plan), Confidence::Low, "one replica per rank of the trace"}});
    whatIf()->change(spec, m_start->text());
}

void WhatIfPanel::resetToRecorded()
{
    if (!whatIf() || !whatIf()->recorded()) return;
    whatIf()->change(*whatIf()->recorded(), tr("as recorded"));
    refresh();
}

void WhatIfPanel::setRecordBlocked(const QString& reason)
{
    m_recordBlocked = reason;
    m_record->setEnabled(reason.isEmpty());
    const QString what =
        tr("Run this plan with the embedded engine on this machine and compare it with the prediction");
    m_record->setToolTip(reason.isEmpty() ? what : what + QLatin1Char('\n') + reason);
}

void WhatIfPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange || event->type() == QEvent::PaletteChange) {
        if (!m_card) return;
        retranslate();
        refresh();
    }
}

void WhatIfPanel::resizeEvent(QResizeEvent* event)
{
    constexpr int kLeastForFigures = 600; // below it the figures would leave no room for the sliders
    QWidget::resizeEvent(event);
    m_card->setCompact(height() < kLeastForFigures);
}

void WhatIfPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().window);
}

} // namespace fourwalls::views
