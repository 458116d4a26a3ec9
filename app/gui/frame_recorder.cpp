// SPDX-License-Identifier: GPL-3.0-or-later
// Measures frames of one view.
#include "app/gui/frame_recorder.h"

#include "app/gui/process_figures.h"

#include <QCoreApplication>
#include <QEvent>
#include <QEventLoop>
#include <QTimer>

#include <algorithm>
#include <cmath>

namespace fourwalls::gui {

namespace {
constexpr int kGiveUpMs = 1000;
}

void FrameTimes::add(const FrameTimes& other)
{
    wallMs.insert(wallMs.end(), other.wallMs.begin(), other.wallMs.end());
    cpuMs.insert(cpuMs.end(), other.cpuMs.begin(), other.cpuMs.end());
    settleMs.insert(settleMs.end(), other.settleMs.begin(), other.settleMs.end());
    missed += other.missed;
}

std::optional<double> quantile(std::vector<double> values, double p)
{
    if (values.empty()) return std::nullopt;
    const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
    const std::size_t index = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
    return values[index];
}

FrameRecorder::FrameRecorder(views::View& view, views::Selection& selection) : m_view(view), m_selection(selection)
{
    connect(&m_view, &views::View::framePainted, this, &FrameRecorder::onPainted);
    connect(&m_selection, &views::Selection::rangeChanged, this, [this] {
        m_rangeChanged = true;
        m_shown = m_settled = m_judged = false;
    });
}

void FrameRecorder::onPainted(TimeRange range, views::FrameQuality quality)
{
    using views::FrameQuality;
    if (!m_rangeChanged || m_settled) return;
    const bool right =
        range == m_selection.range() && (quality == FrameQuality::Coarse || quality == FrameQuality::Full);
    if (!m_judged) {
        m_judged = true;
        if (!right) ++m_times.missed;
    }
    if (!right) return;
    const double ms = static_cast<double>(m_sincePost.nsecsElapsed()) * 1e-6;
    if (!m_shown) {
        m_shown = true;
        m_times.wallMs.push_back(ms);
        m_times.cpuMs.push_back(processorMilliseconds() - m_cpuAtPost);
    }
    if (quality == FrameQuality::Full) {
        m_settled = true;
        m_times.settleMs.push_back(ms);
    }
}

void FrameRecorder::play(QObject& target, std::unique_ptr<QEvent> event)
{
    m_rangeChanged = m_shown = m_settled = m_judged = false;
    bool processed = false;
    QTimer giveUp;
    giveUp.setSingleShot(true);
    giveUp.start(kGiveUpMs);
    m_cpuAtPost = processorMilliseconds();
    m_sincePost.start();
    QCoreApplication::postEvent(&target, event.release());
    // Posted behind the input and with its priority: when this runs, the input was handled.
    QMetaObject::invokeMethod(
        this, [&processed] { processed = true; }, Qt::QueuedConnection);
    while (giveUp.isActive() && !(processed && (!m_rangeChanged || m_settled)))
        QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
    if (m_rangeChanged && !m_shown && !m_judged) ++m_times.missed;
    m_rangeChanged = false;
}

} // namespace fourwalls::gui
