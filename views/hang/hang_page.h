// SPDX-License-Identifier: GPL-3.0-or-later
// Who hung a job: the verdict, who is where, who waits for whom, and the stacks. It shows dumps and needs no trace.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/hang_report.h"

#include <QWidget>

#include <memory>
#include <optional>

class QCheckBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QScrollArea;
class QStackedWidget;

namespace fourwalls::views {

class HangChain;
class HangMatrixPlot;
class PlotLegend;
class MessagePage;
class PlotCard;

class HangPage : public QWidget {
    Q_OBJECT
public:
    explicit HangPage(QWidget* parent = nullptr);

    /// name: of the folder, for the page's headline.
    void setReport(const QString& name, std::shared_ptr<const diagnose::HangReport> report);
    /// Why dumps could not be read.
    void setProblem(const Error& error);
    /// While dumps are being read.
    void setReading(const QString& name);
    bool isReady() const { return !m_isReading; }
    /// Why nothing is shown.
    const std::optional<Error>& problem() const { return m_problem; }
    const diagnose::HangReport* report() const { return m_report.get(); }
    const HangMatrixPlot& matrix() const { return *m_matrix; }
    /// The verdict, chain and suspects as text, for a ticket.
    QString asText() const;
    /// Shows that rank's stack.
    void chooseRank(int rank);

signals:
    void filesRequested();
    void folderRequested();

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeContent();
    void retranslate();
    void showReport();
    void showStack();
    QString headline() const;

    QStackedWidget* m_stack;
    MessagePage* m_empty;
    QPushButton *m_openFolder, *m_openFiles;
    QWidget* m_content;
    QLabel *m_headline, *m_verdict, *m_detail;
    PlotCard *m_matrixCard, *m_chainCard, *m_stackCard;
    HangMatrixPlot* m_matrix;
    HangChain* m_chain;
    PlotLegend* m_legend;
    QCheckBox* m_fold;
    QPlainTextEdit* m_text;
    QPushButton* m_copy;
    std::shared_ptr<const diagnose::HangReport> m_report;
    std::optional<Error> m_problem;
    QString m_name;
    std::optional<int> m_rank;
    bool m_isReading = false;
};

} // namespace fourwalls::views
