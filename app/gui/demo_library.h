// SPDX-License-Identifier: GPL-3.0-or-later
// The demos that the program carries, demos from files, and everything that one needs before it can play: its traces
// as files and the figures of its texts.
#pragma once

#include "views/demos/claims_page.h"
#include "views/demos/demo.h"
#include "views/demos/demo_figures.h"
#include "views/demos/demos_page.h"
#include "views/runs/run_curve_plots.h"
#include "views/session/trace_session.h"

#include <QHash>
#include <QList>
#include <QObject>
#include <QStringList>

#include <functional>
#include <memory>

namespace fourwalls::gui {

/// Ids of the demos that the program carries, in the order of the demos page.
QStringList builtInDemos();
/// The entries of the demos page in a language.
QList<views::DemoEntry> demoEntries(const QString& language);

/// A demo that can play.
struct PreparedDemo {
    views::Demo demo;
    QHash<QString, QString> paths;                        ///< name of the trace to its file
    QHash<QString, std::shared_ptr<views::RunList>> runs; ///< name to runs, where the file is a list of them
    /// By step; the figures of a step's plan are "predicted".
    QList<views::DemoSources> sources;
};

/// Reads a demo by the id of a carried one or by the path of a file, writes carried traces into the user's cache, and
/// reads or predicts all figures. Blocks: for worker threads.
/// Errors: NotFound with the ids; Format for a broken demo; those of its traces.
Result<PreparedDemo> prepareDemo(const QString& idOrFile, const views::TraceOpener& opener);
/// The same on a pool thread; `done` runs on the GUI thread unless `receiver` is gone.
void prepareDemoLater(const QString& idOrFile, const views::TraceOpener& opener, QObject* receiver,
                      std::function<void(const Result<PreparedDemo>&)> done);

/// Computes the claims and what the carried traces recorded for them on a pool thread and shows them.
void loadClaimsLater(const views::TraceOpener& opener, views::ClaimsPage* page);

/// The claims' texts of a language; none for that of the sources.
views::ClaimWords claimWords(const QString& language);

/// Where carried traces are written to; traces there are no files of the user.
QString demoFolder();

} // namespace fourwalls::gui
