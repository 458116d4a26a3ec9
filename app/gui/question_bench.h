// SPDX-License-Identifier: GPL-3.0-or-later
// How long a person waits for answers about an open trace, measured with input events at the window.
#pragma once

#include <optional>
#include <vector>

namespace fourwalls::gui {

class MainWindow;

/// From the last input to the end of the paint that shows the whole answer [ms]; docs/metrics.md defines them.
struct QuestionTimes {
    std::vector<double> ranges;    ///< dragged ranges to their statistics by name
    std::vector<double> details;   ///< clicked slices to their details
    std::vector<double> searches;  ///< keys in "Find anything" to the first page of hits
    std::optional<double> flame;   ///< the whole trace to its flame graph
    std::optional<double> summary; ///< until the sums were there that statistics of ranges are made of
};

/// Asks all of it in the timeline of the current trace, which is open. Empty where the trace has no slices.
QuestionTimes benchQuestions(MainWindow& window);

} // namespace fourwalls::gui
