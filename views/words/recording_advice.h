// SPDX-License-Identifier: GPL-3.0-or-later
// What to write so that the next recording has what a trace lacks. One place for all views: the same lack has the same
// advice everywhere, and it fits the tool that made the file.
#pragma once

#include "model/present/recorder.h"

#include <QString>
#include <QStringList>

namespace fourwalls::views {

enum class Lack { Device, Steps, Flops, Memory };

/// The exact lines, or the options of a command, that record it with that tool; empty where the tool cannot. Code is not
/// translated.
QString linesToRecord(Lack lack, Recorder recorder);

/// "To record what is missing: steps: prof.step() · memory: profile_memory=True". For what the tool cannot record, the
/// lines of one that can, or that none can. Empty without lacks, and for Fourwalls' own recordings.
QString howToRecord(const QList<Lack>& lacks, Recorder recorder);

/// Below "there are no steps": the line that marks them, by that tool.
QString howToMarkSteps(Recorder recorder);

} // namespace fourwalls::views
