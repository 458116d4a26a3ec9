// SPDX-License-Identifier: GPL-3.0-or-later
// The cost model on threads of its own. What the sliders ask for is answered latest first: a question that was
// superseded before its turn is never computed. A step never waits for the trace of the one before: that is written,
// and its figures are computed, on a second thread. Cost models are kept, so that only the first question about a network,
// sequence and cluster pays for making one.
#pragma once

#include "model/base/result.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"
#include "views/whatif/prediction.h"

#include <QObject>

#include <memory>
#include <optional>

namespace fourwalls::views {

/// What a prediction is made from. calibration: null for the published one.
struct PredictionTask {
    RunSpec spec;
    std::shared_ptr<const Calibration> calibration;
};

/// What came of a task: the step at once, its trace and figures a little later; or why there is none.
struct PredictionReply {
    quint64 request = 0;
    std::shared_ptr<const cost::PredictedStep> step;
    std::shared_ptr<const Prediction> prediction; ///< null while only the step is known, and on error
    std::optional<Error> error;
    double milliseconds = 0; ///< of computing
};

class Predictor : public QObject {
    Q_OBJECT
public:
    /// Two questions are answered side by side: neither supersedes the other.
    enum class Subject { Sliders, Baseline };

    explicit Predictor(QObject* parent = nullptr);
    /// Waits for the prediction under way.
    ~Predictor() override;

    /// Asks; the number of the question comes back with the replies. GUI thread.
    quint64 ask(Subject subject, PredictionTask task);

signals:
    /// The step of the latest question about `subject`: figures, memory, intervals. Its trace follows with `answered`.
    void stepKnown(fourwalls::views::Predictor::Subject subject, const fourwalls::views::PredictionReply& reply);
    void answered(fourwalls::views::Predictor::Subject subject, const fourwalls::views::PredictionReply& reply);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace fourwalls::views
