// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_sharing.h.
#include "app/gui/trace_sharing.h"

#include "app/gui/image_export.h"
#include "app/gui/job_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/share_request.h"
#include "app/gui/trace_document.h"
#include "views/base/view.h"
#include "views/words/words.h"

#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QPainter>
#include <QPointer>
#include <QPrintDialog>
#include <QPrinter>

#include <memory>
#include <utility>

namespace fourwalls::gui {

TraceSharing::TraceSharing(MainWindow& window, Settings& settings) : m_window(window), m_settings(settings) {}

void TraceSharing::saveShared(const QString& title, const QString& name, const std::vector<ShareChoice>& choices,
                              std::function<void(const QString& path)> done)
{
    QStringList filters;
    for (const ShareChoice& choice : choices) filters << choice.filter();
    auto* dialog = new QFileDialog(&m_window, title, m_settings.lastFolder(), filters.join(QStringLiteral(";;")));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("share"));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    // A trace's name has other dots: "run.rank0".
    const QString& ending = choices.front().suffix;
    dialog->selectFile(ending.isEmpty() ? name : name + QLatin1Char('.') + ending);
    // Before the dialog asks whether to replace a file.
    const auto suffix = [dialog, choices] {
        for (const ShareChoice& each : choices)
            if (each.filter() == dialog->selectedNameFilter()) dialog->setDefaultSuffix(each.suffix);
    };
    suffix();
    connect(dialog, &QFileDialog::filterSelected, dialog, suffix);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, dialog, title, choices, done = std::move(done)](const QString& chosen) {
                m_settings.setLastFolder(dialog->directory().absolutePath());
                ShareChoice choice = choices.front();
                for (const ShareChoice& each : choices)
                    if (each.filter() == dialog->selectedNameFilter()) choice = each;
                const QString path = choice.named(chosen);
                auto* job = new JobDialog(title, choice.arguments + QStringList{QStringLiteral("-o"), path}, &m_window,
                                          choice.input);
                job->setObjectName(QStringLiteral("shareJob"));
                connect(job, &QDialog::accepted, this, [this, path, done] {
                    m_window.say(tr("Written: %1").arg(path));
                    if (done) done(path);
                });
                job->open();
            });
    dialog->open();
}

const TraceDocument* TraceSharing::document() const
{
    const TraceDocument* document = m_window.currentDocument();
    return document && document->isOpen() ? document : nullptr;
}

QString TraceSharing::stem() const
{
    return QFileInfo(document()->name()).completeBaseName();
}

void TraceSharing::report()
{
    const TraceDocument* shared = document();
    if (!shared || !shared->currentView()) return;
    // As it is now: before a dialog lies over it. The page names no files, so the command has a word for this one.
    const QString view = shared->currentView()->id();
    const SharedView seen{pictureOf(*shared->currentView(), PictureFormat::Png), captionOf(*shared, view),
                          commandOf(*shared, view, QStringLiteral("THIS_TRACE.fourwalls"))};
    saveShared(tr("Report as a page"), stem(), reportChoices(shared->path(), seen));
}

void TraceSharing::exportTrace()
{
    if (const TraceDocument* shared = document())
        saveShared(tr("Export the trace"), stem(), exportChoices(shared->path()));
}

void TraceSharing::trim()
{
    const TraceDocument* shared = document();
    if (!shared) return;
    const views::Selection& selection = *shared->selection();
    const TimeRange range = selection.measured()
                                .value_or(selection.range())
                                .intersected({selection.whole().begin, selection.whole().end + Duration{1}});
    if (range.empty()) return m_window.say(tr("Nothing of the trace is in view."));
    saveShared(tr("Save what is seen as a trace"), stem() + QStringLiteral("-part"), trimChoices(shared->path(), range),
               [this](const QString& path) { m_window.openFile(path); });
}

void TraceSharing::learnRates()
{
    if (const TraceDocument* shared = document())
        saveShared(tr("Learn rates from this trace"), stem() + QStringLiteral("-rates"),
                   calibrateChoices(shared->path()), [this](const QString& path) { m_window.useMachines(path); });
}

void TraceSharing::measureMachine()
{
    saveShared(tr("Measure this machine"), QStringLiteral("this-machine"), measureChoices(),
               [this](const QString& path) { m_window.useMachines(path); });
}

void TraceSharing::mergeFiles()
{
    auto* dialog = new QFileDialog(&m_window, tr("Files of the ranks of one run"), m_settings.lastFolder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("merge"));
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& files) {
        saveShared(tr("Merge into one trace"), QStringLiteral("merged"), mergeChoices(files),
                   [this](const QString& path) { m_window.openFile(path); });
    });
    dialog->open();
}

void TraceSharing::copyCommand()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen() || !m_window.showsTrace()) return;
    const QString command = commandOf(*document, m_window.currentViewId());
    QGuiApplication::clipboard()->setText(command);
    m_window.say(tr("On the clipboard: %1").arg(command));
}

void TraceSharing::exportPicture()
{
    const TraceDocument* document = m_window.currentDocument();
    views::View* view = document ? document->currentView() : nullptr;
    if (!view) return;
    auto* dialog = new QFileDialog(&m_window, tr("Export the view as a picture"), m_settings.lastFolder(),
                                   tr("PNG picture (*.png);;SVG drawing (*.svg);;PDF page (*.pdf)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->selectFile(view->id() + QStringLiteral(".png"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, view = QPointer<views::View>(view)](QString path) {
        if (!view) return;
        const PictureFormat format = pictureFormatOf(path).value_or(PictureFormat::Png);
        writeWholeLater(path, pictureOf(*view, format), this, [this, path](const Status& status) {
            m_window.say(status.ok() ? tr("Written: %1").arg(path) : QString::fromStdString(status.error().message()));
        });
    });
    dialog->open();
}

void TraceSharing::exportTable()
{
    const TraceDocument* document = m_window.currentDocument();
    const views::View* view = document ? document->currentView() : nullptr;
    const QString csv = view ? view->tableAsCsv() : QString();
    if (csv.isEmpty()) {
        m_window.say(tr("This view shows no table."));
        return;
    }
    auto* dialog = new QFileDialog(&m_window, tr("Export the table"), m_settings.lastFolder(), tr("CSV table (*.csv)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->selectFile(view->id() + QStringLiteral(".csv"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, csv](const QString& path) {
        writeWholeLater(path, csv.toUtf8(), this, [this, path](const Status& status) {
            m_window.say(status.ok() ? tr("Written: %1").arg(path) : QString::fromStdString(status.error().message()));
        });
    });
    dialog->open();
}

void TraceSharing::copyTable()
{
    const TraceDocument* document = m_window.currentDocument();
    const views::View* view = document ? document->currentView() : nullptr;
    const QString csv = view ? view->tableAsCsv() : QString();
    if (!csv.isEmpty()) QGuiApplication::clipboard()->setText(csv);
    m_window.say(csv.isEmpty() ? tr("This view shows no table.") : tr("The table is on the clipboard."));
}

void TraceSharing::print()
{
    TraceDocument* document = m_window.currentDocument();
    const QPointer<views::View> view = document && m_window.showsTrace() ? document->currentView() : nullptr;
    if (!view) return;
    const auto printer = std::make_shared<QPrinter>(QPrinter::HighResolution);
    printer->setDocName(document->name());
    printer->setPageOrientation(QPageLayout::Landscape);
    auto* dialog = new QPrintDialog(printer.get(), &m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    const TraceHeader& header = document->session()->info().header;
    const QString heading =
        QStringList{document->name(), view->title(), views::words(header.source), views::words(header.clock)}.join(
            QStringLiteral(" \u00b7 "));
    connect(dialog, qOverload<QPrinter*>(&QPrintDialog::accepted), this, [view, printer, heading] {
        QPainter painter;
        if (!view || !painter.begin(printer.get())) return;
        // The painter begins at the page's margins.
        const QSizeF size = printer->pageLayout().paintRectPixels(printer->resolution()).size();
        printPage(*view, painter, QRectF(QPointF(), size), heading);
    });
    dialog->open();
}

} // namespace fourwalls::gui
