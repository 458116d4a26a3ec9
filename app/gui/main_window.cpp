// SPDX-License-Identifier: GPL-3.0-or-later
// The window: its parts, the open traces, and what is shown when. Its actions are in main_window_actions.cpp.
#include "app/gui/main_window.h"

#include "app/gui/appearance.h"
#include "app/gui/child_job.h"
#include "app/gui/demo_library.h"
#include "app/gui/demo_player.h"
#include "app/gui/file_opener.h"
#include "app/gui/process_figures.h"
#include "app/gui/samples.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_sharing.h"
#include "app/gui/what_if_dock.h"
#include "app/gui/window_actions.h"
#include "app/gui/window_finder.h"
#include "views/chrome/header_bar.h"
#include "views/chrome/icon.h"
#include "views/chrome/rail.h"
#include "views/chrome/status_strip.h"
#include "views/chrome/trace_tabs.h"
#include "views/chrome/welcome_page.h"
#include "views/demos/claims_page.h"
#include "views/demos/demo_panel.h"
#include "views/demos/demos_page.h"
#include "views/plot/spoken.h"
#include "views/view_registry.h"
#include "views/words/words.h"

#include <QCloseEvent>
#include <QDropEvent>
#include <QIcon>
#include <QMenu>
#include <QMimeData>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace fourwalls::gui {

namespace {

const QString kWelcome = QStringLiteral("welcome"), kOverview = QStringLiteral("overview");

/// The local files of a drag, in order.
QStringList filesOf(const QMimeData* mime)
{
    QStringList files;
    for (const QUrl& url : mime->urls())
        if (url.isLocalFile()) files.append(url.toLocalFile());
    return files;
}

} // namespace

MainWindow::MainWindow(views::TraceOpener opener, Settings& settings, QWidget* parent)
    : QMainWindow(parent)
    , m_opener(std::move(opener))
    , m_settings(settings)
    , m_actions(std::make_unique<WindowActions>(*this, settings))
    , m_files(std::make_unique<FileOpener>(*this, settings))
    , m_sharing(std::make_unique<TraceSharing>(*this, settings))
    , m_finder(std::make_unique<WindowFinder>(*this, settings))
{
    views::installSpoken();
    setWindowTitle(QStringLiteral("Fourwalls"));
    setWindowIcon(views::programIcon());
    setAcceptDrops(true);
    setMinimumSize(800, 500);

    auto* centre = new QWidget(this);
    m_header = new views::HeaderBar(centre);
    m_rail = new views::Rail(centre);
    m_status = new views::StatusStrip(centre);
    m_pages = new QStackedWidget(centre);
    m_welcome = new views::WelcomePage(m_pages);
    m_welcome->setFocusPolicy(Qt::ClickFocus);
    m_frame = new QWidget(m_pages);
    m_documents = new QStackedWidget(m_frame);
    auto* margins = new QVBoxLayout(m_frame);
    margins->setContentsMargins(0, 0, 0, 0); // views keep their own distance from the edges
    margins->addWidget(m_documents);
    m_pages->addWidget(m_welcome);
    m_pages->addWidget(m_frame);

    auto* middle = new QHBoxLayout;
    middle->setSpacing(0);
    middle->addWidget(m_rail);
    buildDemos(centre);
    buildHang();
    buildRuns();
    auto* shown = new QVBoxLayout;
    shown->setSpacing(0);
    buildDocks(centre);
    shown->addWidget(m_dockHost, 1);
    shown->addWidget(m_demoPanel);
    middle->addLayout(shown, 1);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addLayout(middle, 1);
    column->addWidget(m_status);
    setCentralWidget(centre);

    m_rail->addEntry(kWelcome, kWelcome, {});
    for (const views::ViewEntry& entry : views::viewRegistry()) m_rail->addEntry(entry.id, entry.id, {});
    m_rail->addEntry(QStringLiteral("runs"), QStringLiteral("runs"), {});
    m_rail->addEntry(QStringLiteral("hang"), QStringLiteral("hang"), {});
    m_rail->addEntry(QStringLiteral("demos"), QStringLiteral("demos"), {});

    connect(m_rail, &views::Rail::chosen, this, &MainWindow::showView);
    connect(m_header, &views::HeaderBar::findRequested, this, &MainWindow::openFind);
    connect(m_header->tabs(), &views::TraceTabs::chosen, this, &MainWindow::showDocument);
    connect(m_header->tabs(), &views::TraceTabs::closeRequested, this, &MainWindow::closeDocument);
    connect(m_welcome, &views::WelcomePage::openRequested, m_files.get(), &FileOpener::choose);
    connect(m_welcome, &views::WelcomePage::recordRequested, this, qOverload<>(&MainWindow::openRecordDialog));
    connect(m_welcome, &views::WelcomePage::fileRequested, this, [this](const QString& path) { openFiles({path}); });
    connect(m_welcome, &views::WelcomePage::sampleRequested, m_files.get(), &FileOpener::makeSample);

    // The program's own figures change with every frame; four times a second is enough to read them.
    m_figuresTimer.setSingleShot(true);
    m_figuresTimer.setInterval(250);
    connect(&m_figuresTimer, &QTimer::timeout, this, &MainWindow::updateOwnFigures);
    m_messageTimer.setSingleShot(true);
    m_messageTimer.setInterval(6000);
    connect(&m_messageTimer, &QTimer::timeout, this, [this] { m_status->setMessage({}); });

    m_header->setMenu(m_actions->menu());
    retranslate();
    showView(kWelcome);
    if (!restoreGeometry(m_settings.geometry())) resize(1440, 860);
    if (!m_settings.docks().isEmpty()) m_dockHost->restoreState(m_settings.docks());
}

// Docks report that they are hidden while the window is torn down. Nobody listens any more: m_whatIf is gone by then.
MainWindow::~MainWindow() = default;

void MainWindow::buildDocks(QWidget* centre)
{
    m_dockHost = new QMainWindow(centre);
    m_dockHost->setWindowFlags(Qt::Widget); // QMainWindow's constructor makes a window of it
    m_dockHost->setContextMenuPolicy(Qt::NoContextMenu);
    m_dockHost->setCentralWidget(m_pages);
    m_whatIf = std::make_unique<WhatIfDock>(*this, *m_dockHost, m_settings);
    connect(m_header, &views::HeaderBar::whatIfToggled, m_whatIf.get(), &WhatIfDock::show);
    connect(m_whatIf.get(), &WhatIfDock::changed, m_header, &views::HeaderBar::setWhatIf);
}

void MainWindow::showWhatIf(bool shown)
{
    m_whatIf->show(shown);
}

bool MainWindow::showsWhatIf() const
{
    return m_whatIf->isShown();
}

views::WhatIfPanel* MainWindow::whatIfPanel() const
{
    return m_whatIf->panel();
}

void MainWindow::useMachines(const QString& path)
{
    m_whatIf->takeMachines(path);
}

TraceDocument* MainWindow::currentDocument() const
{
    const auto found = m_byKey.find(m_header->tabs()->current());
    return found == m_byKey.end() ? nullptr : found->second;
}

QList<TraceDocument*> MainWindow::documents() const
{
    QList<TraceDocument*> list;
    for (const int key : m_header->tabs()->keys())
        if (const auto found = m_byKey.find(key); found != m_byKey.end()) list.append(found->second);
    return list;
}

int MainWindow::keyOf(const TraceDocument* document) const
{
    for (const auto& [key, each] : m_byKey)
        if (each == document) return key;
    return 0;
}

TraceDocument* MainWindow::openFile(const QString& path, OpenedAs as)
{
    for (const auto& [key, document] : m_byKey) {
        if (document->path() == path && !document->hasFailed()) {
            if (as == OpenedAs::InFront) showDocument(key);
            return document;
        }
    }
    // The worker starts to open the file here, before any widget of the view is made.
    auto* document = new TraceDocument(m_opener, path, m_documents);
    m_documents->addWidget(document);
    const int key = m_header->tabs()->addTab(document->name(), path);
    m_byKey.emplace(key, document);
    watch(key, document);
    if (as == OpenedAs::InFront) showDocument(key);
    return document;
}

void MainWindow::watch(int key, TraceDocument* document)
{
    connect(document, &TraceDocument::outOfMemoryFound, this, &MainWindow::updateChrome);
    connect(document, &TraceDocument::opened, this, [this, key, document, place = m_files->takePlace()] {
        const TraceSource source = document->session()->info().header.source;
        m_header->tabs()->setChip(key, views::words(source), views::chipKindOf(source));
        document->selection()->setByteUnit(m_settings.binaryUnits() ? views::ByteUnit::GiB : views::ByteUnit::GB);
        if (!document->isCarried()) m_settings.addRecentFile(document->source());
        showRecentFiles();
        if (document == currentDocument()) showFirstView(*document);
        if (place) {
            if (!place->view.isEmpty() && document == currentDocument()) showView(place->view);
            if (views::View* view = document->currentView())
                if (const Status paged = showPage(*view, place->page); !paged.ok())
                    say(QString::fromStdString(paged.error().message()));
            goToPlace(*document, *place, [this](const Status& status) {
                if (!status.ok()) say(QString::fromStdString(status.error().message()));
            });
        }
        updateChrome();
    });
    m_whatIf->watch(document);
    connect(document, &TraceDocument::failed, this, &MainWindow::updateChrome);
    connect(document, &TraceDocument::closeRequested, this, [this, key] { closeDocument(key); });
    connect(document, &TraceDocument::retryRequested, this, [this, key, document] {
        const QString path = document->path();
        closeDocument(key);
        openFile(path);
    });
    connect(document, &TraceDocument::frameShown, this, [this](double milliseconds) {
        m_frameMs = milliseconds;
        if (!m_figuresTimer.isActive()) m_figuresTimer.start();
    });
    connect(document, &TraceDocument::finalDataPainted, this, [this] {
        if (!m_figuresTimer.isActive()) m_figuresTimer.start();
    });
    connect(document->selection(), &views::Selection::sliceChanged, this, &MainWindow::showStatus);
    connect(document->selection(), &views::Selection::viewRequested, this, [this, document](const QString& id) {
        if (document == currentDocument()) showView(id);
    });
    connect(document->selection(), &views::Selection::commandRequested, this, [this, document](const QString& name) {
        QAction* action = m_actions->find(name);
        if (document == currentDocument() && action) action->trigger();
    });
}

void MainWindow::showDocument(int key)
{
    const auto found = m_byKey.find(key);
    if (found == m_byKey.end()) return;
    m_header->tabs()->setCurrent(key);
    m_documents->setCurrentWidget(found->second);
    m_frameMs.reset();
    // What another trace chose by itself is no choice for this one.
    showView(m_viewIsTraces ? kOverview : pageOf(m_viewId) ? m_lastTraceView : m_viewId);
    if (found->second->isOpen()) showFirstView(*found->second);
}

void MainWindow::showFirstView(const TraceDocument& document)
{
    const QString view = firstViewOf(document.session()->info());
    if (m_viewId != kOverview || view == kOverview) return;
    showView(view);
    m_lastTraceView = kOverview;
    m_viewIsTraces = true;
}

void MainWindow::closeDocument(int key)
{
    const auto found = m_byKey.find(key);
    if (found == m_byKey.end()) return;
    TraceDocument* document = found->second;
    const bool wasCurrent = document == currentDocument();
    m_byKey.erase(found);
    m_header->tabs()->removeTab(key);
    m_documents->removeWidget(document);
    document->deleteLater(); // it may be the sender
    if (!wasCurrent) return;
    if (m_byKey.empty()) {
        m_header->tabs()->setCurrent(0);
        showView(kWelcome);
    } else {
        showDocument(m_header->tabs()->keys().constLast());
    }
}

void MainWindow::showView(const QString& id)
{
    TraceDocument* document = currentDocument();
    QWidget* page = pageOf(id);
    const bool isTraceView = !page;
    const auto& known = views::viewRegistry();
    if (isTraceView && (!document || std::none_of(known.begin(), known.end(),
                                                  [&](const views::ViewEntry& entry) { return entry.id == id; })))
        return;
    m_viewId = id;
    m_viewIsTraces = false;
    if (isTraceView) {
        m_lastTraceView = id;
        views::View* view = document->showView(id);
        m_pages->setCurrentWidget(m_frame);
        if (view) {
            prepareCompare(view);
            prepareTables(view);
            m_actions->applyShortcuts(view->viewActions());
            view->setFocus(); // keys go to the view, not to the header
        }
    } else {
        m_pages->setCurrentWidget(page);
        page->setFocus();
        if (page == m_claims && !m_claimsAsked) {
            m_claimsAsked = true;
            loadClaimsLater(m_opener, m_claims);
        }
    }
    m_rail->setCurrent(page == m_claims ? QStringLiteral("demos") : id); // the claims have no entry of their own
    updateChrome();
}

void MainWindow::showStatus()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return m_status->setItems({});
    QList<views::StatusItem> items = views::statusOf(document->session()->info(), document->outOfMemory());
    if (const auto chosen = document->selection()->slice()) {
        const auto track = static_cast<std::size_t>(chosen->slice.track.value);
        const auto& tracks = document->session()->tracks();
        if (track < tracks.size())
            items.append(views::selectedItem(chosen->slice, chosen->op.get(), tracks[track].info.rank));
    }
    m_status->setItems(items);
}

void MainWindow::updateChrome()
{
    const TraceDocument* document = currentDocument();
    const bool isOpen = document && document->isOpen();
    m_header->setTrace(isOpen ? &document->session()->info() : nullptr);
    showStatus();
    if (document && !isOpen && !document->hasFailed()) {
        m_messageTimer.stop(); // else this would stay until the time of what it replaces is over
        m_status->setMessage(tr("Opening %1…").arg(document->name()));
    } else if (!m_messageTimer.isActive()) {
        m_status->setMessage({});
    }
    const QString reason = tr("Open a trace first");
    for (const QString& id : m_rail->ids()) m_rail->setEntryEnabled(id, pageOf(id) || document, reason);
    m_actions->setPossible(ActionNeeds::Document, document != nullptr);
    m_actions->setPossible(ActionNeeds::OpenView, isOpen && showsTrace());
    setWindowTitle(document && !pageOf(m_viewId) ? document->name() + QStringLiteral(" – Fourwalls")
                                                 : QStringLiteral("Fourwalls"));
    m_whatIf->update();
    updateOwnFigures();
}

void MainWindow::updateOwnFigures()
{
    views::OwnFigures figures;
    const TraceDocument* document = currentDocument();
    if (document && document->isOpen() && !pageOf(m_viewId)) {
        figures.openedMs = document->session()->openMilliseconds();
        if (document->firstPaintMs() && !document->wasHiddenWhenOpened()) figures.openedMs = document->firstPaintMs();
        figures.frameMs = m_frameMs;
        figures.residentMegabytes = residentMegabytes();
    }
    m_status->setOwnFigures(figures);
}

void MainWindow::say(const QString& text)
{
    m_status->setMessage(text);
    m_messageTimer.start();
}

void MainWindow::restoreSession()
{
    if (!m_settings.restoresSession()) return;
    const QString view = m_settings.sessionView();
    for (const QString& path : m_settings.sessionFiles()) openFiles({path});
    if (view.isEmpty()) return;
    showView(view);
    // Files that must be looked at first open a moment later.
    for (const views::ViewEntry& entry : views::viewRegistry())
        if (entry.id == view) m_lastTraceView = view;
}

void MainWindow::setViewOnly(bool viewOnly)
{
    m_header->setVisible(!viewOnly);
    m_rail->setVisible(!viewOnly);
    m_status->setVisible(!viewOnly);
    m_whatIf->setBarred(viewOnly);
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!m_tagsToWrite.isEmpty() && !m_closesWhenTagged) { // a moment; who closes once more does not wait
        m_closesWhenTagged = true;
        event->ignore();
        return;
    }
    QStringList files;
    for (const TraceDocument* document : documents())
        if (!document->hasFailed() && !document->isCarried()) files.append(document->source());
    m_settings.setSession(files, m_viewId);
    m_settings.setGeometry(saveGeometry());
    m_settings.setDocks(m_dockHost->saveState());
    QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event)
{
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!filesOf(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    openFiles(filesOf(event->mimeData()));
    event->acceptProposedAction();
}

void MainWindow::retranslate()
{
    m_header->retranslate();
    for (const QString& id : m_rail->ids()) m_rail->setTitle(id, views::viewTitle(id));
    m_welcome->setSamples(samples());
    m_demos->setDemos(demoEntries(currentLanguage()));
    m_claims->setWords(claimWords(currentLanguage()));
    m_actions->retranslate();
    showRecentFiles();
    for (const auto& [key, document] : m_byKey) {
        if (!document->isOpen()) continue;
        const TraceSource source = document->session()->info().header.source;
        m_header->tabs()->setChip(key, views::words(source), views::chipKindOf(source));
    }
    m_player->retranslate();
    updateChrome();
}

} // namespace fourwalls::gui
