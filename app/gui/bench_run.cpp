// SPDX-License-Identifier: GPL-3.0-or-later
// `fourwalls --bench`.
#include "app/gui/bench_run.h"

#include "app/gui/foreign_files.h"
#include "app/gui/frame_recorder.h"
#include "app/gui/main_window.h"
#include "app/gui/process_figures.h"
#include "app/gui/question_bench.h"
#include "app/gui/slider_bench.h"
#include "app/gui/trace_document.h"
#include "app/gui/wait_for.h"
#include "views/view_registry.h"

#include <nlohmann/json.hpp>

#include <QCoreApplication>
#include <QKeyEvent>
#include <QWheelEvent>

#include <cmath>
#include <cstdio>

namespace fourwalls::gui {

namespace {

/// Plays the script on one view. Inputs go where a person's would: the wheel to the widget below the pointer, keys to
/// the view that has the focus.
class Script {
public:
    Script(views::View& view, FrameRecorder& recorder) : m_view(view), m_recorder(recorder) {}

    /// Zooms (positive: in) at a fraction of the width; `across` turns it into a horizontal scroll.
    void wheel(double atX, int notches, int times, bool across = false)
    {
        for (int i = 0; i < times; ++i) {
            const QPoint inView(static_cast<int>(m_view.width() * atX), m_view.height() / 3);
            QWidget* target = m_view.childAt(inView);
            if (!target) target = &m_view;
            const QPointF local = target->mapFrom(&m_view, inView);
            const QPoint turn = across ? QPoint(notches * 120, 0) : QPoint(0, notches * 120);
            m_recorder.play(*target,
                            std::make_unique<QWheelEvent>(local, m_view.mapToGlobal(QPointF(inView)), QPoint(), turn,
                                                          Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false));
        }
    }

    void key(Qt::Key code, int times)
    {
        for (int i = 0; i < times; ++i) {
            QWidget* target = m_view.window()->focusWidget();
            if (!target || !(target == &m_view || m_view.isAncestorOf(target))) target = &m_view;
            const QString text = QChar(static_cast<char16_t>(code)).toLower();
            m_recorder.play(*target, std::make_unique<QKeyEvent>(QEvent::KeyPress, code, Qt::NoModifier, text));
            QCoreApplication::postEvent(target, new QKeyEvent(QEvent::KeyRelease, code, Qt::NoModifier, text));
        }
    }

    /// Some 250 frames: from the whole trace down to single slices and back, with pans at every depth.
    void play()
    {
        for (const double x : {0.5, 0.3, 0.7}) {
            wheel(x, 1, 16);
            key(Qt::Key_D, 8);
            key(Qt::Key_A, 12);
            wheel(x, 1, 12);
            wheel(x, 1, 6, true);
            wheel(x, -1, 6, true);
            key(Qt::Key_W, 6);
            key(Qt::Key_S, 6);
            wheel(x, -1, 28);
        }
    }

private:
    views::View& m_view;
    FrameRecorder& m_recorder;
};

nlohmann::json number(const std::optional<double>& value)
{
    if (!value) return nullptr;
    return std::round(*value * 1000.0) / 1000.0;
}

nlohmann::json figuresOf(const FrameTimes& times)
{
    return {{"frame_p50_ms", number(quantile(times.wallMs, 0.5))},
            {"frame_p99_ms", number(quantile(times.wallMs, 0.99))},
            {"frame_cpu_p99_ms", number(quantile(times.cpuMs, 0.99))},
            {"settle_p99_ms", number(quantile(times.settleMs, 0.99))},
            {"frames", times.wallMs.size()},
            {"missed", times.missed}};
}

/// Returns when the trace stands on the screen, or could not be opened.
TraceDocument* openAndPaint(MainWindow& window, const QString& path)
{
    TraceDocument* document = window.openFile(path);
    waitFor([&] { return document->hasFailed() || document->firstPaintMs(); });
    return document;
}

/// First complete paints of a program that has been used: one opening of one process says little, since its code and
/// its fonts are read in the same moment.
std::vector<double> openAgain(MainWindow& window, const QString& path)
{
    constexpr int kOpenings = 15;
    window.showView(QStringLiteral("overview"));
    std::vector<double> paintMs;
    for (int i = 0; i < kOpenings; ++i) {
        emit window.currentDocument()->closeRequested();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        const TraceDocument* document = openAndPaint(window, path);
        if (document->firstPaintMs()) paintMs.push_back(*document->firstPaintMs());
    }
    return paintMs;
}

void addQuestions(const QuestionTimes& times, nlohmann::json& figures)
{
    const auto add = [&](const std::string& what, const std::vector<double>& values) {
        figures[what + "_p50_ms"] = number(quantile(values, 0.5));
        figures[what + "_p99_ms"] = number(quantile(values, 0.99));
    };
    add("range_stats", times.ranges);
    add("details", times.details);
    add("search", times.searches);
    figures["flame_ms"] = number(times.flame);
    figures["range_sums_ms"] = number(times.summary);
}

void printAsText(const nlohmann::json& figures)
{
    for (const auto& [name, value] : figures.items()) {
        if (value.is_object() || name == "schema_version") continue;
        std::printf("%-18s %s\n", name.c_str(),
                    value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
    }
}

} // namespace

int runBench(const CommandLine& line, const views::TraceOpener& opener)
{
    Settings settings(Settings::Kind::Forgetful);
    MainWindow window(opener, settings);
    window.resize(1920, 1080);
    window.show();
    waitFor([&] { return window.isVisible() && window.testAttribute(Qt::WA_Mapped); });
    QCoreApplication::processEvents(); // the first, empty paint
    const double startupMs = millisecondsSinceProcessStart();

    const Result<QString> trace = importedTrace(line.files.constFirst());
    if (!trace.ok()) {
        std::fprintf(stderr, "fourwalls: %s\n", trace.error().message().c_str());
        return 1;
    }
    TraceDocument* document = openAndPaint(window, *trace);
    if (document->hasFailed()) {
        std::fprintf(stderr, "fourwalls: %s\n", document->error()->message().c_str());
        return 1;
    }

    const double firstPaintRss = peakResidentMegabytes();
    FrameTimes all;
    nlohmann::json byView = nlohmann::json::object();
    for (const views::ViewEntry& entry : views::viewRegistry()) {
        window.showView(entry.id);
        views::View* view = document->currentView();
        view->fitAll();
        view->update();
        waitFor([&] { return view->showsFinalData() && document->session()->pending() == 0; });
        FrameRecorder recorder(*view, *document->selection());
        Script(*view, recorder).play();
        nlohmann::json figures = figuresOf(recorder.times());
        figures["rss_mb"] = number(peakResidentMegabytes()); // of the process until here
        byView[entry.id.toStdString()] = figures;
        all.add(recorder.times());
    }

    // Sliders over the views that draw the prediction itself.
    FrameTimes sliders;
    nlohmann::json slidersByView = nlohmann::json::object();
    for (const char* id : {"memory", "pipeline"}) {
        const FrameTimes times = benchSliders(window, QString::fromLatin1(id));
        slidersByView[id] = {{"p50_ms", number(quantile(times.wallMs, 0.5))},
                             {"p99_ms", number(quantile(times.wallMs, 0.99))},
                             {"frames", times.wallMs.size()},
                             {"missed", times.missed}};
        sliders.add(times);
    }

    nlohmann::json figures = figuresOf(all);
    figures["rss_mb"] = number(peakResidentMegabytes()); // the sums for the questions come later and are not in it
    addQuestions(benchQuestions(window), figures);
    figures["questions_rss_mb"] = number(peakResidentMegabytes());
    figures["slider_p50_ms"] = number(quantile(sliders.wallMs, 0.5));
    figures["slider_p99_ms"] = number(quantile(sliders.wallMs, 0.99));
    figures["slider_frames"] = sliders.wallMs.size();
    figures["slider_missed"] = sliders.missed;
    figures["sliders"] = slidersByView;
    figures["schema_version"] = 1;
    figures["file"] = line.files.constFirst().toStdString();
    figures["slices"] = document->session()->info().counts.slices;
    figures["startup_ms"] = number(startupMs);
    figures["open_ms"] = number(document->session()->openMilliseconds());
    figures["first_paint_ms"] = number(document->firstPaintMs());
    figures["first_paint_rss_mb"] = number(firstPaintRss);
    figures["views"] = byView;
    const std::vector<double> again = openAgain(window, *trace);
    figures["open_again_p50_ms"] = number(quantile(again, 0.5));
    figures["open_again_max_ms"] = number(quantile(again, 1));
    if (line.json) {
        std::printf("%s\n", figures.dump(2).c_str());
    } else {
        printAsText(figures);
    }
    return 0;
}

} // namespace fourwalls::gui
