// SPDX-License-Identifier: GPL-3.0-or-later
// Comparing two open traces: which one is the other.
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "views/chrome/header_bar.h"
#include "views/chrome/trace_tabs.h"
#include "views/compare/compare_view.h"
#include "views/tables/query_panel.h"
#include "views/tables/tables_view.h"

#include <QFileDialog>
#include <QMenu>

namespace fourwalls::gui {

void MainWindow::prepareCompare(views::View* view)
{
    auto* compare = qobject_cast<views::CompareView*>(view);
    if (!compare) return;
    connect(compare, &views::CompareView::partnerRequested, this, &MainWindow::choosePartner, Qt::UniqueConnection);
    if (compare->partner()) return;
    // With two open traces there is nothing to choose.
    QList<TraceDocument*> others = documents();
    others.removeAll(currentDocument());
    if (others.size() == 1) compare->setPartner(others.front()->session(), others.front()->name());
}

void MainWindow::prepareTables(views::View* view)
{
    auto* tables = qobject_cast<views::TablesView*>(view);
    if (!tables) return;
    views::QueryPanel& panel = tables->queryPanel();
    panel.setSaved(m_settings.savedQueries()); // another trace's page may have changed them
    connect(&panel, &views::QueryPanel::savedChanged, this, &MainWindow::saveQueries, Qt::UniqueConnection);
}

void MainWindow::saveQueries(const QStringList& queries)
{
    m_settings.setSavedQueries(queries);
}

void MainWindow::choosePartner(QWidget* where)
{
    auto* compare = qobject_cast<views::CompareView*>(sender());
    if (!compare) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (TraceDocument* document : documents()) {
        if (document == currentDocument()) continue;
        const QPointer<views::CompareView> target(compare);
        const QPointer<TraceDocument> other(document);
        connect(menu->addAction(QString(document->name()).replace(QLatin1Char('&'), QStringLiteral("&&"))),
                &QAction::triggered, this, [target, other] {
                    if (target && other) target->setPartner(other->session(), other->name());
                });
    }
    if (!menu->isEmpty()) menu->addSeparator();
    connect(menu->addAction(tr("Open another trace…")), &QAction::triggered, this, [this, target = QPointer(compare)] {
        auto* dialog = new QFileDialog(this, tr("Compare with"), m_settings.lastFolder(),
                                       tr("Fourwalls traces (*.fourwalls);;All files (*)"));
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, this, [this, target](const QString& file) {
            const int shown = m_header->tabs()->current();
            TraceDocument* other = openFile(file);
            showDocument(shown);
            if (target && other->session() != target->session()) target->setPartner(other->session(), other->name());
        });
        dialog->open();
    });
    menu->popup(where->mapToGlobal(QPoint(0, where->height())));
}

} // namespace fourwalls::gui
