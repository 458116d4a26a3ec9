// SPDX-License-Identifier: GPL-3.0-or-later
// A guided demo as a teacher writes it: a plain JSON file over small traces (docs/demos.md describes the format). Every
// figure in its texts is an expression in braces that is read from the traces; see demo_figures.h.
#pragma once

#include "model/base/result.h"

#include <QByteArray>
#include <QList>
#include <QMap>
#include <QString>
#include <QStringList>

#include <array>
#include <optional>
#include <utility>

namespace fourwalls::views {

/// One text in several languages.
class DemoText {
public:
    DemoText() = default;
    explicit DemoText(QMap<QString, QString> byLanguage) : m_byLanguage(std::move(byLanguage)) {}

    /// In that language ("en", "zh_CN"), else in English, else in any; empty if there is none.
    QString in(const QString& language) const;
    bool has(const QString& language) const { return m_byLanguage.contains(language); }
    bool empty() const { return m_byLanguage.isEmpty(); }

private:
    QMap<QString, QString> m_byLanguage;
};

/// What one step shows and says.
struct DemoStep {
    DemoText caption;          ///< at most two sentences
    DemoText touch;            ///< what to try with one's own hands; may be empty
    DemoText question, answer; ///< both or neither
    QString view;              ///< id as on the command line; empty: stays as it is
    QString trace;             ///< a name of Demo::traces; empty: the first
    std::optional<int> step, rank;
    /// Part of the shown step (or of the whole trace) that is in view, from 0 to 1.
    std::optional<std::array<double, 2>> range;
    std::optional<QString> plan; ///< what the sliders say: the recorded plan with these keys changed
    QStringList actions;         ///< names of the view's actions to switch on; "-name" switches one off
    bool own = false;            ///< the last step: the reader's own numbers
};

struct Demo {
    QString id; ///< the file's name without suffix
    DemoText title, summary;
    QString wall;                              ///< memory, communication, performance, tuning, or all
    QList<std::pair<QString, QString>> traces; ///< name and file, relative to the demo's; the first is shown first
    QList<DemoStep> steps;

    /// The name of the trace that a step shows; empty for a demo without traces.
    QString traceOf(const DemoStep& step) const;
};

/// Reads a demo. id: for Demo::id; where: for errors. Errors: Format, naming the step and the field.
Result<Demo> readDemo(const QByteArray& json, const QString& id, const QString& where);

} // namespace fourwalls::views
