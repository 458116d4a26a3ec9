// SPDX-License-Identifier: GPL-3.0-or-later
// The window's page for a folder of trainings.
#include "app/gui/child_job.h"
#include "app/gui/main_window.h"
#include "app/gui/runs_reading.h"
#include "views/runs/runs_page.h"
#include "views/session/gui_call.h"

#include <QDir>
#include <QFileDialog>
#include <QStackedWidget>

#include <memory>

namespace fourwalls::gui {

void MainWindow::buildRuns()
{
    m_runs = new views::RunsPage(m_pages);
    m_runs->setFocusPolicy(Qt::ClickFocus);
    m_pages->addWidget(m_runs);
    connect(m_runs, &views::RunsPage::folderRequested, this, [this] {
        auto* dialog = new QFileDialog(this, tr("Open a folder of runs"), m_settings.lastFolder());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setObjectName(QStringLiteral("runs"));
        dialog->setFileMode(QFileDialog::Directory);
        dialog->resize(860, 520);
        connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openRuns);
        dialog->open();
    });
    connect(m_runs, &views::RunsPage::openRequested, this, [this](const QString& file) {
        if (!m_runFolder.isEmpty()) openFiles({QDir(m_runFolder).filePath(file)});
    });
    connect(m_runs, &views::RunsPage::tagsChanged, this, [this](const QString& file, const QStringList& tags) {
        if (m_runFolder.isEmpty()) return; // of a demo: there are no files
        m_tagsToWrite.enqueue(tagArguments(m_runFolder, file, tags));
        if (m_tagsToWrite.size() == 1) writeTags();
    });
}

/// One after the other: each reads the list of tags and writes it with its own.
void MainWindow::writeTags()
{
    if (m_tagsToWrite.isEmpty()) {
        if (m_closesWhenTagged) close();
        return;
    }
    auto* job = new ChildJob(this);
    const auto ended = [this, job] {
        job->deleteLater();
        m_tagsToWrite.dequeue();
        writeTags();
    };
    connect(job, &ChildJob::succeeded, this, ended);
    connect(job, &ChildJob::failed, this, [this, ended](const Error& error) {
        say(QString::fromStdString(error.message()));
        ended();
    });
    job->start(m_tagsToWrite.head());
}

void MainWindow::showRuns(const QString& name, const std::shared_ptr<views::RunList>& list)
{
    delete m_runsJob; // of a folder that nobody wants any more
    m_runFolder.clear();
    m_runs->setRuns(name, list);
    showView(QStringLiteral("runs"));
}

void MainWindow::openRuns(const QString& folder)
{
    if (folder.isEmpty()) return;
    m_runFolder = folder;
    const QString name = QDir(folder).dirName();
    m_runs->setReading(name);
    showView(QStringLiteral("runs"));
    delete m_runsJob; // of a folder that nobody wants any more
    m_runsJob = new ChildJob(this);
    connect(m_runsJob, &ChildJob::failed, m_runs, &views::RunsPage::setProblem);
    connect(m_runsJob, &ChildJob::succeeded, this, [this, name] {
        using Answer = std::shared_ptr<Result<std::shared_ptr<views::RunList>>>;
        const auto read = [text = m_runsJob->output()] {
            return std::make_shared<Result<std::shared_ptr<views::RunList>>>(runListOf(text));
        };
        views::runLater(m_runs, read, [this, name, job = m_runsJob](const Answer& list) {
            if (!job) return; // another folder was opened meanwhile
            if (list->ok())
                m_runs->setRuns(name, **list);
            else
                m_runs->setProblem(list->error());
        });
    });
    m_runsJob->start(runsArguments(folder));
}

} // namespace fourwalls::gui
