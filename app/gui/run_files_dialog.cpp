// SPDX-License-Identifier: GPL-3.0-or-later
// See run_files_dialog.h.
#include "app/gui/run_files_dialog.h"

#include "views/words/format.h"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace fourwalls::gui {

RunFilesDialog::RunFilesDialog(const QStringList& paths, QWidget* parent)
    : QDialog(parent)
    , m_said(new QLabel(tr("Looking at the files…"), this))
    , m_list(new QTreeWidget(this))
    , m_import(new QPushButton(tr("Import"), this))
{
    const QString first = QDir(paths.value(0)).dirName();
    setWindowTitle(tr("Files of %1").arg(first));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(720, 480);
    m_said->setTextFormat(Qt::PlainText);
    m_said->setWordWrap(true);
    m_list->setAccessibleName(tr("Files that become one run"));
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHeaderLabels({tr("Rank"), tr("File"), tr("Format"), tr("Size")});
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(1, QHeaderView::Stretch);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    m_import->setObjectName(QStringLiteral("importFiles"));
    m_import->setDefault(true);
    m_import->setEnabled(false);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(m_import);
    buttons->addWidget(cancel);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(18, 18, 18, 18);
    column->setSpacing(12);
    column->addWidget(m_said);
    column->addWidget(m_list, 1);
    column->addLayout(buttons);
    connect(m_import, &QPushButton::clicked, this, &QDialog::accept);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(&m_job, &ChildJob::succeeded, this, [this] { setAnswer(m_job.output()); });
    connect(&m_job, &ChildJob::failed, this,
            [this](const Error& error) { m_said->setText(QString::fromStdString(error.message())); });
    if (!paths.isEmpty())
        m_job.start(QStringList{QStringLiteral("import"), QStringLiteral("--list"), QStringLiteral("--json"),
                                QStringLiteral("--")} +
                    paths);
}

void RunFilesDialog::setAnswer(const QByteArray& json)
{
    const QJsonObject answer = QJsonDocument::fromJson(json).object();
    const QJsonArray files = answer.value(QLatin1String("files")).toArray();
    const auto leftAlone = static_cast<int>(answer.value(QLatin1String("left_alone_count")).toInteger());
    QString said = tr("%n file(s) become one run.", nullptr, static_cast<int>(files.size()));
    if (leftAlone > 0)
        said += QLatin1Char(' ') + tr("%n other(s) are no profiles and are left alone.", nullptr, leftAlone);
    const auto lost = static_cast<int>(answer.value(QLatin1String("unreadable_count")).toInteger());
    if (lost > 0) said += QLatin1Char(' ') + tr("%n profile(s) cannot be read.", nullptr, lost);
    m_said->setText(said);
    QStringList others;
    for (const QJsonValue& name : answer.value(QLatin1String("unreadable")).toArray()) others << name.toString();
    for (const QJsonValue& name : answer.value(QLatin1String("left_alone")).toArray()) others << name.toString();
    m_said->setToolTip(others.mid(0, 30).join(QLatin1Char('\n')));
    m_list->clear();
    for (const QJsonValue& value : files) {
        const QJsonObject each = value.toObject();
        const QJsonValue rank = each.value(QLatin1String("rank"));
        const QString file = each.value(QLatin1String("file")).toString();
        auto* item = new QTreeWidgetItem(
            m_list, {rank.isNull() ? tr("told by the import") : QString::number(rank.toInt()),
                     QFileInfo(file).fileName(), each.value(QLatin1String("format")).toString(),
                     views::formatBytes(each.value(QLatin1String("bytes")).toDouble(), views::ByteUnit::GB)});
        item->setToolTip(1, file);
        item->setTextAlignment(3, Qt::AlignRight | Qt::AlignVCenter);
    }
    for (const int column : {0, 2, 3}) m_list->resizeColumnToContents(column);
    m_import->setEnabled(!files.isEmpty());
    m_import->setFocus();
}

} // namespace fourwalls::gui
