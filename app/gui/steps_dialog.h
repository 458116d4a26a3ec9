// SPDX-License-Identifier: GPL-3.0-or-later
// "Choose steps…": what comes again in an imported trace, and which of it a step shall be.
#pragma once

#include "app/gui/child_job.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace fourwalls::gui {

class StepsDialog : public QDialog {
    Q_OBJECT
public:
    /// Asks the command-line program for the trace's candidates; the list fills when it answers.
    StepsDialog(const QString& path, const QString& name, QWidget* parent = nullptr);

    /// Takes the answer of `fourwalls-cli steps --json`.
    void setAnswer(const QByteArray& json);

signals:
    /// A choice as --steps-by takes it.
    void chosen(const QString& stepsBy);

private:
    void addChoice(const QString& spec, const QString& text, const QStringList& figures);

    ChildJob m_job;
    QLabel* m_now;
    QTreeWidget* m_list;
    QLineEdit* m_spec;
    QPushButton* m_use;
};

/// The arguments of the command-line program that computes a trace's steps again.
QStringList stepsArguments(const QString& path, const QString& stepsBy);

} // namespace fourwalls::gui
