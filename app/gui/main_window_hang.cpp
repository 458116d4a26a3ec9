// SPDX-License-Identifier: GPL-3.0-or-later
// The window's page for the dumps of a hung job.
#include "app/gui/child_job.h"
#include "app/gui/hang_reading.h"
#include "app/gui/main_window.h"
#include "views/hang/hang_page.h"
#include "views/session/gui_call.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QStackedWidget>

#include <memory>

namespace fourwalls::gui {

void MainWindow::buildHang()
{
    m_hang = new views::HangPage(m_pages);
    m_hang->setFocusPolicy(Qt::ClickFocus);
    m_pages->addWidget(m_hang);
    const auto choose = [this](bool folder) {
        auto* dialog = new QFileDialog(this, tr("Open the dumps of a hung job"), m_settings.lastFolder());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setObjectName(QStringLiteral("dumps"));
        dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFiles);
        dialog->resize(860, 520);
        connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::openDumps);
        dialog->open();
    };
    connect(m_hang, &views::HangPage::folderRequested, this, [choose] { choose(true); });
    connect(m_hang, &views::HangPage::filesRequested, this, [choose] { choose(false); });
}

void MainWindow::openDumps(const QStringList& dumps)
{
    if (dumps.isEmpty()) return;
    const QString name = QFileInfo(dumps.constFirst()).isDir() ? QDir(dumps.constFirst()).dirName()
                                                               : QFileInfo(dumps.constFirst()).absoluteDir().dirName();
    m_hang->setReading(name);
    showView(QStringLiteral("hang"));
    delete m_hangJob; // of dumps that nobody wants any more
    m_hangJob = new ChildJob(this);
    connect(m_hangJob, &ChildJob::failed, m_hang, &views::HangPage::setProblem);
    connect(m_hangJob, &ChildJob::succeeded, this, [this, name] {
        const auto read = [text = m_hangJob->output()] {
            return std::make_shared<Result<diagnose::HangReport>>(hangReportOf(text));
        };
        views::runLater(
            m_hang, read, [this, name, job = m_hangJob](const std::shared_ptr<Result<diagnose::HangReport>>& report) {
                if (!job) return; // other dumps were opened meanwhile
                if (report->ok())
                    m_hang->setReport(name, std::make_shared<const diagnose::HangReport>(std::move(**report)));
                else
                    m_hang->setProblem(report->error());
            });
    });
    m_hangJob->start(hangArguments(dumps));
}

} // namespace fourwalls::gui
