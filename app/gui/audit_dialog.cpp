// SPDX-License-Identifier: GPL-3.0-or-later
// See audit_dialog.h.
#include "app/gui/audit_dialog.h"

#include "model/trace/audit_counter.h"
#include "views/plot/plot_table.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::gui {

bool hasLosses(const TraceInfo& info)
{
    return std::any_of(info.audit.begin(), info.audit.end(), [](const AuditRecord& record) {
        return record.count > 0 && record.severity != AuditSeverity::Info;
    });
}

AuditDialog::AuditDialog(const TraceInfo& info, const QString& name, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Audit of %1").arg(name));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(760, 380);
    std::vector<AuditRecord> records = info.audit;
    // The figures of the raw events travel as a record, too; they are for programs.
    std::erase_if(records, [](const AuditRecord& record) {
        return record.count == 0 || isCounter(record, AuditCounter::ImportFacts);
    });
    std::stable_sort(records.begin(), records.end(),
                     [](const AuditRecord& a, const AuditRecord& b) { return a.severity > b.severity; });

    auto* heading =
        new QLabel(hasLosses(info) ? tr("Not everything could be taken over as it was.")
                                   : tr("Everything was taken over: nothing was dropped, skipped or repaired."),
                   this);
    heading->setWordWrap(true);
    auto* table = new QTableWidget(static_cast<int>(records.size()), 4, this);
    table->setAccessibleName(tr("Audit"));
    table->setHorizontalHeaderLabels({tr("what"), tr("kind"), tr("count"), tr("why")});
    for (int row = 0; row < table->rowCount(); ++row) {
        const AuditRecord& record = records[static_cast<std::size_t>(row)];
        const auto put = [&](int column, const QString& text) {
            auto* item = new QTableWidgetItem(text);
            item->setFlags(Qt::ItemIsSelectable | Qt::ItemIsEnabled);
            item->setToolTip(text);
            table->setItem(row, column, item);
            return item;
        };
        put(0, QString::fromStdString(record.name).replace(QLatin1Char('_'), QLatin1Char(' ')));
        put(1, views::words(record.severity));
        put(2, views::formatCount(record.count))->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        put(3, QString::fromStdString(record.detail));
    }
    table->setShowGrid(false);
    table->verticalHeader()->hide();
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(3, QHeaderView::Stretch);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table->setVisible(!records.empty());
    auto* close = new QPushButton(tr("Close"), this);
    close->setDefault(true);
    connect(close, &QPushButton::clicked, this, &QDialog::accept);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(18, 18, 18, 18);
    layout->setSpacing(12);
    layout->addWidget(heading);
    layout->addWidget(table, 1);
    layout->addWidget(close, 0, Qt::AlignRight);
}

} // namespace fourwalls::gui
