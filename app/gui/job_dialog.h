// SPDX-License-Identifier: GPL-3.0-or-later
// Progress with cancel for a child job that takes longer than a moment.
#pragma once

#include "app/gui/child_job.h"

#include <QDialog>

class QLabel;
class QProgressBar;
class QPushButton;

namespace fourwalls::gui {

class JobDialog : public QDialog {
    Q_OBJECT
public:
    /// input: what the child reads from its standard input.
    JobDialog(const QString& title, const QStringList& arguments, QWidget* parent = nullptr,
              const QByteArray& input = {});

protected:
    void reject() override;

private:
    ChildJob m_job;
    QLabel* m_message;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
};

} // namespace fourwalls::gui
