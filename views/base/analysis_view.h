// SPDX-License-Identifier: GPL-3.0-or-later
// The base of views that explain one step from several sides: figures on top, pages behind tabs, the step that is
// looked at, and questions to the trace whose answers are shared by the pages.
#pragma once

#include "views/base/view.h"

#include <QByteArray>
#include <QMap>
#include <QSet>

#include <vector>

class QButtonGroup;
class QHBoxLayout;
class QStackedWidget;
class QToolButton;

namespace fourwalls::views {

class FigureStrip;
class StepPicker;

class AnalysisView : public View {
    Q_OBJECT
public:
    bool showsFinalData() const override;
    QString problem() const override { return m_errors.isEmpty() ? QString() : m_errors.first(); }
    QString emptyReason() const override;
    void fitAll() override {}

    /// Pages by name: "hops".
    QString page() const;
    void setPage(const QString& name);
    QStringList pages() const;
    /// What the page that is shown is called on the screen.
    QString pageTitle() const;

signals:
    void pageChanged(const QString& name);

protected:
    /// id: of the view; actions are "ID.page.NAME".
    AnalysisView(QString id, QWidget* parent);

    void addPage(const char* name, QWidget* page);
    void setPageTitle(const char* name, const QString& title, const QString& toolTip);
    /// Beside the choice of the step, left of it.
    void addPicker(QWidget* picker);
    FigureStrip& figures() { return *m_figures; }
    QWidget* content() const { return m_content; }

    /// Asks for what the step and rank of the selection need. Called once the trace is open and when those change.
    virtual void askAll() = 0;
    /// Asks again: the step, the rank or a choice of the view's own is another one.
    void again();
    /// Another trace: forget what was answered.
    virtual void forget() = 0;
    /// Shows what is known, in the present theme and language.
    virtual void showAll() = 0;
    /// Texts that do not come with data.
    virtual void retranslate() = 0;
    /// Why this trace has nothing to show here, once it is known; empty: it has.
    virtual QString nothingReason() const { return {}; }
    /// Whether another rank changes what is shown.
    virtual bool followsRank() const { return false; }

    template <class R, class Job, class Done>
    void ask(const QByteArray& channel, Job job, Done done, Urgency urgency = Urgency::Frame)
    {
        m_pending.insert(channel);
        m_errors.remove(channel);
        session()->ask<R>(
            this, channel, [job = std::move(job)](TraceQuery& trace, std::stop_token stop) { return job(trace, stop); },
            [this, channel, asked = session(), done = std::move(done)](const Answer<R>& answer) {
                if (session() != asked) return; // of a trace that was replaced meanwhile
                m_pending.remove(channel);
                if (answer.ok())
                    done(answer.value);
                else
                    fail(channel, answer.error);
                refresh();
            },
            urgency);
    }
    bool isPending(const QByteArray& channel) const { return m_pending.contains(channel); }
    void fail(const QByteArray& channel, const Error& error);
    /// After an answer: what is empty is hidden, the rest repainted.
    void refresh();

    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void begin();
    void askSteps();

    QString m_id;
    QWidget* m_content;
    FigureStrip* m_figures;
    QHBoxLayout* m_tabs;
    QButtonGroup* m_group;
    StepPicker* m_picker;
    QStackedWidget* m_stack;
    QStringList m_names;
    QSet<QByteArray> m_pending;
    QMap<QByteArray, QString> m_errors; ///< of the latest question of each channel
};

} // namespace fourwalls::views
