// SPDX-License-Identifier: GPL-3.0-or-later
// The plan of the sliders as something to run: the record request of it, or the command line that predicts it. A network
// or cluster that is no preset goes into a file of its own.
#pragma once

#include "app/gui/record_request.h"
#include "model/cost/predicted_step.h"
#include "model/spec/run_spec.h"
#include "model/trace/vocabulary.h"

#include <QByteArray>
#include <QList>
#include <QString>
#include <QStringList>

#include <utility>

namespace fourwalls::gui {

/// A file that a command needs, by path and content.
using NeededFile = std::pair<QString, QByteArray>;

/// What to give `--model` and `--cluster`: the preset's name where the spec is that preset, else a file in `folder`,
/// which is added to `files`.
QString modelWord(const RunSpec& spec, const QString& folder, QList<NeededFile>& files);
QString clusterWord(const RunSpec& spec, const QString& folder, QList<NeededFile>& files);

/// "predict --model … --plan …": everything after the program's name.
QStringList predictArguments(const RunSpec& spec, const QString& folder, QList<NeededFile>& files);

/// The recording of a few steps of this plan. clock: of the trace that the sliders started from; predicted ones are
/// recorded on the device clock, which has a device per rank.
RecordRequest recordRequestOf(const RunSpec& spec, ClockKind clock, const QString& folder, QList<NeededFile>& files);

/// Why the embedded engine cannot run this here; empty: it can. step: its prediction, may be null.
QString whyNotRecordable(const RunSpec& spec, const cost::PredictedStep* step);

/// A plan given on the command line under the rest of a spec; the batch becomes one that the plan divides.
RunSpec withPlan(const RunSpec& spec, const ParallelPlan& plan);

} // namespace fourwalls::gui
