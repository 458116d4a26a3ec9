// SPDX-License-Identifier: GPL-3.0-or-later
// See replay_controls.h.
#include "views/whatif/replay_controls.h"

#include "model/present/plan_knobs.h"
#include "model/replay/name_pattern.h"
#include "model/spec/names.h"
#include "views/plot/theme.h"
#include "views/whatif/knob_row.h"
#include "views/words/format.h"
#include "views/words/plan_words.h"
#include "views/words/words.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kGainColumn = 52;
/// Transfers and data to read that are offered, at most.
constexpr std::size_t kMostOffered = 4;
constexpr int kLongestName = 36;

QString cutName(const QString& text)
{
    return text.size() <= kLongestName ? text : text.left(kLongestName - 1) + QChar(0x2026);
}

QString cutName(const std::string& name)
{
    return cutName(QString::fromStdString(name));
}

/// Where the engine reads its data it says so in words of ours.
QString readingName(const std::string& name)
{
    OpInfo op;
    op.name = name;
    op.kind = SliceKind::DataLoading;
    return cutName(opName(op));
}

/// Room for the longest name of a choice.
int choiceNameWidth(const QFontMetrics& metrics)
{
    int width = kKnobNameWidth;
    for (const QString& name : {ReplayControls::tr("Like the mean"), ReplayControls::tr("Stage like the mean"),
                                ReplayControls::tr("Schedule"), ReplayControls::tr("Machines")})
        width = std::max(width, metrics.horizontalAdvance(name) + 1);
    return width;
}

std::string numberText(double value)
{
    return QString::number(value, 'g', 6).toStdString();
}

/// What stands behind a prefix in the change that begins with it; absent: none does.
std::optional<std::string> behind(const std::vector<std::string>& changes, const std::string& prefix)
{
    for (const std::string& change : changes)
        if (change.compare(0, prefix.size(), prefix) == 0) return change.substr(prefix.size());
    return std::nullopt;
}

std::optional<double> numberBehind(const std::vector<std::string>& changes, const std::string& prefix)
{
    const auto text = behind(changes, prefix);
    bool isNumber = false;
    const double value = text ? QString::fromStdString(*text).toDouble(&isNumber) : 0;
    return isNumber ? std::optional(value) : std::nullopt;
}

} // namespace

ReplayControls::ReplayControls(QWidget* parent) : QWidget(parent), m_column(new QVBoxLayout(this))
{
    m_column->setContentsMargins(0, 0, 0, 0);
}

void ReplayControls::setOffers(std::shared_ptr<const replay::ReplayOffers> offers)
{
    m_offers = std::move(offers);
    m_patterns.clear();
    m_others.clear();
    rebuild();
}

void ReplayControls::retranslate()
{
    const Changes all = changes();
    rebuild();
    showChanges(all);
}

void ReplayControls::showChanges(const Changes& changes)
{
    if (!m_offers) return;
    const std::string kernels = "kernels:";
    const std::size_t patterns = m_patterns.size();
    for (const std::string& change : changes) {
        const std::size_t star = change.rfind('*');
        if (change.compare(0, kernels.size(), kernels) != 0 || star == std::string::npos) continue;
        if (!row(QString::fromStdString(change.substr(0, star))))
            m_patterns.push_back(change.substr(kernels.size(), star - kernels.size()));
    }
    if (m_patterns.size() != patterns) rebuild();
    for (const Control& control : m_controls) control.show(changes);
    m_others.clear();
    const Changes said = this->changes();
    for (const std::string& change : changes)
        if (std::find(said.begin(), said.end(), change) == said.end()) m_others.push_back(change);
}

std::vector<std::string> ReplayControls::changes() const
{
    Changes all = m_others;
    for (const Control& control : m_controls)
        for (std::string& change : control.changes()) all.push_back(std::move(change));
    return all;
}

void ReplayControls::reset()
{
    showChanges({});
    emit changed();
}

KnobRow* ReplayControls::row(const QString& name) const
{
    const auto found =
        std::find_if(m_controls.begin(), m_controls.end(), [&](const Control& each) { return each.name == name; });
    return found == m_controls.end() ? nullptr : found->knob;
}

void ReplayControls::rebuild()
{
    m_controls.clear();
    delete m_body;
    m_body = nullptr;
    if (!m_offers) return;
    m_body = new QWidget(this);
    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    m_column->addWidget(m_body);
    const replay::ReplayKnobs& knobs = m_offers->knobs;
    using replay::OfferKind;

    if (!knobs.ranks.empty() || knobs.hasCalls || !knobs.reading.empty()) addHeading(tr("Trouble removed"));
    addPeerControls();
    if (knobs.hasCalls) {
        addSwitch(tr("Launches as one graph"), "launches=graph", OfferKind::Launches);
        addFactor(tr("Work of the program"), "host:", false, OfferKind::Host);
    }
    for (std::size_t i = 0; i < std::min(kMostOffered, knobs.reading.size()); ++i)
        addFactor(tr("Reading: %1").arg(readingName(knobs.reading[i])),
                  "host:" + replay::exactPattern(knobs.reading[i]), false, OfferKind::Reading, knobs.reading[i]);

    if (!knobs.groups.empty()) addHeading(tr("Links"));
    for (const std::string& group : knobs.groups)
        addFactor(tr("Links of %1").arg(cutName(group)), "link:" + group, true, OfferKind::Link, group);
    for (std::size_t i = 0; i < std::min(kMostOffered, knobs.transfers.size()); ++i)
        addSwitch(tr("Hidden: %1").arg(cutName(knobs.transfers[i])), "hide:" + replay::exactPattern(knobs.transfers[i]),
                  OfferKind::Hide, knobs.transfers[i]);

    if (!knobs.kernels.empty()) addHeading(tr("Kernels take"));
    for (const std::string& kernel : knobs.kernels)
        addFactor(cutName(kernel), "kernels:" + replay::exactPattern(kernel), false, OfferKind::Kernel, kernel);
    for (const std::string& pattern : m_patterns)
        addFactor(cutName(pattern), "kernels:" + pattern, false, OfferKind::Kernel, pattern);
    if (!knobs.kernels.empty()) addPattern();
    addPassControls();
    addPlanControls();
}

void ReplayControls::addPeerControls()
{
    using replay::OfferKind;
    const replay::ReplayKnobs& knobs = m_offers->knobs;
    if (knobs.ranks.empty()) return;
    addSwitch(tr("All ranks like their mean"), "stragglers=none", OfferKind::Stragglers);
    std::vector<std::pair<QString, std::string>> ranks{{tr("none"), ""}};
    const auto gain = [this](RankId rank) {
        const auto* offer = m_offers->find(OfferKind::Rank, std::to_string(rank.value));
        return offer ? offer->gain(m_offers->quality.replayed).ns : 0;
    };
    std::vector<RankId> worstFirst = knobs.ranks;
    std::stable_sort(worstFirst.begin(), worstFirst.end(), [&](RankId a, RankId b) { return gain(a) > gain(b); });
    for (const RankId rank : worstFirst)
        ranks.push_back({tr("rank %1").arg(rank.value), "rank:" + std::to_string(rank.value) + "=fleet"});
    addChoice(tr("Like the mean"), std::move(ranks), gainOf(OfferKind::Rank, std::to_string(worstFirst.front().value)));
    if (knobs.stages.empty()) return;
    std::vector<std::pair<QString, std::string>> stages{{tr("none"), ""}};
    QString most;
    Duration best;
    for (const int stage : knobs.stages) {
        const std::string number = std::to_string(stage);
        stages.push_back({tr("stage %1").arg(stage), "stage:" + number + "=fleet"});
        const auto* offer = m_offers->find(OfferKind::Stage, number);
        if (!offer || offer->gain(m_offers->quality.replayed) <= best) continue;
        best = offer->gain(m_offers->quality.replayed);
        most = gainOf(OfferKind::Stage, number);
    }
    addChoice(tr("Stage like the mean"), std::move(stages), most);
}

void ReplayControls::addHeading(const QString& text)
{
    auto* heading = new QLabel(text, m_body);
    QFont font = fontOf(TextRole::Small);
    font.setWeight(QFont::DemiBold);
    heading->setFont(font);
    heading->setContentsMargins(0, 5, 0, 0);
    m_body->layout()->addWidget(heading);
}

QString ReplayControls::gainOf(replay::OfferKind kind, const std::string& what) const
{
    const replay::ReplayOffer* offer = m_offers->find(kind, what);
    const double replayed = static_cast<double>(m_offers->quality.replayed.ns);
    if (!offer || !(replayed > 0)) return {};
    const double gain = static_cast<double>(offer->gain(m_offers->quality.replayed).ns) / replayed;
    return (gain > 0 ? QChar(0x2212) : QLatin1Char('+')) + formatPercent(std::abs(gain), 1);
}

void ReplayControls::addLine(QWidget* control, const QString& gain, const QString& explanation)
{
    auto* line = new QHBoxLayout;
    line->setSpacing(4);
    line->addWidget(control, 1);
    auto* label = new QLabel(gain, m_body);
    label->setFont(fontOf(TextRole::Small));
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setFixedWidth(kGainColumn);
    label->setToolTip(explanation);
    line->addWidget(label);
    static_cast<QVBoxLayout*>(m_body->layout())->addLayout(line);
}

void ReplayControls::addSwitch(const QString& text, const std::string& change, replay::OfferKind kind,
                               const std::string& what)
{
    auto* box = new QCheckBox(text, m_body);
    box->setFont(fontOf(TextRole::Body));
    box->setToolTip(text);
    connect(box, &QCheckBox::toggled, this, &ReplayControls::changed);
    addLine(box, gainOf(kind, what), tr("Of the step, for this change alone"));
    m_controls.push_back(
        {QString::fromStdString(change),
         [box, change] { return box->isChecked() ? std::vector<std::string>{change} : std::vector<std::string>{}; },
         [box, change](const Changes& changes) {
             const QSignalBlocker quiet(box);
             box->setChecked(std::find(changes.begin(), changes.end(), change) != changes.end());
         },
         nullptr});
}

void ReplayControls::addFactor(const QString& text, const std::string& prefix, bool divided, replay::OfferKind kind,
                               const std::string& what)
{
    auto* knob = new KnobRow(KnobRow::Lock::None, m_body);
    knob->setFormat([divided](double value) {
        return divided ? QStringLiteral("×%1").arg(value, 0, 'g', 3) : formatPercent(value, 0);
    });
    if (!divided) knob->setTyping(100, 1);
    knob->setName(text, divided ? tr("How many times as fast the links of this group are, beyond their latency")
                                : tr("The share of its time that is left"));
    knob->setStops(divided ? std::vector<double>{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8}
                           : std::vector<double>{0, 0.25, 0.5, 0.75, 0.9, 1, 1.25, 1.5, 2});
    knob->showValue(1);
    knob->setRecorded(1);
    // A value may be none of the stops: what was typed counts until the slider moves.
    auto chosen = std::make_shared<double>(1);
    connect(&knob->slider(), &KnobSlider::valueChosen, this, [this, chosen](double value) {
        *chosen = value;
        emit changed();
    });
    connect(knob, &KnobRow::valueTyped, this, [this, knob, chosen, divided](double value) {
        *chosen = std::clamp(value, divided ? 0.01 : 0.0, 100.0);
        knob->showValue(*chosen);
        emit changed();
    });
    addLine(knob, gainOf(kind, what),
            divided ? tr("Of the step, with links twice as fast") : tr("Of the step, with half of that time"));
    m_controls.push_back({QString::fromStdString(prefix),
                          [chosen, prefix] {
                              return *chosen == 1 ? std::vector<std::string>{}
                                                  : std::vector<std::string>{prefix + "*" + numberText(*chosen)};
                          },
                          [knob, chosen, prefix](const Changes& changes) {
                              *chosen = numberBehind(changes, prefix + "*").value_or(1);
                              knob->showValue(*chosen);
                          },
                          knob});
}

void ReplayControls::addChoice(const QString& text, std::vector<std::pair<QString, std::string>> entries,
                               const QString& gain, const QString& toolTip)
{
    auto* line = new QWidget(m_body);
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    auto* name = new QLabel(line);
    name->setFont(fontOf(TextRole::Body));
    // All choices begin in one column, which has room for the longest of their names.
    name->setFixedWidth(choiceNameWidth(name->fontMetrics()));
    name->setText(name->fontMetrics().elidedText(text, Qt::ElideRight, name->width()));
    name->setToolTip(text);
    auto* box = new QComboBox(line);
    box->setFont(fontOf(TextRole::Small));
    box->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    box->setAccessibleName(text);
    box->setToolTip(toolTip);
    name->setBuddy(box);
    for (const auto& [words, change] : entries) box->addItem(words, QString::fromStdString(change));
    row->addWidget(name);
    row->addWidget(box, 1);
    connect(box, &QComboBox::activated, this, &ReplayControls::changed);
    addLine(line, gain, tr("Of the step, for the one that gains most"));
    m_controls.push_back({text,
                          [box] {
                              const std::string change = box->currentData().toString().toStdString();
                              return change.empty() ? std::vector<std::string>{} : std::vector<std::string>{change};
                          },
                          [box](const Changes& changes) {
                              int index = 0;
                              for (const std::string& change : changes)
                                  index = std::max(index, box->findData(QString::fromStdString(change)));
                              box->setCurrentIndex(index);
                          },
                          nullptr});
}

void ReplayControls::addPattern()
{
    auto* field = new QLineEdit(m_body);
    field->setFont(fontOf(TextRole::Small));
    field->setPlaceholderText(tr("another kernel: a part of its name"));
    field->setAccessibleName(field->placeholderText());
    connect(field, &QLineEdit::returnPressed, this, [this, field] {
        const std::string pattern = field->text().trimmed().toStdString();
        if (pattern.empty() || std::find(m_patterns.begin(), m_patterns.end(), pattern) != m_patterns.end()) return;
        m_patterns.push_back(pattern);
        // The field is part of what is made anew.
        QMetaObject::invokeMethod(
            this,
            [this, all = changes()] {
                rebuild();
                showChanges(all);
                emit changed();
            },
            Qt::QueuedConnection);
    });
    m_body->layout()->addWidget(field);
}

void ReplayControls::addPassControls()
{
    if (!m_offers->knobs.passes) return;
    const PipelineShape shape = *m_offers->knobs.passes;
    addHeading(tr("Order of the passes"));
    std::vector<std::pair<QString, std::string>> schedules{{words(shape.schedule), ""}};
    const replay::ReplayOffer* best = nullptr;
    for (const auto& [schedule, word] : kScheduleWords) {
        if (schedule == shape.schedule || schedule == PipelineSchedule::Naive) continue;
        if (schedule == PipelineSchedule::Interleaved && shape.chunks < 2) continue; // the number of chunks says it
        schedules.push_back({words(schedule), "schedule=" + std::string(word)});
        const auto* offer = m_offers->find(replay::OfferKind::Schedule, std::string(word));
        if (offer && (!best || offer->outcome.changed < best->outcome.changed)) best = offer;
    }
    // The box is narrow: which of them was recorded stands in its tool tip.
    addChoice(tr("Schedule"), std::move(schedules), best ? gainOf(replay::OfferKind::Schedule, best->what) : QString(),
              tr("recorded: %1").arg(words(shape.schedule)));
    addNumber(tr("Micro-batches"), "microbatches", shape.microbatches, std::max(64, shape.microbatches),
              tr("They keep their size, so the batch changes with their number"));
    addNumber(tr("Chunks per stage"), "vpp", shape.chunks, std::max(8, shape.chunks),
              tr("Virtual stages per rank, which take equal times"));
}

void ReplayControls::addNumber(const QString& text, const std::string& key, int recorded, int most,
                               const QString& explanation)
{
    auto* knob = new KnobRow(KnobRow::Lock::None, m_body);
    knob->setFormat([](double value) { return QString::number(value); });
    knob->setName(text, explanation);
    knob->setStops(doublingStops(recorded, most));
    knob->showValue(recorded);
    knob->setRecorded(recorded);
    auto chosen = std::make_shared<double>(recorded);
    connect(&knob->slider(), &KnobSlider::valueChosen, this, [this, chosen](double value) {
        *chosen = value;
        emit changed();
    });
    connect(knob, &KnobRow::valueTyped, this, [this, knob, chosen](double value) {
        *chosen = std::clamp(std::round(value), 1.0, 4096.0);
        knob->showValue(*chosen);
        emit changed();
    });
    addLine(knob, {}, {});
    m_controls.push_back(
        {QString::fromStdString(key),
         [chosen, key, recorded] { return *chosen == recorded ? Changes{} : Changes{key + "=" + numberText(*chosen)}; },
         [knob, chosen, key, recorded](const Changes& changes) {
             *chosen = numberBehind(changes, key + "=").value_or(recorded);
             knob->showValue(*chosen);
         },
         knob});
}

void ReplayControls::addPlanControls()
{
    if (!m_offers->knobs.spec) return;
    addHeading(tr("Plan (scaled by the cost model)"));
    const RunSpec& recorded = *m_offers->knobs.spec;
    // All of them change one specification together.
    auto spec = std::make_shared<RunSpec>(recorded);
    KnobLocks locks; // nothing is kept: the batch follows replicas and micro-batches
    struct Row {
        Knob knob;
        QString name;
    };
    const Row rows[] = {{Knob::Data, tr("Data parallel")},
                        {Knob::Tensor, tr("Tensor parallel")},
                        {Knob::Pipeline, tr("Pipeline stages")},
                        {Knob::GlobalBatch, tr("Global batch")}};
    auto shown = std::make_shared<std::vector<std::pair<Knob, KnobRow*>>>();
    const auto showAll = [shown, spec] {
        for (const auto& [knob, row] : *shown) row->showValue(valueOf(*spec, knob));
    };
    for (const Row& each : rows) {
        const std::vector<double> stops = feasibleValues(recorded, each.knob, locks, &recorded);
        if (stops.size() < 2) continue;
        auto* row = new KnobRow(KnobRow::Lock::None, m_body);
        row->setFormat([](double value) { return QString::number(value); });
        row->setName(each.name, tr("The recorded step times what the cost model says of the changed step against the "
                                   "recorded one, as one factor"));
        row->setStops(stops);
        row->showValue(valueOf(recorded, each.knob));
        row->setRecorded(valueOf(recorded, each.knob));
        shown->push_back({each.knob, row});
        const auto take = [this, spec, showAll, knob = each.knob, locks](double value) {
            if (const auto next = withValue(*spec, knob, value, locks)) *spec = *next;
            showAll();
            emit changed();
        };
        connect(&row->slider(), &KnobSlider::valueChosen, this, take);
        connect(row, &KnobRow::valueTyped, this, take);
        addLine(row, {}, {});
        m_controls.push_back({QStringLiteral("plan.%1").arg(static_cast<int>(each.knob)), [] { return Changes{}; },
                              [](const Changes&) {}, row});
    }
    m_controls.push_back({QStringLiteral("plan"),
                          [spec, recorded] {
                              std::vector<std::string> changes;
                              if (!(spec->plan == recorded.plan)) changes.push_back("plan=" + formatPlan(spec->plan));
                              if (spec->training.batch != recorded.training.batch)
                                  changes.push_back("batch=" + std::to_string(spec->training.batch));
                              return changes;
                          },
                          [spec, recorded, showAll](const Changes& changes) {
                              *spec = recorded;
                              if (const auto text = behind(changes, "plan="))
                                  if (const auto plan = parsePlan(*text); plan.ok()) spec->plan = *plan;
                              if (const auto batch = numberBehind(changes, "batch="))
                                  spec->training.batch = std::llround(*batch);
                              showAll();
                          },
                          nullptr});
    std::vector<std::pair<QString, std::string>> clusters{{tr("as recorded"), ""}};
    for (const std::string& name : clusterPresetNames())
        if (name != recorded.cluster.name && name != "this-machine")
            clusters.push_back({QString::fromStdString(name), "cluster=" + name});
    addChoice(tr("Machines"), std::move(clusters));
}

} // namespace fourwalls::views
