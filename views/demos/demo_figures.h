// SPDX-License-Identifier: GPL-3.0-or-later
// The figures that a demo's texts name in braces: read from its traces, or from a prediction, and never typed in.
// "{step_time}", "{peak.activations / peak | percent}", "{gpipe.bubble}", "{predicted.peak}".
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "model/trace/metrics.h"
#include "model/trace/trace_query.h"
#include "views/words/format.h"

#include <QHash>
#include <QString>
#include <QStringList>

#include <map>
#include <memory>
#include <optional>

namespace fourwalls::views {

/// What a figure measures: how it is written, and what may be added to it.
enum class DemoUnit { None, Seconds, Bytes, Fraction, Count, BytesPerSecond, PerSecond, Word };

struct DemoValue {
    double number = 0;
    DemoUnit unit = DemoUnit::None;
    QString word; ///< of DemoUnit::Word
};

/// All figures of one trace (or prediction, or of the claims) by name; docs/demos.md lists them. Unknown ones are
/// absent.
using DemoFigures = std::map<QString, DemoValue>;

/// Reads them. Takes what a look at the overview takes: stored summaries only. Errors: those of the queries.
Result<DemoFigures> figuresOf(TraceQuery& trace);

/// The recorded spec with some keys of its plan changed; "batch=64 seq=2048 cluster=NAME" change those.
/// Errors: InvalidArgument for a plan that cannot be read or does not fit; NotFound for an unknown cluster.
Result<RunSpec> changedSpec(const RunSpec& recorded, const QString& changes);
/// The figures of a predicted step, through the same trace queries, and "feasible". Errors: of the cost model.
Result<DemoFigures> predictedFigures(const RunSpec& spec);

/// "total", "reproduced", "differs", "unchecked" of the published claims. Errors: of the cost model.
Result<DemoFigures> claimFigures();

/// The figures that a text may name: those of `current` without a prefix, the others as "name.figure".
struct DemoSources {
    QHash<QString, std::shared_ptr<const DemoFigures>> byName;
    QString current;
};

/// The value of one expression: figures, numbers, + - * / and parentheses.
/// Errors: Format for what is no expression, NotFound for an unknown figure.
Result<DemoValue> evaluate(const QString& expression, const DemoSources& sources);

/// The text with every {expression} or {expression | form} replaced; forms: percent, times, whole, figure, bytes, time.
/// An expression that has no value becomes a dash, and why is added to `problems`.
QString fillIn(const QString& text, const DemoSources& sources, ByteUnit bytes, QStringList* problems = nullptr,
               QStringList* figures = nullptr);

} // namespace fourwalls::views
