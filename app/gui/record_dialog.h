// SPDX-License-Identifier: GPL-3.0-or-later
// Chooses what to train, runs the recording as a child process with progress, live loss and cancel, and hands the
// result over.
#pragma once

#include "app/gui/child_job.h"
#include "app/gui/record_request.h"

#include <QDateTime>
#include <QDialog>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace fourwalls::views {
class LossPlot;
}

namespace fourwalls::gui {

class RecordDialog : public QDialog {
    Q_OBJECT
public:
    explicit RecordDialog(QWidget* parent = nullptr);

    RecordRequest request() const;
    void setRequest(const RecordRequest& request);
    /// Whether what will be, or was, recorded is what the last setRequest asked for, apart from how many steps and where to.
    bool isAsRequested() const;
    /// Starts the recording as if the button had been pressed.
    void start();
    bool isRunning() const { return m_job.isRunning(); }

    /// A file name that is not in use yet, made of model and time, in the user's documents (else home) folder.
    static QString proposedOutput(const QString& model);

signals:
    /// The recording is finished (or was cancelled with some steps in it).
    void recorded(const QString& path);

protected:
    void reject() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildForm();
    void arrangeForm();
    void connectForm();
    void updateCommand();
    void onLine(const QString& text);
    void onFailed(const Error& error);
    void setRunning(bool running);

    /// Shows what belongs to the engine, or to a program of the user's.
    void showRows();
    bool isCommand() const;

    ChildJob m_job;
    QComboBox* m_what; ///< the engine, or a program
    QFormLayout* m_rows = nullptr;
    QComboBox* m_model;
    QSpinBox* m_steps;
    QSpinBox* m_batch;
    QSpinBox* m_sequence;
    QComboBox* m_optimizer;
    QLineEdit* m_learningRate;
    QComboBox* m_precision;
    QLineEdit* m_plan;
    QComboBox* m_clock;
    QComboBox* m_device;
    QComboBox* m_transport;
    QLineEdit* m_program;
    QLineEdit* m_programSteps;
    QLineEdit* m_folder;
    QString m_cluster;
    QLineEdit* m_data;
    QLineEdit* m_output;
    QLabel* m_command;
    QLabel* m_attach; ///< what can be done about a job that runs already
    QWidget* m_form;
    views::LossPlot* m_plot;
    QProgressBar* m_progress;
    QLabel* m_message;
    QPushButton* m_start;
    QPushButton* m_cancel;
    QPushButton* m_copy;
    RecordRequest m_asked; ///< by setRequest
    int m_stepsDone = 0;
    QDateTime m_startedAt; ///< of the recording under way
    bool m_outputTouched = false;
};

} // namespace fourwalls::gui
