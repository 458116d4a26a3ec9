// SPDX-License-Identifier: GPL-3.0-or-later
// The widgets and texts of the What-if dock.
#include "model/spec/framework_preset.h"
#include "model/spec/names.h"
#include "views/chrome/icon.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/session/trace_session.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/documents_box.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/prediction_card.h"
#include "views/whatif/replay_card.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#include "views/words/plan_words.h"

#include "views/session/trace_session.h"
#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QToolButton>
#include <QUndoStack>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

QLabel* bodyLabel(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setFont(fontOf(TextRole::Body));
    return label;
}

QToolButton* smallButton(QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setFont(fontOf(TextRole::Small));
    return button;
}

void addLine(QBoxLayout& column, QWidget* parent)
{
    auto* line = new QWidget(parent);
    line->setObjectName(QStringLiteral("separator"));
    line->setFixedHeight(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    column.addWidget(line);
}

} // namespace

void WhatIfPanel::build()
{
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(kGap, 6, 0, kGap);
    outer->setSpacing(8);
    buildHead(*outer);
    m_none = bodyLabel(this);
    m_none->setWordWrap(true);
    m_none->setContentsMargins(0, 0, kGap, 0);
    outer->addWidget(m_none);

    m_scroll = new QScrollArea(this);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setWidgetResizable(true);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->viewport()->setAutoFillBackground(false);
    auto* inside = new QWidget(m_scroll);
    inside->setAutoFillBackground(false);
    auto* column = new QVBoxLayout(inside);
    column->setContentsMargins(0, 0, 8, 0);
    column->setSpacing(5);
    m_replay = new ReplayCard(inside);
    column->addWidget(m_replay);
    connect(m_replay, &ReplayCard::saveRequested, this, &WhatIfPanel::saveReplayRequested);
    buildPresets(*column);
    m_start = new QPushButton(inside);
    m_start->setProperty("primary", true);
    connect(m_start, &QPushButton::clicked, this, &WhatIfPanel::startFromPresets);
    column->addWidget(m_start);
    m_guesses = new QLabel(inside);
    m_guesses->setWordWrap(true);
    m_guesses->setFont(fontOf(TextRole::Small));
    column->addWidget(m_guesses);
    m_sliders = new QWidget(inside);
    auto* sliders = new QVBoxLayout(m_sliders);
    sliders->setContentsMargins(0, 0, 0, 0);
    sliders->setSpacing(5);
    addLine(*sliders, m_sliders);
    buildKnobs(*sliders);
    buildSwitches(*sliders);
    column->addWidget(m_sliders);
    column->addStretch(1);
    m_scroll->setWidget(inside);
    outer->addWidget(m_scroll, 1);

    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(0, 0, kGap, 0);
    foot->setSpacing(8);
    buildFoot(*foot);
    outer->addLayout(foot);
}

void WhatIfPanel::buildHead(QBoxLayout& column)
{
    m_head = new QWidget(this);
    m_head->setAutoFillBackground(true);
    auto* head = new QHBoxLayout(m_head);
    head->setContentsMargins(kGap, 8, kGap, 2);
    head->setSpacing(4);
    m_title = new QLabel(m_head);
    m_title->setFont(fontOf(TextRole::Title));
    head->addWidget(m_title);
    head->addStretch(1);
    for (QToolButton** button : {&m_undo, &m_redo, &m_reset, &m_close}) {
        *button = smallButton(m_head);
        head->addWidget(*button);
    }
    for (QToolButton* button : {m_undo, m_redo, m_close}) {
        button->setObjectName(QStringLiteral("icon"));
        button->setFixedSize(24, 24);
        button->setIconSize({14, 14});
    }
    connect(m_undo, &QToolButton::clicked, this, [this] {
        if (whatIf()) whatIf()->history()->undo();
    });
    connect(m_redo, &QToolButton::clicked, this, [this] {
        if (whatIf()) whatIf()->history()->redo();
    });
    connect(m_reset, &QToolButton::clicked, this, &WhatIfPanel::resetToRecorded);
    connect(m_close, &QToolButton::clicked, this, &WhatIfPanel::closeRequested);
    column.addWidget(m_head);
}

QComboBox* WhatIfPanel::addChoice(QBoxLayout& column, QLabel*& name, QComboBox* choice)
{
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    name = bodyLabel(this);
    name->setFixedWidth(kKnobNameWidth);
    if (!choice) choice = new QComboBox(this);
    choice->setFont(fontOf(TextRole::Small));
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    choice->setMinimumContentsLength(4);
    choice->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    choice->setFocusPolicy(Qt::StrongFocus);
    name->setBuddy(choice);
    row->addWidget(name);
    row->addWidget(choice, 1);
    column.addLayout(row);
    return choice;
}

void WhatIfPanel::buildPresets(QBoxLayout& column)
{
    m_model = addChoice(column, m_modelName);
    m_cluster = addChoice(column, m_clusterName);
    m_framework = addChoice(column, m_frameworkName);
    for (const std::string& name : modelPresetNames()) m_model->addItem(QString::fromStdString(name));
    for (const std::string& name : frameworkPresetNames()) m_framework->addItem(QString::fromStdString(name));
    connect(m_model, &QComboBox::activated, this, &WhatIfPanel::chooseModel);
    connect(m_cluster, &QComboBox::activated, this, &WhatIfPanel::chooseCluster);
    connect(m_framework, &QComboBox::activated, this, [this](int index) {
        if (!whatIf() || !whatIf()->spec()) return;
        RunSpec spec = *whatIf()->spec();
        spec.framework = m_framework->itemText(index).toStdString();
        change(spec, tr("framework"));
    });
}

KnobRow* WhatIfPanel::addKnob(QBoxLayout& column, Knob knob)
{
    auto* row = new KnobRow(canBeLocked(knob) ? KnobRow::Lock::Button : KnobRow::Lock::Place, this);
    row->setObjectName(QStringLiteral("knob%1").arg(static_cast<int>(knob)));
    m_rows[static_cast<std::size_t>(knob)] = row;
    row->setLocked(m_locks.holds(knob));
    row->setFormat([this, knob](double value) { return textOf(knob, value); });
    connect(&row->slider(), &KnobSlider::gestureBegan, this, [this, knob] { onGesture(knob); });
    connect(&row->slider(), &KnobSlider::valueChosen, this, [this, knob](double value) { onValue(knob, value); });
    connect(&row->slider(), &KnobSlider::gestureEnded, this, [this] {
        m_gestureBase.reset();
        if (whatIf()) whatIf()->endGesture();
        refreshStops();
    });
    constexpr double kBitsPerByte = 8, kGiga = 1e9;
    if (knob == Knob::NodeLink) row->setTyping(1, kGiga);
    if (knob == Knob::Network) row->setTyping(kBitsPerByte, kGiga);
    connect(row, &KnobRow::valueTyped, this, [this, knob](double value) { onTyped(knob, value); });
    connect(row, &KnobRow::lockToggled, this, [this, knob](bool locked) {
        m_locks.set(knob, locked);
        refreshStops();
    });
    column.addWidget(row);
    return row;
}

void WhatIfPanel::buildKnobs(QBoxLayout& column)
{
    for (const Knob knob : {Knob::Devices, Knob::Data, Knob::Tensor, Knob::Pipeline, Knob::Context, Knob::Expert})
        addKnob(column, knob);
    addLine(column, m_sliders);
    for (const Knob knob : {Knob::GlobalBatch, Knob::Microbatches, Knob::MicrobatchSize, Knob::Sequence})
        addKnob(column, knob);
    buildDocuments(column);
    addLine(column, m_sliders);
    addKnob(column, Knob::Zero);
}

void WhatIfPanel::buildDocuments(QBoxLayout& column)
{
    m_documents = new DocumentsBox(this);
    addChoice(column, m_documentsName, m_documents);
    connect(m_documents, &DocumentsBox::chosen, this, [this](const std::vector<DocumentLength>& documents) {
        if (!whatIf() || !whatIf()->spec()) return;
        ParallelPlan plan = whatIf()->spec()->plan;
        plan.documents = documents;
        changePlan(plan, m_documentsName->text());
    });
    connect(m_documents, &DocumentsBox::refused, this, [this](const QString& reason) {
        m_along->setText(reason);
        m_along->setVisible(true);
    });
}

QToolButton* WhatIfPanel::addSwitch(QBoxLayout& row, bool ParallelPlan::*member)
{
    QToolButton* button = smallButton(this);
    button->setObjectName(QStringLiteral("chip"));
    button->setCheckable(true);
    row.addWidget(button);
    m_switches.push_back({button, member});
    connect(button, &QToolButton::clicked, this, [this, button, member](bool on) {
        if (!whatIf() || !whatIf()->spec()) return;
        ParallelPlan plan = whatIf()->spec()->plan;
        plan.*member = on;
        changePlan(plan, button->text());
    });
    return button;
}

void WhatIfPanel::buildSwitches(QBoxLayout& column)
{
    m_recompute = addChoice(column, m_recomputeName);
    connect(m_recompute, &QComboBox::activated, this, [this](int index) {
        if (!whatIf() || !whatIf()->spec()) return;
        ParallelPlan plan = whatIf()->spec()->plan;
        const int choice = m_recompute->itemData(index).toInt();
        if (choice < kFirstModule) {
            plan.setRecompute(static_cast<Recompute>(choice));
        } else { // one more module, or one less
            const unsigned modules = plan.recomputeModules ^ static_cast<unsigned>(choice / kFirstModule);
            plan.setRecompute(modules != 0 ? Recompute::Selective : Recompute::None);
            plan.recomputeModules = modules;
        }
        changePlan(plan, m_recomputeName->text());
    });
    // Three words in a row of their own: beside the label they would be wider than the dock of a small window.
    m_offloadName = bodyLabel(this);
    column.addWidget(m_offloadName);
    auto* offload = new QHBoxLayout;
    offload->setSpacing(4);
    addSwitch(*offload, &ParallelPlan::offloadOptimizer);
    addSwitch(*offload, &ParallelPlan::offloadActivations);
    addSwitch(*offload, &ParallelPlan::offloadParameters);
    offload->addStretch(1);
    column.addLayout(offload);
    addLine(column, m_sliders);
    m_schedule = addChoice(column, m_scheduleName);
    connect(m_schedule, &QComboBox::activated, this, &WhatIfPanel::chooseSchedule);
    addKnob(column, Knob::Chunks);
    m_precision = addChoice(column, m_precisionName);
    connect(m_precision, &QComboBox::activated, this, &WhatIfPanel::choosePrecision);
    auto* switches = new QHBoxLayout;
    switches->setSpacing(4);
    addSwitch(*switches, &ParallelPlan::overlap);
    addSwitch(*switches, &ParallelPlan::fuse);
    switches->addStretch(1);
    column.addLayout(switches);
    auto* more = new QHBoxLayout;
    more->setSpacing(4);
    addSwitch(*more, &ParallelPlan::fusedAttention);
    addSwitch(*more, &ParallelPlan::sequenceParallel);
    more->addStretch(1);
    column.addLayout(more);
    addLine(column, m_sliders);
    addKnob(column, Knob::NodeLink);
    addKnob(column, Knob::Network);
}

void WhatIfPanel::buildFoot(QBoxLayout& column)
{
    m_along = new ElidedText(ElidedText::Tone::Quiet, Qt::AlignLeft, this);
    column.addWidget(m_along);
    m_card = new PredictionCard(this);
    column.addWidget(m_card);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    m_record = new QPushButton(this);
    m_record->setProperty("primary", true);
    m_copy = new QPushButton(this);
    m_copy->setObjectName(QStringLiteral("menu"));
    auto* menu = new QMenu(m_copy);
    for (const char* name : {"predict", "record"}) menu->addAction(QString())->setObjectName(QLatin1String(name));
    connect(menu->actions()[0], &QAction::triggered, this, &WhatIfPanel::copyPredictRequested);
    connect(menu->actions()[1], &QAction::triggered, this, &WhatIfPanel::copyRecordRequested);
    m_copy->setMenu(menu);
    connect(m_record, &QPushButton::clicked, this, &WhatIfPanel::recordRequested);
    buttons->addWidget(m_record);
    buttons->addWidget(m_copy);
    buttons->addStretch(1);
    column.addLayout(buttons);
}

QString WhatIfPanel::knobName(Knob knob) const
{
    switch (knob) {
    case Knob::Devices: return tr("Devices");
    case Knob::Data: return tr("Data parallel");
    case Knob::Tensor: return tr("Tensor parallel");
    case Knob::Pipeline: return tr("Pipeline stages");
    case Knob::Context: return tr("Context parallel");
    case Knob::Expert: return tr("Expert parallel");
    case Knob::GlobalBatch: return tr("Global batch");
    case Knob::Microbatches: return tr("Micro-batches");
    case Knob::MicrobatchSize: return tr("Micro-batch size");
    case Knob::Sequence: return tr("Sequence");
    case Knob::Zero: return tr("ZeRO stage");
    case Knob::Chunks: return tr("Chunks per stage");
    case Knob::NodeLink: return tr("Link in the node");
    case Knob::Network: return tr("Network adapter");
    }
    return {};
}

void WhatIfPanel::retranslateKnobs()
{
    const std::pair<Knob, QString> explanations[] = {
        {Knob::Devices,
         tr("Devices = data x tensor x pipeline x context parallel. Expert parallelism lies inside data x context.")},
        {Knob::Data, tr("Replicas that see different samples. Gradients are reduced once per step: a ring sends "
                        "2(n-1)/n of them per rank.")},
        {Knob::Tensor, tr("Ranks that share every layer's matrices. Activations are reduced twice per layer and pass: "
                          "keep it inside a node.")},
        {Knob::Pipeline, tr("Stages that share out the layers. The bubble of p stages and m micro-batches is "
                            "(p-1)/(m+p-1) of the pipeline's window for 1F1B.")},
        {Knob::Context, tr("Ranks that share out each sequence; keys and values go round.")},
        {Knob::Expert, tr("Ranks that share out the experts; tokens travel by all-to-all.")},
        {Knob::GlobalBatch, tr("Samples per step over all ranks = data parallel x micro-batches x micro-batch size.")},
        {Knob::Microbatches, tr("Passes per step and replica, whose gradients are accumulated: more of them, smaller "
                                "bubble.")},
        {Knob::MicrobatchSize, tr("Samples in one pass: larger ones use the device better and keep more activations.")},
        {Knob::Sequence, tr("Tokens per sample. Attention's work grows with its square.")},
        {Knob::Zero, tr("What data-parallel ranks share out instead of each holding it: 1 optimizer states, 2 also "
                        "gradients, 3 also weights, which are gathered layer by layer.")},
        {Knob::Chunks, tr("Virtual stages per rank (interleaved): the bubble shrinks to (p-1)/(vm+p-1), messages are v "
                          "times as many.")},
        {Knob::NodeLink, tr("Rate of one device towards the others of its node, one direction.")},
        {Knob::Network, tr("Rate of one network adapter, one direction.")},
    };
    for (const auto& [knob, text] : explanations) row(knob).setName(knobName(knob), text);
}

void WhatIfPanel::retranslateSwitches()
{
    const std::pair<QString, QString> texts[] = {
        {tr("optimizer"), tr("Keep the optimizer's states in the host's memory and update there.")},
        {tr("activations"), tr("Copy activations to the host after forward and back before backward.")},
        {tr("parameters"), tr("Keep weights in the host's memory and fetch each layer's before its pass.")},
        {tr("Overlap"), tr("Communicate beside computation where the framework can.")},
        {tr("Fusion"), tr("Several small operators in one kernel: less memory traffic, fewer launches.")},
        {tr("Fused attention"), tr("Scores, softmax and values in one kernel, without the scores in memory.")},
        {tr("Seq. parallel"), tr("Sequence parallelism: tensor-parallel ranks also share out norms and dropouts along "
                                 "the sequence, which saves activations.")},
    };
    for (std::size_t i = 0; i < m_switches.size(); ++i) {
        m_switches[i].button->setText(texts[i].first);
        m_switches[i].button->setAccessibleName(texts[i].first);
        m_switches[i].button->setToolTip(texts[i].second);
    }
    const auto refill = [](QComboBox& box, const auto& table) {
        const QSignalBlocker quiet(box);
        const int before = box.currentIndex();
        box.clear();
        for (const auto& [value, word] : table) box.addItem(words(value), static_cast<int>(value));
        box.setCurrentIndex(before);
    };
    refill(*m_recompute, kRecomputeWords);
    if (whatIf() && whatIf()->spec()) showModules(*whatIf()->spec());
    refill(*m_schedule, kScheduleWords);
    refill(*m_precision, kPrecisionWords);
}

void WhatIfPanel::retranslate()
{
    m_title->setText(tr("What if"));
    const std::pair<QLabel*, QString> names[] = {
        {m_modelName, tr("Network")},       {m_clusterName, tr("Machines")},    {m_frameworkName, tr("Framework")},
        {m_scheduleName, tr("Schedule")},   {m_recomputeName, tr("Recompute")}, {m_precisionName, tr("Precision")},
        {m_offloadName, tr("To the host")}, {m_documentsName, tr("Documents")},
    };
    for (const auto& [label, text] : names) {
        label->setText(text);
        if (label->buddy()) label->buddy()->setAccessibleName(text);
    }
    m_documents->lineEdit()->setAccessibleName(m_documentsName->text());
    m_model->setToolTip(tr("The network's architecture, as a preset"));
    m_cluster->setToolTip(tr("Devices, nodes and links: a preset, or a file such as 'fourwalls-cli calibrate' writes"));
    fillMachines();
    m_framework->setToolTip(tr("What fuses, overlaps and keeps what: a named, versioned preset"));
    m_recompute->setToolTip(tr("Drop activations after forward and compute them again in backward: none, those of the "
                               "attention core, all inside a layer or, where the framework is told names, those of "
                               "the modules with a mark."));
    m_documents->setToolTip(
        tr("Lengths of the documents that sequences are packed with, which attention stays within: one, "
           "or several with how often each comes, as in 6x512,3x2048,8192."));
    m_schedule->setToolTip(tr("In which order a stage works on micro-batches; only with a pipeline."));
    m_precision->setToolTip(tr("Of weights, activations and matrix products."));
    m_undo->setAccessibleName(tr("Undo"));
    m_undo->setToolTip(tr("Undo the last change of the sliders"));
    m_redo->setAccessibleName(tr("Redo"));
    m_redo->setToolTip(tr("Redo the change of the sliders"));
    m_close->setAccessibleName(tr("Close"));
    m_close->setToolTip(tr("Hide the sliders"));
    m_reset->setText(tr("As recorded"));
    m_reset->setToolTip(tr("Set everything to what was recorded"));
    m_record->setText(tr("Record this now"));
    setRecordBlocked(m_recordBlocked);
    m_copy->setText(tr("Copy command"));
    m_copy->menu()->actions()[0]->setText(tr("Command that predicts this plan"));
    m_copy->menu()->actions()[1]->setText(tr("Command that records this plan"));
    m_start->setText(tr("Start from these"));
    retranslateKnobs();
    retranslateSwitches();
    const Theme& t = currentTheme();
    m_undo->setIcon(QIcon(iconPixmap(QStringLiteral("undo"), t.text, 14, devicePixelRatioF())));
    m_close->setIcon(QIcon(iconPixmap(QStringLiteral("close"), t.secondaryText, 14, devicePixelRatioF())));
    m_redo->setIcon(QIcon(iconPixmap(QStringLiteral("redo"), t.text, 14, devicePixelRatioF())));
    for (const Knob knob : {Knob::Devices, Knob::Data, Knob::Tensor, Knob::Pipeline, Knob::Context, Knob::GlobalBatch,
                            Knob::Microbatches, Knob::MicrobatchSize})
        row(knob).setLocked(m_locks.holds(knob));
}

} // namespace fourwalls::views
