// SPDX-License-Identifier: GPL-3.0-or-later
// See steps_dialog.h.
#include "app/gui/steps_dialog.h"

#include "views/session/step_states.h"
#include "views/words/format.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace fourwalls::gui {

StepsDialog::StepsDialog(const QString& path, const QString& name, QWidget* parent)
    : QDialog(parent)
    , m_now(new QLabel(tr("Looking at what comes again…"), this))
    , m_list(new QTreeWidget(this))
    , m_spec(new QLineEdit(this))
    , m_use(new QPushButton(tr("Use as steps"), this))
{
    setWindowTitle(tr("Steps of %1").arg(name));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(720, 480);
    m_now->setTextFormat(Qt::PlainText);
    m_now->setWordWrap(true);
    auto* hint =
        new QLabel(tr("A step is one pass of the loop. Choose what marks it; the choice is kept in the trace, and all "
                      "figures of steps are computed again. You can choose again at any time."),
                   this);
    hint->setWordWrap(true);
    m_list->setObjectName(QStringLiteral("candidates"));
    m_list->setAccessibleName(tr("What comes again in the trace"));
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHeaderLabels({tr("Step by"), tr("Count"), tr("Median"), tr("Share of the trace")});
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_spec->setObjectName(QStringLiteral("stepsBy"));
    m_spec->setAccessibleName(tr("Step by"));
    m_spec->setPlaceholderText(QStringLiteral("range NAME · kernel NAME · period MS · whole"));
    auto* cancel = new QPushButton(tr("Cancel"), this);
    m_use->setDefault(true);
    m_use->setEnabled(false);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_spec, 1);
    buttons->addWidget(m_use);
    buttons->addWidget(cancel);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(18, 18, 18, 18);
    column->setSpacing(12);
    column->addWidget(hint);
    column->addWidget(m_now);
    column->addWidget(m_list, 1);
    column->addLayout(buttons);

    connect(m_list, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
        if (item) m_spec->setText(item->data(0, Qt::UserRole).toString());
    });
    connect(m_spec, &QLineEdit::textChanged, this,
            [this](const QString& text) { m_use->setEnabled(!text.trimmed().isEmpty()); });
    connect(m_list, &QTreeWidget::itemActivated, m_use, &QPushButton::click);
    connect(m_use, &QPushButton::clicked, this, [this] {
        emit chosen(m_spec->text().trimmed());
        accept();
    });
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(&m_job, &ChildJob::succeeded, this, [this] { setAnswer(m_job.output()); });
    connect(&m_job, &ChildJob::failed, this,
            [this](const Error& error) { m_now->setText(QString::fromStdString(error.message())); });
    if (!path.isEmpty()) m_job.start({QStringLiteral("steps"), QStringLiteral("--json"), QStringLiteral("--"), path});
}

void StepsDialog::addChoice(const QString& spec, const QString& text, const QStringList& figures)
{
    auto* item = new QTreeWidgetItem(m_list, QStringList(text) + figures);
    item->setData(0, Qt::UserRole, spec);
    item->setToolTip(0, text);
    for (int column = 1; column < 4; ++column) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
}

void StepsDialog::setAnswer(const QByteArray& json)
{
    const QJsonObject answer = QJsonDocument::fromJson(json).object();
    const QJsonObject states = answer.value(QLatin1String("step_states")).toObject();
    views::StepCounts counts{};
    for (int state = 0; state < kStepStateCount; ++state) {
        const std::string_view key = name(static_cast<StepState>(state));
        counts[static_cast<std::size_t>(state)] =
            states.value(QLatin1String(key.data(), static_cast<qsizetype>(key.size()))).toInt();
    }
    const QString by = views::stepsByText(states.value(QLatin1String("by")).toString().toStdString());
    m_now->setText(tr("Now: %1, by %2").arg(views::stepCountsText(counts), by));
    m_list->clear();
    addChoice(QStringLiteral("auto"), tr("as the import finds them"), {});
    addChoice(QStringLiteral("whole"), tr("the whole trace"), {});
    for (const QJsonValue& value : answer.value(QLatin1String("candidates")).toArray()) {
        const QJsonObject each = value.toObject();
        const QString spec = each.value(QLatin1String("by")).toString();
        addChoice(
            spec == QLatin1String("ProfilerStep") ? QStringLiteral("marks") : spec,
            views::stepsByText(spec.toStdString()),
            {QString::number(each.value(QLatin1String("count")).toInteger()),
             views::formatDuration(Duration::fromSeconds(each.value(QLatin1String("median_ms")).toDouble() / 1e3), 3),
             views::formatPercent(each.value(QLatin1String("coverage")).toDouble())});
    }
    for (int column = 1; column < 4; ++column) m_list->resizeColumnToContents(column);
}

QStringList stepsArguments(const QString& path, const QString& stepsBy)
{
    return {QStringLiteral("steps"),      QStringLiteral("--json"),
            QStringLiteral("--steps-by"), stepsBy,
            QStringLiteral("--"),         path};
}

} // namespace fourwalls::gui
