// SPDX-License-Identifier: GPL-3.0-or-later
// What to record, as the command line that does it; and what its progress lines say.
#pragma once

#include "model/base/result.h"

#include <QString>
#include <QStringList>

#include <optional>

namespace fourwalls::gui {

/// The choices of the Record dialog. Defaults: a GPT that trains a step in well under a second.
struct RecordRequest {
    QString model = QStringLiteral("gpt-tiny");
    int steps = 20;
    int batch = 8;    ///< sequences or images
    int sequence = 0; ///< tokens; 0: the model's own length
    QString optimizer = QStringLiteral("adamw");
    double learningRate = 3e-4;
    QString precision = QStringLiteral("f32");
    QString plan; ///< how the step is cut over ranks, as on the command line; empty: one rank
    QString clock = QStringLiteral("wall");
    QString device = QStringLiteral("cpu");
    QString transport = QStringLiteral("local");
    QString cluster; ///< whose links the device clock models: a preset or a file; empty: this machine
    QString data;    ///< text file; empty: the text that ships with us
    QString output;  ///< .fourwalls file

    /// A program of the user's own, as typed into a shell: it is recorded in place of the engine. Empty: the engine.
    QString command;
    QString commandSteps;  ///< of the program that are recorded, "10-13"; empty: all
    QString commandFolder; ///< where it runs; empty: here

    /// "record -o … --json": everything after the program's name.
    QStringList arguments() const;
    /// What is missing or cannot be read; empty: nothing.
    QString problem() const;
};

/// The words of a command as a shell splits them: quotes and backslashes count, variables and pipes do not. Variables set
/// before the program ("A=1 python x.py") are set with env. Errors: InvalidArgument for a quote that is not closed.
Result<QStringList> wordsOfCommand(const QString& command);

/// The program and its arguments as one line to paste into a shell.
QString shellCommand(const QString& program, const QStringList& arguments);

/// One line of the child's progress: a JSON object, or words.
struct RecordProgress {
    std::optional<int> step, steps; ///< "step 2 (3/20)": the third of twenty
    std::optional<double> loss;
    std::optional<double> share; ///< done so far, 0 to 1, of what is not counted in steps
    QString message;             ///< for a person
};
RecordProgress parseProgress(const QString& line);

} // namespace fourwalls::gui
