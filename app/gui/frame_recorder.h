// SPDX-License-Identifier: GPL-3.0-or-later
// Measures frames of one view: from an input event being posted to the end of the repaint that shows the range which
// that input asked for.
#pragma once

#include "views/base/view.h"
#include "views/session/selection.h"

#include <QElapsedTimer>
#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::gui {

struct FrameTimes {
    std::vector<double> wallMs, cpuMs; ///< per frame
    std::vector<double> settleMs;      ///< until full detail of the same range
    int missed = 0;                    ///< first repaint was blank or of another range, or none came in time

    void add(const FrameTimes& other);
};

/// The p-quantile (nearest rank) of the values; absent without any.
std::optional<double> quantile(std::vector<double> values, double p);

class FrameRecorder : public QObject {
    Q_OBJECT
public:
    FrameRecorder(views::View& view, views::Selection& selection);

    /// Posts the event to `target` and runs the event loop until the view shows full detail of the new range (or gives
    /// up after a second). An input that does not change the range is no frame.
    void play(QObject& target, std::unique_ptr<QEvent> event);

    const FrameTimes& times() const { return m_times; }

private:
    void onPainted(TimeRange range, views::FrameQuality quality);

    views::View& m_view;
    views::Selection& m_selection;
    FrameTimes m_times;
    QElapsedTimer m_sincePost;
    double m_cpuAtPost = 0;
    bool m_rangeChanged = false, m_shown = false, m_settled = false, m_judged = false;
};

} // namespace fourwalls::gui
