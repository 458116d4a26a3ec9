// SPDX-License-Identifier: GPL-3.0-or-later
// See demo_player.h.
#include "app/gui/demo_player.h"

#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "views/base/view.h"
#include "views/view_registry.h"
#include "views/whatif/what_if.h"

#include <QAction>

#include <algorithm>

namespace fourwalls::gui {

namespace {

/// The part of `whole` from shares[0] to shares[1].
TimeRange stretchOf(const TimeRange& whole, const std::array<double, 2>& shares)
{
    const double length = static_cast<double>(whole.length().ns);
    return {whole.begin + Duration{static_cast<std::int64_t>(length * shares[0])},
            whole.begin + Duration{static_cast<std::int64_t>(length * shares[1])}};
}

} // namespace

DemoPlayer::DemoPlayer(MainWindow& window, views::DemoPanel& panel, views::TraceOpener opener)
    : QObject(&window)
    , m_window(window)
    , m_panel(panel)
    , m_opener(std::move(opener))
{
    connect(&panel, &views::DemoPanel::nextRequested, this, &DemoPlayer::next);
    connect(&panel, &views::DemoPanel::backRequested, this, &DemoPlayer::back);
    connect(&panel, &views::DemoPanel::closeRequested, this, &DemoPlayer::stop);
    connect(&panel, &views::DemoPanel::demosRequested, this, [this] {
        stop();
        m_window.showView(QStringLiteral("demos"));
    });
}

void DemoPlayer::start(const QString& idOrFile)
{
    const quint64 request = ++m_request;
    m_settled = false;
    prepareDemoLater(idOrFile, m_opener, this, [this, request](const Result<PreparedDemo>& prepared) {
        if (request != m_request) return; // another one was chosen meanwhile
        if (!prepared.ok()) {
            emit failed(prepared.error());
            return;
        }
        m_prepared = *prepared;
        m_panel.show();
        emit started();
        show(0);
    });
}

void DemoPlayer::next()
{
    if (!m_prepared) return;
    if (m_step + 1 < m_prepared->demo.steps.size()) {
        show(m_step + 1);
    } else {
        stop();
    }
}

void DemoPlayer::back()
{
    if (m_prepared && m_step > 0) show(m_step - 1);
}

void DemoPlayer::stop()
{
    ++m_request;
    if (!m_prepared) return;
    if (m_document && m_document->whatIf()->isActive()) m_window.showWhatIf(false);
    delete m_outline;
    m_prepared.reset();
    m_document.clear();
    m_panel.hide();
    emit stopped();
}

void DemoPlayer::retranslate()
{
    if (!m_prepared) return;
    showPage(true);
    if (m_outline) outline();
}

void DemoPlayer::show(int step)
{
    m_step = step;
    m_settled = false;
    delete m_outline;
    const views::DemoStep& now = m_prepared->demo.steps[step];
    showPage(false);
    if (now.own) { // the reader looks around where the demo ended
        m_settled = true;
        return;
    }
    const QString name = m_prepared->demo.traceOf(now);
    if (m_prepared->runs.contains(name)) {
        m_window.showRuns(m_prepared->demo.title.in(currentLanguage()), m_prepared->runs.value(name));
        m_settled = true;
        return;
    }
    const QString path = m_prepared->paths.value(name);
    const bool isPage = now.view == QLatin1String("claims") || now.view == QLatin1String("demos");
    if (path.isEmpty() || isPage) {
        m_window.showView(now.view);
        m_settled = true;
        return;
    }
    TraceDocument* document = m_window.openFile(path);
    if (m_document && m_document != document) m_document->disconnect(this);
    m_document = document;
    if (document->isOpen()) return apply(document);
    connect(document, &TraceDocument::opened, this, [this, document, step] {
        if (m_prepared && m_step == step) apply(document);
    });
    connect(document, &TraceDocument::failed, this, [this] { m_settled = true; });
}

void DemoPlayer::showPage(bool keepAnswer)
{
    const views::Demo& demo = m_prepared->demo;
    const views::DemoStep& now = demo.steps[m_step];
    const QString language = currentLanguage();
    const views::ByteUnit unit = m_document ? m_document->selection()->byteUnit() : views::ByteUnit::GB;
    m_problems.clear();
    m_figures.clear();
    const auto text = [&](const views::DemoText& from, QStringList* figures = nullptr) {
        return views::fillIn(from.in(language), m_prepared->sources[m_step], unit, &m_problems, figures);
    };
    views::DemoPage page;
    page.title = demo.title.in(language);
    page.number = m_step + 1;
    page.count = static_cast<int>(demo.steps.size());
    page.caption = text(now.caption, &m_figures);
    page.touch = text(now.touch);
    page.question = text(now.question);
    page.answer = text(now.answer);
    page.own = now.own;
    m_panel.setPage(page, keepAnswer);
}

void DemoPlayer::apply(TraceDocument* document)
{
    const views::DemoStep& now = m_prepared->demo.steps[m_step];
    if (now.rank) document->selection()->setRank(RankId{*now.rank});
    applyPlan(document);
    const auto& views = views::viewRegistry();
    const bool known =
        std::any_of(views.begin(), views.end(), [&](const views::ViewEntry& entry) { return entry.id == now.view; });
    if (known) m_window.showView(now.view);
    applyRange(document);
}

void DemoPlayer::applyRange(TraceDocument* document)
{
    const views::DemoStep& now = m_prepared->demo.steps[m_step];
    views::Selection* selection = document->selection();
    if (!now.step) {
        selection->setStep(std::nullopt);
        selection->setRange(now.range ? stretchOf(selection->whole(), *now.range) : selection->whole());
        return finish(document);
    }
    using Steps = std::vector<StepView>;
    document->session()->ask<Steps>(
        this, "demo.steps",
        [rank = selection->rank()](TraceQuery& query, std::stop_token) { return query.steps(rank); },
        [this, step = m_step, document](const views::Answer<Steps>& answer) {
            if (!m_prepared || m_step != step) return;
            const views::DemoStep& asked = m_prepared->demo.steps[step];
            for (std::size_t i = 0; answer.ok() && i < answer->size(); ++i) {
                const StepRecord& record = (*answer)[i].record;
                if (record.step.value != *asked.step || record.state == StepState::Lost) continue;
                document->selection()->setStep(record.step);
                document->selection()->setRange(asked.range ? stretchOf(record.range, *asked.range) : record.range);
            }
            finish(document);
        });
}

void DemoPlayer::applyPlan(TraceDocument* document)
{
    const views::DemoStep& now = m_prepared->demo.steps[m_step];
    views::WhatIf* whatIf = document->whatIf();
    if (!now.plan) {
        // The sliders go with the ghost: while they are shown, every view that comes draws it again.
        m_window.showWhatIf(false);
        return;
    }
    if (!whatIf->recorded()) return;
    const Result<RunSpec> spec = views::changedSpec(*whatIf->recorded(), *now.plan);
    if (!spec.ok()) return;
    whatIf->propose(*spec, m_panel.page().title);
    whatIf->requestShow();
}

void DemoPlayer::finish(TraceDocument* document)
{
    const views::DemoStep& now = m_prepared->demo.steps[m_step];
    const views::View* view = document->currentView();
    for (const QString& wanted : now.actions) {
        const bool on = !wanted.startsWith(QLatin1Char('-'));
        const QString name = on ? wanted : wanted.mid(1);
        for (QAction* action : view ? view->viewActions() : QList<QAction*>()) {
            if (action->objectName() == name && (!action->isCheckable() || action->isChecked() != on))
                action->trigger();
        }
    }
    outline();
    m_settled = true;
}

void DemoPlayer::outline()
{
    delete m_outline;
    views::View* view = m_document ? m_document->currentView() : nullptr;
    if (view && !m_figures.isEmpty()) m_outline = new FigureOutline(*view, m_figures);
}

} // namespace fourwalls::gui
