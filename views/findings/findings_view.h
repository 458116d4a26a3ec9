// SPDX-License-Identifier: GPL-3.0-or-later
// What is wrong with the run: all findings with evidence, gain and advice, and what could not be told.
#pragma once

#include "model/diagnose/diagnosis.h"
#include "views/base/view.h"

#include <memory>
#include <optional>
#include <vector>

class QScrollArea;
class QVBoxLayout;

namespace fourwalls::views {

class ElidedText;
class GainLine;

class FindingsView : public View {
    Q_OBJECT
public:
    explicit FindingsView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("findings"); }
    QString title() const override { return tr("Findings"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    QString tableAsCsv() const override;
    void fitAll() override {}

    const diagnose::Diagnosis* diagnosis() const { return m_diagnosis.get(); }

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void showEvent(QShowEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    /// Once the trace is open and the view is looked at: the answer costs about a second's work.
    void ask();
    void showAll();
    /// What the remedy of a finding without a replayed gain would gain; null: nothing can be tried, or it has one.
    GainLine* gainLineOf(const diagnose::Finding& finding, QWidget* parent);
    void open(std::size_t finding);
    QWidget* cardOf(std::size_t finding);
    QWidget* untoldCard();
    QString summary() const;

    QWidget* m_content;
    ElidedText* m_summary;
    QScrollArea* m_scroll;
    QWidget* m_list = nullptr;
    std::shared_ptr<const diagnose::Diagnosis> m_diagnosis;
    std::optional<StepIndex> m_step; ///< that was asked for
    std::vector<GainLine*> m_gains;  ///< of the list
    QString m_error;
    bool m_pending = false;
};

} // namespace fourwalls::views
