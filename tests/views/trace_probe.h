// SPDX-License-Identifier: GPL-3.0-or-later
// A view on a trace in memory, opened as the application does it, with the what-if beside it; and modelled steps as
// traces, so that pipelines of any plan can be tested without running one.
#pragma once

#include <QRegularExpression> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QtTest>

#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"
#include "model/spec/parallel_plan.h"
#include "model/spec/run_spec.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "views/base/view.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <memory>
#include <string>

namespace fourwalls::views {

inline RunSpec specOf(const std::string& plan, const std::string& model = "gpt3-1.3b", std::int64_t batch = 32)
{
    RunSpec spec;
    auto network = loadModel(model);
    auto cluster = loadCluster("dgx-a100");
    auto parsed = parsePlan(plan);
    if (!network.ok() || !cluster.ok() || !parsed.ok()) return spec;
    spec.model = *network;
    spec.cluster = *cluster;
    spec.plan = *parsed;
    spec.training.batch = batch;
    spec.training.precision = Precision::Bf16;
    spec.framework = "megatron-core";
    if (!resolve(spec).ok()) spec.training.batch = 0;
    return spec;
}

/// A modelled step as a trace that says it is of `source`. Null if it cannot be modelled.
inline std::shared_ptr<const InMemoryTraceData> modelledTrace(const RunSpec& spec, TraceSource source)
{
    const auto step = cost::predictStep(spec);
    if (!step.ok()) return nullptr;
    TraceHeader header = cost::predictedHeader(step->spec, step->drawn);
    header.source = source;
    if (source == TraceSource::Recorded) header.clock = ClockKind::Device;
    InMemoryTrace trace(header);
    if (!cost::writePredictedTrace(step->spec, step->priced->cost, step->drawn, trace).ok()) return nullptr;
    return trace.data();
}

/// Shows a view of a trace. `ready` waits for its final data, and for what is predicted beside it.
template <class V>
class TraceProbe {
public:
    explicit TraceProbe(std::shared_ptr<const InMemoryTraceData> data, QSize size = {1180, 640})
        : session(
              [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                  if (!data) return Error{ErrorCode::Internal, "no trace was made", "test", {}};
                  return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
              },
              QStringLiteral("sample"))
    {
        view = std::make_unique<V>();
        view->resize(size);
        QObject::connect(&session, &TraceSession::opened, view.get(), [this] {
            selection.reset(session.info().range);
            if (!session.info().header.ranks.empty()) selection.setRank(session.info().header.ranks.front().rank);
            whatIf.replayer().setSession(&session);
            whatIf.setTrace(session.info());
            view->setWhatIf(&whatIf);
            view->setTrace(&session, &selection);
        });
        view->show();
    }

    bool ready()
    {
        return QTest::qWaitFor(
            [this] {
                return view->showsFinalData() && session.pending() == 0 && !whatIf.isPredicting() &&
                       !whatIf.isLooking();
            },
            20'000);
    }

    TraceSession session;
    Selection selection;
    WhatIf whatIf;
    std::unique_ptr<V> view; ///< dies before what it shows
};

} // namespace fourwalls::views
