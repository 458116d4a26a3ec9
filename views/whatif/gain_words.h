// SPDX-License-Identifier: GPL-3.0-or-later
// What a change would gain, in the same words wherever something is selected.
#pragma once

#include "model/replay/gain.h"

#include <QString>

#include <optional>
#include <string>

namespace fourwalls::views {

class Replayer;
struct ReplayGain;

/// A question "what would this gain".
struct AskedGain {
    QString what;                    ///< "rank 1 like the mean"
    std::string change;              ///< as `replay --change` takes it
    std::optional<double> most = {}; ///< share of the step that the cause takes: what is more is not its gain

    static AskedGain of(const replay::GainSubject& subject);
    static AskedGain of(const std::string& change);
    friend bool operator==(const AskedGain&, const AskedGain&) = default;
};

/// "step 30 % shorter, replayed (67 % measured, 33 % scaled)", or that it cannot be said, and why. most: see AskedGain.
QString gainText(const ReplayGain& gain, std::optional<double> most = {});
/// "67 % measured, 33 % scaled": what a changed step rests on.
QString basisText(double measured, double scaled, double modelled);
/// The step that is run again; absent: the trace has none, or it is not known yet.
std::optional<StepIndex> replayedStep(const Replayer& replayer);
/// "of step 5; unchanged, this replay is 0.4 % off, mean of 6 steps"; empty: nothing is known of it yet.
QString replayErrorText(const Replayer& replayer);
/// Why nothing of the open trace can be run again; empty: it can, or it is not known yet.
QString whyNoReplay(const Replayer& replayer);

} // namespace fourwalls::views
