// SPDX-License-Identifier: GPL-3.0-or-later
// What a prediction says, in the user's language: its parts, and whether it fits.
#pragma once

#include "model/cost/predicted_step.h"
#include "model/trace/inferred_spec.h"
#include "views/words/format.h"

#include <QString>

#include <span>
#include <vector>

namespace fourwalls::views {

class WhatIf;

QString words(cost::CostPart part);
/// "matrix products": the part that takes most of the step, or waiting for the pipeline.
QString dominantWords(const cost::PredictedStep& step);

/// One term of a rank's memory, for bars and sentences.
struct MemoryShare {
    QString name;
    MemoryCategory category; ///< whose colour it has
    double bytes = 0;
};
/// The terms at the peak of the fullest stage, static ones first; empty ones left out. They add up to the peak.
std::vector<MemoryShare> memoryShares(const cost::PredictedStep& step);

/// "Fits: 61.8 GB of 80 GB, most of it activations (30.1 GB)", or what does not fit and by how much.
QString memorySentence(const cost::PredictedStep& step, ByteUnit unit);

/// " · guessed", to stand behind every prediction for a trace whose network, plan and devices nobody wrote down
/// (WhatIf::isGuess); empty for the others and without predictions (null).
QString guessedNote(const WhatIf* whatIf);
/// What a ghost is: "predicted", or "replayed" where WhatIf::showsReplay.
QString ghostName(const WhatIf* whatIf);
/// "predicted 42 %" with guessedNote, or "replayed 42 %".
QString ghostFigure(const WhatIf* whatIf, const QString& value);
/// To stand behind the name of a ghost: the step that was replayed, and how much of it was measured, scaled and modelled; guessedNote of a prediction.
QString ghostNote(const WhatIf* whatIf);
/// Something that an importer could tell: "layers = 12", "hidden = 2880 (or 64, 50 % as likely)".
QString inferredText(const InferredField& field);
/// The name of a field of the specification, in words where the language has some.
QString fieldWords(const std::string& field);
/// Why nothing is predicted for a trace without a specification, what to fill in, and what the trace shows of it; empty
/// where something is predicted. whatIf: null without predictions.
QString whyNothingIsPredicted(const WhatIf* whatIf, std::span<const InferredField> inferred = {});

} // namespace fourwalls::views
