// SPDX-License-Identifier: GPL-3.0-or-later
// See slider_bench.h.
#include "app/gui/slider_bench.h"

#include "app/gui/main_window.h"
#include "app/gui/process_figures.h"
#include "app/gui/trace_document.h"
#include "views/base/view.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QKeyEvent>
#include <QTimer>

#include <chrono>

namespace fourwalls::gui {

namespace {

constexpr int kRounds = 5;
constexpr std::chrono::seconds kGiveUp(2);

void turn()
{
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
}

/// A large plan whatever the trace is of.
Result<RunSpec> largeSpec()
{
    RunSpec spec;
    FOURWALLS_TRY_ASSIGN(spec.model, loadModel("gpt3-175b"));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster("dgx-a100"));
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan("tp=8 pp=16 dp=4 microbatches=128"));
    spec.training.batch = 4 * 128;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    spec.training.device = DeviceKind::Cuda;
    spec.framework = "megatron-core";
    return spec;
}

} // namespace

FrameTimes benchSliders(MainWindow& window, const QString& viewId)
{
    FrameTimes times;
    TraceDocument* document = window.currentDocument();
    const Result<RunSpec> spec = largeSpec();
    if (!document || !spec.ok()) return times;
    views::WhatIf& whatIf = *document->whatIf();
    window.showView(viewId);
    window.showWhatIf(true);
    whatIf.propose(*spec);
    views::View* view = document->currentView();
    QTimer wakeUp; // the event loop sleeps while nothing happens
    wakeUp.start(std::chrono::milliseconds(50));
    const auto rest = [&] {
        while (!document->isSettled()) turn();
    };
    rest();
    // The dock that was shown again has its rows when it was laid out.
    QElapsedTimer patience;
    patience.start();
    const auto rowsAreThere = [&] { return window.whatIfPanel()->row(Knob::Zero).slider().isVisible(); };
    while (!rowsAreThere() && patience.elapsed() < std::chrono::milliseconds(kGiveUp).count()) turn();
    QCoreApplication::sendPostedEvents(); // the dock's own first paint is no slider's
    if (!view->emptyReason().isEmpty()) {
        window.showWhatIf(false);
        return times;
    }

    bool waiting = false, shown = false;
    QElapsedTimer since;
    double cpuBefore = 0;
    const auto painted = QObject::connect(view, &views::View::framePainted, view, [&](TimeRange, views::FrameQuality) {
        // A repaint that still shows the plan before is none; nor may the input itself still be in the queue.
        if (!waiting || whatIf.isStepOutstanding()) return;
        waiting = false;
        // The repaint goes on after this widget; what is posted now comes right after it.
        QMetaObject::invokeMethod(
            view,
            [&] {
                shown = true;
                times.wallMs.push_back(static_cast<double>(since.nsecsElapsed()) * 1e-6);
                times.cpuMs.push_back(processorMilliseconds() - cpuBefore);
            },
            Qt::QueuedConnection);
    });
    const auto changed = QObject::connect(&whatIf, &views::WhatIf::specChanged, view, [&] { waiting = true; });
    for (int round = 0; round < kRounds; ++round) {
        for (const Knob knob : {Knob::Zero, Knob::Sequence, Knob::NodeLink, Knob::Zero, Knob::Network}) {
            for (const int key : {Qt::Key_Right, Qt::Key_Left}) {
                views::KnobSlider& slider = window.whatIfPanel()->row(knob).slider();
                if (!slider.isVisible() || !slider.isEnabled()) continue;
                slider.setFocus(); // else the arrows are the view's own keys
                const RunSpec before = *whatIf.spec();
                waiting = shown = false;
                cpuBefore = processorMilliseconds();
                patience.start();
                since.start();
                QCoreApplication::postEvent(&slider, new QKeyEvent(QEvent::KeyPress, key, Qt::NoModifier));
                // One turn of the loop may do other things first and leave the key for the next.
                QCoreApplication::sendPostedEvents(&slider, QEvent::KeyPress);
                // At its end a slider does not move, and nothing is to be shown.
                const bool moved = valueOf(before, knob) != valueOf(*whatIf.spec(), knob);
                while (moved && !shown && patience.elapsed() < std::chrono::milliseconds(kGiveUp).count()) turn();
                if (moved && !shown) ++times.missed;
                waiting = false;
                QCoreApplication::postEvent(&slider, new QKeyEvent(QEvent::KeyRelease, key, Qt::NoModifier));
                QCoreApplication::sendPostedEvents();
            }
        }
    }
    QObject::disconnect(changed);
    QObject::disconnect(painted);
    window.showWhatIf(false);
    return times;
}

} // namespace fourwalls::gui
