// SPDX-License-Identifier: GPL-3.0-or-later
// What the window's own actions do. The table of all actions is in window_actions.cpp.
#include "app/gui/appearance.h"
#include "app/gui/file_opener.h"
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/shortcut_editor.h"
#include "app/gui/trace_document.h"
#include "app/gui/window_actions.h"
#include "app/gui/window_finder.h"
#include "views/chrome/header_bar.h"
#include "views/chrome/icon.h"
#include "views/chrome/trace_tabs.h"
#include "views/chrome/welcome_page.h"
#include "views/whatif/what_if.h"

#include <QMenu>
#include <QMessageBox>
#include <QPushButton>

#include <utility>

namespace fourwalls::gui {

QList<QAction*> MainWindow::allActions() const
{
    QList<QAction*> list;
    const TraceDocument* document = currentDocument();
    if (document && !pageOf(m_viewId) && document->currentView()) list = document->currentView()->viewActions();
    return list + m_actions->all();
}

void MainWindow::openRecordDialog()
{
    if (!m_record) {
        m_record = new RecordDialog(this);
        m_record->setAttribute(Qt::WA_DeleteOnClose);
        connect(m_record, &RecordDialog::recorded, this, [this, dialog = m_record.data()](const QString& path) {
            // Only the plan that was predicted: a person may have changed it in the dialog.
            const bool isForecast = m_forecast && dialog->isAsRequested();
            const std::optional<Duration> forecast = std::exchange(m_forecast, std::nullopt);
            if (TraceDocument* document = openFile(path); document && isForecast)
                document->whatIf()->setForecast(forecast);
        });
        m_forecast.reset();
    }
    m_record->show();
    m_record->raise();
    m_record->activateWindow();
}

void MainWindow::openRecordDialog(const RecordRequest& request, std::optional<Duration> forecast)
{
    openRecordDialog();
    // What runs keeps its plan and its file's name: its progress is shown instead.
    if (m_record->isRunning()) return;
    m_record->setRequest(request);
    m_forecast = forecast;
}

void MainWindow::openFiles(const QStringList& files, std::optional<ViewPlace> place)
{
    m_files->open(files, std::move(place));
}

void MainWindow::openAt(const QStringList& files, const ViewPlace& place)
{
    openFiles(files, place);
}

void MainWindow::editShortcuts()
{
    auto* editor = new ShortcutEditor(allActions(), m_settings, this);
    editor->setAttribute(Qt::WA_DeleteOnClose);
    editor->open();
}

void MainWindow::showRecentFiles()
{
    const QStringList files = m_settings.recentFiles();
    m_welcome->setRecentFiles(files);
    m_actions->showRecentFiles(files);
}

void MainWindow::clearRecentFiles()
{
    m_settings.clearRecentFiles();
    showRecentFiles();
}

void MainWindow::switchByteUnit()
{
    const bool binary = !m_settings.binaryUnits();
    m_settings.setBinaryUnits(binary);
    m_actions->setChecked(QStringLiteral("window.binary_units"), binary);
    for (TraceDocument* document : documents())
        document->selection()->setByteUnit(binary ? views::ByteUnit::GiB : views::ByteUnit::GB);
}

void MainWindow::switchImportsBeside()
{
    m_settings.setImportsBesideSource(!m_settings.importsBesideSource());
    m_actions->setChecked(QStringLiteral("file.import_beside"), m_settings.importsBesideSource());
}

void MainWindow::switchRestoresSession()
{
    m_settings.setRestoresSession(!m_settings.restoresSession());
    m_actions->setChecked(QStringLiteral("window.restore_session"), m_settings.restoresSession());
}

void MainWindow::openFind()
{
    m_finder->open(m_header->searchBox());
}

void MainWindow::popUpMenu()
{
    m_actions->menu()->popup(m_header->mapToGlobal(QPoint(6, m_header->height())));
}

void MainWindow::closeCurrent()
{
    closeDocument(m_header->tabs()->current());
}

void MainWindow::setDark(bool dark)
{
    m_settings.setDark(dark);
    applyTheme(dark);
}

void MainWindow::setLanguage(const QString& language)
{
    m_settings.setLanguage(language);
    applyLanguage(language);
}

void MainWindow::switchDocument(int offset)
{
    const QList<int> keys = m_header->tabs()->keys();
    if (keys.size() < 2) return;
    const qsizetype at = keys.indexOf(m_header->tabs()->current());
    showDocument(keys[(at + offset + keys.size()) % keys.size()]);
}

void MainWindow::showAbout()
{
    auto* box = new QMessageBox(this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("About Fourwalls"));
    box->setIconPixmap(views::programIcon().pixmap(QSize(64, 64), devicePixelRatioF()));
    box->setText(QStringLiteral("<b>Fourwalls %1</b>").arg(QLatin1String(FOURWALLS_VERSION)));
    box->setInformativeText(
        tr("Explorer and profiler for large-model training.") + QStringLiteral("<br><br>") +
        tr("This application is free software under the GNU General Public License, version 3 or later; the "
           "command-line program and its libraries are under the Apache License 2.0. There is no warranty.") +
        QStringLiteral("<br><br>") +
        tr("Built with Qt %1 (LGPL 3), QCustomPlot (GPL 3), SQLite (public domain), oneDNN (Apache 2.0), "
           "nlohmann-json (MIT), CLI11 (BSD 3-clause) and fmt (MIT).")
            .arg(QLatin1String(qVersion())));
    QPushButton* close = box->addButton(tr("Close"), QMessageBox::AcceptRole);
    Q_UNUSED(close);
    box->open();
}

} // namespace fourwalls::gui
