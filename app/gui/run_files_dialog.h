// SPDX-License-Identifier: GPL-3.0-or-later
// What a folder holds: which file is which rank, before they are imported as one run.
#pragma once

#include "app/gui/child_job.h"

#include <QDialog>

class QLabel;
class QPushButton;
class QTreeWidget;

namespace fourwalls::gui {

class RunFilesDialog : public QDialog {
    Q_OBJECT
public:
    /// Asks the command-line program what it would read of these paths; the list fills when it answers.
    RunFilesDialog(const QStringList& paths, QWidget* parent = nullptr);

    /// Takes the answer of `fourwalls-cli import --list --json`.
    void setAnswer(const QByteArray& json);

private:
    ChildJob m_job;
    QLabel* m_said;
    QTreeWidget* m_list;
    QPushButton* m_import;
};

} // namespace fourwalls::gui
