// SPDX-License-Identifier: Apache-2.0
// Parameter servers: synchronous runs equal the one-rank run; asynchronous ones learn, and know how stale their weights
// were; every answer travels as a recorded message; weights are written and read.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_trace.h"
#include "profiler/engine/device/reference_device.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/click_data.h"
#include "profiler/engine/train/parameter_server.h"
#include "profiler/engine/train/rank_world.h"
#include "profiler/engine/train/served_worker.h"
#include "profiler/engine/train/trainer.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#ifndef Q_MOC_RUN
#include <cmath>
#include <mutex>
#endif

namespace tst_parameter_server {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

constexpr NumberFormat kDouble{DType::F64, DType::F64};

RunSpec specOf(bool clicks, const char* plan, Optimizer optimizer = Optimizer::Sgd)
{
    RunSpec spec;
    if (clicks) {
        RecommendationSpec r;
        r.tables = 3;
        r.rowsPerTable = 11;
        r.embeddingWidth = 4;
        r.lookupsPerTable = 2;
        r.denseFeatures = 5;
        r.bottomLayers = {6, 4};
        r.topLayers = {7, 1};
        spec.model = {"clicks", r};
    } else {
        TransformerSpec t;
        t.layers = 2;
        t.hidden = 16;
        t.heads = t.kvHeads = 4;
        t.ffnHidden = 24;
        t.vocabulary = 256;
        t.sequence = 8;
        spec.model = {"text", t};
    }
    spec.plan = *parsePlan(plan);
    spec.training.steps = 5;
    spec.training.batch = 12;
    spec.training.optimizer = optimizer;
    spec.training.learningRate = optimizer == Optimizer::Sgd ? 0.05 : 1e-3;
    spec.training.clipNorm = 0.5; // so that the norm over all servers matters
    spec.cluster.name = "this-machine";
    if (const Status status = resolve(spec); !status.ok()) qFatal("%s", status.error().message().c_str());
    return spec;
}

struct Outcome {
    std::vector<double> losses, norms;
    double staleness = 0; ///< mean over the first server's updates
    std::int64_t updates = 0;
};

Outcome run(const RunSpec& spec)
{
    Outcome outcome;
    std::mutex mutex;
    WorldOptions options;
    options.plan = worldOf(spec.plan);
    options.format = kDouble;
    options.makeDevice = [](Recorder& recorder, Allocator& allocator) -> std::unique_ptr<Device> {
        return std::make_unique<ReferenceDevice>(recorder, allocator);
    };
    const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
        RankContext& rank = *slot.context;
        const auto keep = [&](const StepProgress& progress) {
            if (rank.recorder.rank().value > 0) return;
            outcome.losses.push_back(progress.loss);
            outcome.norms.push_back(progress.gradientNorm);
        };
        if (spec.plan.parameterServer == ParameterServer::None) {
            FOURWALLS_TRY_ASSIGN(const auto trainer, Trainer::create(rank, spec));
            for (std::int64_t i = 0; i < spec.training.steps; ++i) keep(trainer->step(i));
        } else if (isServer(spec.plan, rank.recorder.rank())) {
            FOURWALLS_TRY_ASSIGN(const auto server, ParameterServerRank::create(rank, spec, ""));
            server->serve([](std::int64_t) {});
            if (rank.recorder.rank().value > spec.plan.worldSize()) return {};
            const std::lock_guard lock(mutex);
            outcome.staleness = server->meanStaleness();
            outcome.updates = server->updates();
        } else {
            FOURWALLS_TRY_ASSIGN(const auto worker, ServedWorker::create(rank, spec));
            for (std::int64_t i = 0; i < spec.training.steps; ++i) keep(worker->step(i));
            worker->finish();
        }
        return {};
    });
    if (!status.ok()) qFatal("%s", status.error().message().c_str());
    return outcome;
}

RunOptions quick()
{
    RunOptions options;
    options.measurePeak = false;
    return options;
}

double endOf(const RunReport& report, std::size_t count)
{
    double sum = 0;
    for (std::size_t i = report.steps.size() - count; i < report.steps.size(); ++i) sum += report.steps[i].loss;
    return sum / static_cast<double>(count);
}

} // namespace

class ParameterServerTest : public QObject {
    Q_OBJECT

private slots:
    void sharesCoverEveryParameterOnce()
    {
        for (const int servers : {1, 2, 3, 5}) {
            std::int64_t elements = 0;
            Recorder recorder(nullptr, RankId{0}, ClockOrigin::now());
            Allocator allocator(recorder, 0);
            ReferenceDevice device(recorder, allocator);
            RankContext rank{recorder, allocator, device, kDouble};
            rank.describeOnly = true;
            auto network = makeNetwork(rank, specOf(false, ""));
            QVERIFY(network.ok());
            ParameterList& list = network->chunks.front()->parameters();
            const ServerLayout layout(list, servers);
            QCOMPARE(layout.share * servers, layout.elements);
            std::map<Parameter*, std::int64_t> next;
            for (int s = 0; s < servers; ++s)
                for (const ServerLayout::Stretch& part : layout.stretchesOf(s)) {
                    QCOMPARE(part.first, next[part.parameter]);
                    QVERIFY(part.place >= 0 && part.place + part.count <= layout.share);
                    next[part.parameter] += part.count;
                    elements += part.count;
                }
            for (const auto& p : list.all()) elements -= p->shape.elements();
            QCOMPARE(elements, std::int64_t{0});
        }
    }

    void synchronousEqualsOneRank_data()
    {
        QTest::addColumn<bool>("clicks");
        QTest::addColumn<QString>("plan");
        QTest::addColumn<bool>("adamw");
        for (const bool clicks : {false, true})
            for (const char* plan : {"dp=1 ps=sync servers=1", "dp=2 ps=sync servers=1",
                                     "dp=2 microbatches=2 ps=sync servers=2", "dp=3 ps=sync servers=3"})
                for (const bool adamw : {false, true})
                    QTest::addRow("%s %s %s", clicks ? "clicks" : "text", plan, adamw ? "adamw" : "sgd")
                        << clicks << plan << adamw;
    }

    void synchronousEqualsOneRank()
    {
        QFETCH(bool, clicks);
        QFETCH(QString, plan);
        QFETCH(bool, adamw);
        const Optimizer optimizer = adamw ? Optimizer::AdamW : Optimizer::Sgd;
        const Outcome one = run(specOf(clicks, "", optimizer));
        const Outcome served = run(specOf(clicks, plan.toUtf8().constData(), optimizer));
        QCOMPARE(served.losses.size(), std::size_t{5});
        QCOMPARE(served.updates, std::int64_t{5});
        QCOMPARE(served.staleness, 0.0);
        // Other orders of summation in double; AdamW amplifies them where gradients vanish.
        const double tolerance = adamw ? 1e-8 : 1e-12;
        for (std::size_t i = 0; i < 5; ++i) {
            QVERIFY2(
                std::abs(served.losses[i] - one.losses[i]) < tolerance,
                qPrintable(
                    QString("step %1: %2 %3").arg(i).arg(served.losses[i], 0, 'g', 17).arg(one.losses[i], 0, 'g', 17)));
            QVERIFY(std::abs(served.norms[i] - one.norms[i]) < 1e3 * tolerance);
        }
    }

    void everyWorkersGradientsAreAnUpdate()
    {
        RunSpec spec = specOf(true, "dp=3 ps=async servers=2");
        spec.training.steps = 40;
        const Outcome outcome = run(spec);
        QCOMPARE(outcome.updates, std::int64_t{120});
        // Three workers run at once: some find that others were faster. More than all others' pushes between two of its
        // own is possible only if a worker falls behind, never on the average.
        QVERIFY(outcome.staleness > 0.0);
        QVERIFY2(outcome.staleness <= 120.0, qPrintable(QString::number(outcome.staleness)));
        // A worker alone is never stale.
        const Outcome alone = run(specOf(true, "dp=1 ps=async servers=2"));
        QCOMPARE(alone.staleness, 0.0);
        const Outcome one = run(specOf(true, ""));
        for (std::size_t i = 0; i < 5; ++i) QVERIFY(std::abs(alone.losses[i] - one.losses[i]) < 1e-10);
    }

    void asynchronousLearnsTheText()
    {
        RunSpec spec = specOf(false, "dp=2 ps=async servers=1", Optimizer::AdamW);
        TransformerSpec& t = std::get<TransformerSpec>(spec.model.architecture);
        t.hidden = 32;
        t.ffnHidden = 64;
        t.sequence = spec.training.sequence = 32;
        spec.training.steps = 50;
        spec.training.batch = 8;
        spec.training.clipNorm = 1.0;
        spec.training.learningRate = 3e-3;
        InMemoryTrace trace(describeRun(spec, ClockOrigin::now()));
        RunOptions options = quick();
        options.origin = ClockOrigin::now();
        options.sink = &trace;
        const auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(std::abs(report->steps.front().loss - std::log(256.0)) < 0.5);
        double sum = 0, most = 0;
        for (const StepProgress& step : report->steps) {
            sum += step.staleness;
            most = std::max(most, step.staleness);
        }
        qInfo(
            "dp=2 ps=async, text: loss %.3f in the first of %zu steps, %.3f over the last ten; staleness of worker 0's "
            "gradients %.2f updates (mean), %.0f at most",
            report->steps.front().loss, report->steps.size(), endOf(*report, 10),
            sum / static_cast<double>(report->steps.size()), most);
        QVERIFY2(endOf(*report, 10) < 3.6, qPrintable(QString::number(endOf(*report, 10))));
        QVERIFY(trace.finish(report->closing).ok());
        // The server is a rank of its own; weights and gradients travelled as messages between it and the workers.
        const auto data = trace.data();
        QCOMPARE(data->info.header.ranks.size(), std::size_t{3});
        std::int64_t toServer = 0, fromServer = 0;
        for (const CollectiveView& message : data->collectives) {
            if (message.record.operation != CollectiveOp::Send) continue;
            if (message.record.peer == RankId{2})
                toServer += message.record.wireBytes.value();
            else
                fromServer += message.record.wireBytes.value();
        }
        const std::int64_t weights = 4 * parameterCount(spec.model);
        QVERIFY(toServer >= 100 * weights && fromServer >= 100 * weights); // 2 workers, 50 steps
        QVERIFY(toServer < 102 * weights + 1000000);
    }

    void asynchronousForeseesClicks()
    {
        RunSpec spec = specOf(true, "dp=2 ps=async servers=2", Optimizer::AdamW);
        RecommendationSpec& r = std::get<RecommendationSpec>(spec.model.architecture);
        r.rowsPerTable = 50;
        r.lookupsPerTable = 1;
        spec.training.steps = 300;
        spec.training.batch = 128;
        spec.training.learningRate = 1e-2;
        const auto report = runTraining(spec, quick());
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        const ClickData data(r, spec.training.seed);
        double best = 0; // the entropy of the coin
        for (std::int64_t i = 0; i < 4000; ++i) {
            const double p = data.clickProbability(i);
            best -= (p * std::log(p) + (1 - p) * std::log(1 - p)) / 4000;
        }
        // Half way from knowing nothing to knowing the coin: far from both what stale gradients do to single steps and
        // the start.
        const double reached = endOf(*report, 60);
        QVERIFY2(reached < 0.5 * (std::log(2.0) + best), qPrintable(QString("%1 of %2").arg(reached).arg(best)));
    }

    void weightsTravelThroughFiles_data()
    {
        QTest::addColumn<bool>("clicks");
        QTest::newRow("text") << false;
        QTest::newRow("clicks") << true;
    }
    void weightsTravelThroughFiles()
    {
        QFETCH(bool, clicks);
        QTemporaryDir directory;
        RunOptions save = quick(), load = quick();
        save.saveWeightsDirectory = load.loadWeightsDirectory = directory.path().toStdString();
        QVERIFY(runTraining(specOf(clicks, "dp=2 ps=sync servers=2"), save).ok());
        // One rank and servers go on from the same weights.
        const auto one = runTraining(specOf(clicks, ""), load);
        const auto served = runTraining(specOf(clicks, "dp=2 ps=sync servers=2"), load);
        const auto fresh = runTraining(specOf(clicks, ""), quick());
        QVERIFY(one.ok() && served.ok() && fresh.ok());
        QVERIFY(std::abs(one->steps[0].loss - fresh->steps[0].loss) > 1e-6);
        for (std::size_t i = 0; i < 5; ++i)
            QVERIFY(std::abs(served->steps[i].loss - one->steps[i].loss) < 1e-5 * one->steps[i].loss);
    }

    void whatMakesNoSenseIsRefused()
    {
        for (const char* plan : {"dp=2 zero=1 ps=sync servers=1", "tp=2 ps=sync servers=1"}) {
            RunSpec spec = specOf(false, plan);
            const auto report = runTraining(spec, quick());
            QVERIFY(!report.ok());
            QCOMPARE(report.error().where, std::string("ps"));
        }
    }
};

FOURWALLS_TEST(ParameterServerTest, QCoreApplication)

} // namespace tst_parameter_server

#include "tst_parameter_server.moc"
