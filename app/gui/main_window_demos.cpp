// SPDX-License-Identifier: GPL-3.0-or-later
// The window's demos: the page that lists them, the panel that plays them, and the claims.
#include "app/gui/appearance.h"
#include "app/gui/demo_player.h"
#include "app/gui/file_opener.h"
#include "app/gui/main_window.h"
#include "app/gui/window_actions.h"
#include "views/chrome/welcome_page.h"
#include "views/demos/claims_page.h"
#include "views/demos/demo_panel.h"
#include "views/demos/demos_page.h"
#include "views/hang/hang_page.h"
#include "views/runs/runs_page.h"

#include <QFileDialog>
#include <QStackedWidget>

namespace fourwalls::gui {

void MainWindow::buildDemos(QWidget* centre)
{
    m_demos = new views::DemosPage(m_pages);
    m_claims = new views::ClaimsPage(m_pages);
    for (QWidget* page : {static_cast<QWidget*>(m_demos), static_cast<QWidget*>(m_claims)}) {
        page->setFocusPolicy(Qt::ClickFocus);
        m_pages->addWidget(page);
    }
    m_demoPanel = new views::DemoPanel(centre);
    m_demoPanel->hide();
    m_player = new DemoPlayer(*this, *m_demoPanel, m_opener);
    connect(m_demos, &views::DemosPage::demoChosen, this, &MainWindow::startDemo);
    connect(m_demos, &views::DemosPage::fileRequested, this, &MainWindow::chooseDemo);
    connect(m_welcome, &views::WelcomePage::demosRequested, this, [this] { showView(QStringLiteral("demos")); });
    connect(m_demoPanel, &views::DemoPanel::openRequested, m_files.get(), &FileOpener::choose);
    connect(m_demoPanel, &views::DemoPanel::recordRequested, this, qOverload<>(&MainWindow::openRecordDialog));
    connect(m_player, &DemoPlayer::failed, this, [this](const Error& error) {
        say(tr("The demo cannot be played: %1").arg(QString::fromStdString(error.message())));
    });
    const auto enable = [this] { m_actions->setPossible(ActionNeeds::Demo, m_player->isPlaying()); };
    connect(m_player, &DemoPlayer::started, this, enable);
    connect(m_player, &DemoPlayer::stopped, this, enable);
}

void MainWindow::startDemo(const QString& idOrFile)
{
    say(tr("Preparing the demo…"));
    m_player->start(idOrFile);
}

void MainWindow::chooseDemo()
{
    auto* dialog =
        new QFileDialog(this, tr("Open a demo"), m_settings.lastFolder(), tr("Demos (*.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::startDemo);
    dialog->open();
}

QWidget* MainWindow::pageOf(const QString& id) const
{
    if (id == QLatin1String("welcome")) return m_welcome;
    if (id == QLatin1String("demos")) return m_demos;
    if (id == QLatin1String("claims")) return m_claims;
    if (id == QLatin1String("hang")) return m_hang;
    if (id == QLatin1String("runs")) return m_runs;
    return nullptr;
}

} // namespace fourwalls::gui
