// SPDX-License-Identifier: Apache-2.0
// What traces teach: on a job of two ranks worked out by hand, and on recordings of the engine whose kernel times and links
// are known.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/cost/step_cost.h"
#include "model/learn/learned_calibration.h"
#include "model/spec/framework_preset.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

namespace tst_learned_calibration {

using namespace fourwalls;
using namespace fourwalls::learn;

namespace {

Instant us(std::int64_t value)
{
    return Instant{value * 1000};
}

bool near(double a, double b, double relative = 1e-9)
{
    return std::abs(a - b) <= relative * std::abs(b);
}

/// A job of two ranks on a GPU: products of one shape, two all-reduces beside and behind them, launches.
class Job {
public:
    Job() : m_trace(header()), m_producer(m_trace.openProducer())
    {
        for (const int rank : {0, 1}) {
            m_compute[rank] = m_trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, "stream 7", 0});
            m_comm[rank] = m_trace.defineTrack({RankId{rank}, TrackKind::CommStream, "stream 20", 1});
            m_host[rank] = m_trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "thread 1", 2});
        }
        m_group = m_trace.defineGroup({"dp", {RankId{0}, RankId{1}}, "nccl"});
    }

    void kernel(int rank, const OpInfo& op, std::int64_t from, std::int64_t to, std::int64_t launch = -1)
    {
        std::optional<CorrelationId> correlation;
        if (launch >= 0) {
            correlation = CorrelationId{++m_correlation};
            OpInfo call;
            call.name = "cudaLaunchKernel";
            call.kind = SliceKind::HostCall;
            m_producer->slice({m_host[rank], m_trace.defineOp(call), us(launch), Duration{2000}, {}, correlation});
        }
        m_producer->slice({m_compute[rank], m_trace.defineOp(op), us(from), us(to) - us(from), {}, correlation});
    }
    /// Both ranks, each with its arrival and its end.
    void allReduce(std::int64_t bytes, const std::int64_t (&arrivals)[2], const std::int64_t (&ends)[2])
    {
        OpInfo op;
        op.name = "ncclDevKernel_AllReduce";
        op.kind = SliceKind::Collective;
        op.activity = Activity::Transfer;
        for (const int rank : {0, 1}) {
            m_producer->slice(
                {m_comm[rank], m_trace.defineOp(op), us(arrivals[rank]), us(ends[rank]) - us(arrivals[rank]), {}, {}});
            CollectiveRecord record;
            record.track = m_comm[rank];
            record.start = us(arrivals[rank]);
            record.lastArrival = us(std::max(arrivals[0], arrivals[1]));
            record.end = us(ends[rank]);
            record.group = m_group;
            record.sequence = m_sequence;
            record.payloadBytes = bytes;
            m_producer->collective(record);
        }
        ++m_sequence;
    }
    std::shared_ptr<const InMemoryTraceData> finish(std::int64_t end) { return finish(std::vector{end}); }
    std::shared_ptr<const InMemoryTraceData> finish(const std::vector<std::int64_t>& stepLengths)
    {
        for (const int rank : {0, 1}) {
            StepRecord step;
            std::int64_t begin = 0;
            for (const std::int64_t length : stepLengths) {
                step.range = {us(begin), us(begin + length)};
                m_producer->step(RankId{rank}, step);
                ++step.step.value;
                begin += length;
            }
        }
        m_producer.reset();
        if (!m_trace.finish({}).ok()) return nullptr;
        return m_trace.data();
    }

    static OpInfo product()
    {
        OpInfo op;
        op.name = "matmul";
        op.kind = SliceKind::Kernel;
        op.phase = Phase::Forward;
        op.activity = Activity::Compute;
        op.flops = 2.0 * 256 * 512 * 1024;
        op.detail = "shape 256x512x1024"; // rows, inner, columns
        return op;
    }

private:
    static TraceHeader header()
    {
        TraceHeader header;
        RunSpec spec;
        spec.model = *loadModel("gpt-tiny");
        spec.plan = *parsePlan("dp=2");
        spec.cluster = *loadCluster("dgx-a100");
        spec.training.batch = 8;
        spec.training.precision = Precision::Bf16;
        spec.training.device = DeviceKind::Cuda;
        spec.framework = "megatron-core";
        if (!resolve(spec).ok()) return header;
        header.spec = spec;
        for (const int rank : {0, 1}) {
            RankInfo info;
            info.rank = RankId{rank};
            info.device = spec.cluster.device.name;
            info.host = "node1";
            header.ranks.push_back(info);
        }
        return header;
    }

    InMemoryTrace m_trace;
    std::unique_ptr<TraceProducer> m_producer;
    TrackId m_compute[2], m_comm[2], m_host[2];
    GroupId m_group;
    std::int64_t m_correlation = 0, m_sequence = 0;
};

Result<LearnedCalibration> learnFrom(const std::vector<std::shared_ptr<const InMemoryTraceData>>& traces)
{
    std::vector<std::unique_ptr<InMemoryTraceQuery>> queries;
    std::vector<TeachingTrace> teaching;
    for (const auto& each : traces) {
        queries.push_back(std::make_unique<InMemoryTraceQuery>(each));
        teaching.push_back({queries.back().get(), "trace " + std::to_string(queries.size())});
    }
    return learnCalibration(teaching);
}

constexpr double kLawFlops = 80e9, kLawBytes = 20e9; ///< a second, of takeByLaw

/// A recording of the engine on the device clock with the links of a cluster. byLaw: the device says the rates of takeByLaw
/// of itself, not those that the machine has at the moment.
std::shared_ptr<const InMemoryTraceData> record(const std::string& plan, const std::string& table, bool byLaw = false)
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.plan = *parsePlan(plan);
    spec.cluster = *loadCluster("dgx-a100");
    spec.training.batch = 8;
    spec.training.sequence = 32;
    spec.training.steps = 5;
    if (!resolve(spec).ok()) return nullptr;
    engine::RunOptions options;
    options.clock = ClockKind::Device;
    options.kernelTimesFile = table;
    options.origin = engine::ClockOrigin::now();
    InMemoryTrace trace(engine::describeRun(spec, options.origin, ClockKind::Device));
    options.sink = &trace;
    const auto report = engine::runTraining(spec, options);
    if (!report.ok()) return nullptr;
    TraceClosing closing = report->closing;
    if (byLaw) {
        closing.peakFlopsPerDevice = kLawFlops;
        closing.memoryBytesPerSecond = kLawBytes;
    }
    if (!trace.finish(closing).ok()) return nullptr;
    return trace.data();
}

/// Puts a law in the place of the times that were measured: a start, FLOPs and bytes at fixed rates.
void takeByLaw(const std::string& table)
{
    nlohmann::json tables;
    {
        std::ifstream file(table);
        tables = nlohmann::json::parse(file);
    }
    for (auto& each : tables["kernel_times"])
        each["ns"] = 500 + static_cast<std::int64_t>(each["flops"].get<double>() / kLawFlops * 1e9 +
                                                     each["bytes"].get<double>() / kLawBytes * 1e9);
    std::ofstream(table) << tables;
}

double stepSeconds(const std::shared_ptr<const InMemoryTraceData>& data)
{
    InMemoryTraceQuery query(data);
    return computeMetrics(query)->stepTime->seconds();
}

Result<cost::PredictedStep> predicted(RunSpec spec, const LearnedCalibration& learned)
{
    spec.cluster = learned.cluster;
    spec.cluster.devicesPerNode = std::max(spec.cluster.devicesPerNode, spec.plan.worldSize());
    FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
    FOURWALLS_TRY_ASSIGN(cost::CostModel model, cost::CostModel::create(spec, framework, learned.calibration));
    return cost::predictStep(model, spec);
}

} // namespace

class LearnedCalibrationTest : public QObject {
    Q_OBJECT

private slots:
    void byHand();
    void severalTraces();
    void refuses();
    void theClocksOwnRatesComeBack();
    void theBandHoldsTheNextPlan();
    void severalPlansTeachTheirOwn();
    void stepsThatDifferWidenTheBand();
    void aFileHoldsAll();
    void bytesAsPredicted();

private:
    QTemporaryDir m_folder;
};

void LearnedCalibrationTest::byHand()
{
    Job job;
    // Rank 0 launches four products: the first on an idle stream (8 us), the others in time (2 us behind each other).
    job.kernel(0, Job::product(), 18, 38, 10);
    job.kernel(0, Job::product(), 140, 160, 20);
    job.kernel(0, Job::product(), 162, 182, 30);
    job.kernel(0, Job::product(), 184, 204, 40);
    // Beside an all-reduce each takes 30 us instead of 20.
    for (int i = 0; i < 4; ++i) job.kernel(1, Job::product(), 10 + 40 * i, 30 + 40 * i);
    for (int i = 0; i < 3; ++i) job.kernel(1, Job::product(), 552 + 32 * i, 582 + 32 * i);
    // From the last arrival to the last end: 60 us for 1 MB, 110 us for 2 MB. Two ranks send as many bytes as the buffer has,
    // in two rounds: 20 GB/s and 5 us a round.
    job.allReduce(1'000'000, {300, 340}, {390, 400});
    job.allReduce(2'000'000, {490, 550}, {660, 660});
    const auto trace = job.finish(700);
    QVERIFY(trace);
    const auto learned = learnFrom({trace});
    QVERIFY2(learned.ok(), learned.ok() ? "" : learned.error().message().c_str());

    QCOMPARE(learned->kernels.size(), std::size_t(1));
    const LearnedKernel& kernel = learned->kernels.front();
    QCOMPARE(kernel.rate, std::string("gemm"));
    QCOMPARE(kernel.seconds.count, std::size_t(11));
    QVERIFY(near(kernel.seconds.median, 20e-6) && near(kernel.seconds.high, 25e-6));
    QVERIFY(near(kernel.total, 250e-6));
    const OperatorRates& rates = learned->calibration.family("ampere").operators.at(Precision::Bf16);
    const double point[] = {256, 1024, 512}; // m, n, k
    QVERIFY(near(rates.at("gemm").at(point), 2.0 * 256 * 512 * 1024 / 20e-6));
    QVERIFY(near(learned->kernelShare, 1));

    QCOMPARE(learned->transfers.size(), std::size_t(1));
    const LearnedTransfer& transfer = learned->transfers.front();
    QCOMPARE(transfer.group.ranks, 2);
    QVERIFY(transfer.group.insideNode() && !transfer.isEstimate);
    QVERIFY(transfer.latency && near(*transfer.latency, 10e-6, 1e-6));
    QVERIFY(near(transfer.bytesPerSecond, 20e9, 1e-6));
    QVERIFY(near(learned->cluster.nodeLink.latencySeconds, 5e-6, 1e-6));
    QVERIFY(near(learned->cluster.nodeLink.bytesPerSecond * learned->calibration.nodeLinkFraction, 20e9, 1e-6));
    const cost::CollectiveTimes times(learned->cluster, learned->calibration);
    QVERIFY(near(times.seconds(cost::Collective::AllReduce, 1e6, {2, 2}), 60e-6, 1e-6));
    QVERIFY(near(times.seconds(cost::Collective::AllReduce, 2e6, {2, 2}), 110e-6, 1e-6));

    const StepOverheads& overheads = learned->overheads;
    QVERIFY(near(overheads.launch.median, 10e-6) && overheads.launch.count == 3);
    QVERIFY(near(overheads.gap.median, 2e-6) && overheads.gap.count == 2);
    QVERIFY(overheads.reading.count == 0);
    QVERIFY(near(learned->calibration.launchSeconds, 10e-6) && near(learned->calibration.kernelSeconds, 2e-6));
    // Alone until 300 us and beside the second all-reduce from 550 us on: three of each side are enough.
    QVERIFY(overheads.slowdown.count == 1 && near(overheads.slowdown.median, 1.5));
    QVERIFY(near(learned->calibration.contention, 0.5));
}

void LearnedCalibrationTest::severalTraces()
{
    // The same product took 20 us on one day and 30 us on the other: the middle of all, and both stay visible.
    const auto day = [](std::int64_t length, int count) {
        Job job;
        for (int i = 0; i < count; ++i) job.kernel(0, Job::product(), 100 * i, 100 * i + length);
        job.kernel(1, Job::product(), 0, length);
        return job.finish(1000);
    };
    const auto learned = learnFrom({day(20, 2), day(30, 4)});
    QVERIFY2(learned.ok(), learned.ok() ? "" : learned.error().message().c_str());
    const LearnedKernel& kernel = learned->kernels.front();
    QCOMPARE(kernel.seconds.count, std::size_t(8));
    QVERIFY(near(kernel.seconds.median, 30e-6) && near(kernel.seconds.low, 20e-6) && near(kernel.seconds.high, 30e-6));
    QVERIFY(learned->calibration.computeLow < 0.75 && learned->calibration.computeHigh >= 1);
    QVERIFY(learned->transfers.empty());
}

void LearnedCalibrationTest::refuses()
{
    InMemoryTrace nothing{TraceHeader{}};
    QVERIFY(nothing.finish({}).ok());
    const auto learned = learnFrom({nothing.data()});
    QVERIFY(!learned.ok());
    QVERIFY2(learned.error().where.find("trace 1") != std::string::npos, learned.error().where.c_str());
    QVERIFY2(learned.error().what.find("which device") != std::string::npos, learned.error().what.c_str());
}

void LearnedCalibrationTest::theClocksOwnRatesComeBack()
{
    const QString table = m_folder.filePath("kernels.json");
    const auto trace = record("dp=2 tp=2", table.toStdString());
    QVERIFY(trace);
    const auto learned = learnFrom({trace});
    QVERIFY2(learned.ok(), learned.ok() ? "" : learned.error().message().c_str());
    // What the clock was told kernels take, by name, work and shape.
    std::ifstream file(table.toStdString());
    std::map<std::tuple<std::string, double, double, std::string>, double> told;
    const nlohmann::json tables = nlohmann::json::parse(file);
    for (const auto& each : tables["kernel_times"]) {
        std::string shape = "shape ";
        for (const auto& extent : each["shape"])
            if (extent.get<int>() > 0) shape += (shape == "shape " ? "" : "x") + std::to_string(extent.get<int>());
        told[{each["name"], each["flops"], each["bytes"], shape == "shape " ? "" : shape}] =
            each["ns"].get<double>() * 1e-9;
    }
    std::size_t met = 0;
    for (const LearnedKernel& kernel : learned->kernels) {
        const auto found = told.find({kernel.name, kernel.flops, kernel.bytes, kernel.detail});
        if (found == told.end()) continue;
        ++met;
        QVERIFY2(near(kernel.seconds.median, found->second), (kernel.name + " " + kernel.detail).c_str());
        QVERIFY(near(kernel.seconds.low, kernel.seconds.high)); // no execution differs from another
    }
    QVERIFY2(met > 30, std::to_string(met).c_str());
    // Links of the clock. Members of a ring do not all come at once, so that one waits a little for the next.
    const LinkSpec told_link = loadCluster("dgx-a100")->nodeLink;
    const double rate = learned->cluster.nodeLink.bytesPerSecond * learned->calibration.nodeLinkFraction;
    QVERIFY2(near(rate, told_link.bytesPerSecond, 0.05), std::to_string(rate / told_link.bytesPerSecond).c_str());
    QVERIFY2(near(learned->cluster.nodeLink.latencySeconds, told_link.latencySeconds, 0.05),
             std::to_string(learned->cluster.nodeLink.latencySeconds * 1e9).c_str());
}

/// What the ranks agree on in a step is as many bytes as the model says: losses, and norms of gradients by layer.
void LearnedCalibrationTest::bytesAsPredicted()
{
    for (const char* plan : {"dp=2", "dp=2 tp=2"}) {
        const auto trace = record(plan, m_folder.filePath("bytes.json").toStdString());
        QVERIFY(trace);
        InMemoryTraceQuery query(trace);
        const auto& groups = query.info().groups;
        const auto collectives =
            query.collectives(std::nullopt, {Instant{0}, Instant{std::int64_t{1} << 60}}, 1'000'000);
        QVERIFY(collectives.ok());
        std::map<std::string, std::int64_t> sent;
        for (const CollectiveView& each : *collectives)
            sent[groups[static_cast<std::size_t>(each.record.group.value)].name] += each.record.wireBytes.value();
        const RunSpec& spec = *query.info().header.spec;
        auto model = *cost::CostModel::create(spec);
        const cost::StepCost cost = *model.stepCost(spec.plan);
        // Numbers that the ring's ranks cannot share out evenly are more for some of them than for others.
        const auto times = static_cast<double>(spec.training.steps * spec.plan.worldSize());
        QCOMPARE(sent.at("world"), std::llround(cost.agreementWireBytes * times));
        QCOMPARE(sent.at("dp_cp"), std::llround(cost.stages[0].gradientWireBytes * times));
    }
}

void LearnedCalibrationTest::theBandHoldsTheNextPlan()
{
    // A device whose kernels take what a law says, whatever this machine does meanwhile.
    const std::string table = m_folder.filePath("next.json").toStdString();
    const std::vector<std::string> plans{"dp=2", "tp=2", "dp=2 zero=1", "pp=2 microbatches=4", "dp=2 tp=2"};
    for (const std::string& plan : plans) QVERIFY(record(plan, table));
    takeByLaw(table);
    std::vector<std::shared_ptr<const InMemoryTraceData>> traces;
    for (const std::string& plan : plans) traces.push_back(record(plan, table, true));
    std::size_t inside = 0, pairs = 0;
    for (std::size_t from = 0; from < plans.size(); ++from) {
        const auto learned = learnFrom({traces[from]});
        QVERIFY2(learned.ok(), learned.ok() ? "" : learned.error().message().c_str());
        for (std::size_t to = 0; to < plans.size(); ++to) {
            const auto next = predicted(*traces[to]->info.header.spec, *learned);
            QVERIFY2(next.ok(), next.ok() ? "" : next.error().message().c_str());
            const double took = stepSeconds(traces[to]), error = next->seconds / took - 1;
            const std::string pair = plans[from] + " -> " + plans[to] + ": " + std::to_string(error);
            if (from == to) QVERIFY2(std::abs(error) < 0.02, pair.c_str());
            if (plans[from] == "dp=2" && plans[to] == "tp=2") QVERIFY2(std::abs(error) < 0.1, pair.c_str());
            // No execution differs from another here, and the band must still not be a line, nor say nothing.
            QVERIFY2(next->lowSeconds < 0.97 * next->seconds && next->highSeconds < 1.5 * next->seconds, pair.c_str());
            const bool holds = next->lowSeconds <= took && took <= next->highSeconds;
            QVERIFY2(holds || from != to, pair.c_str());
            inside += holds ? 1 : 0;
            ++pairs;
        }
    }
    QVERIFY2(10 * inside >= 9 * pairs, std::to_string(inside).c_str());
}

/// Where a tensor group cuts the products, residual sums and the loss are kernels of their own; where it does not, they are
/// inside. Learned from both, both come back, and so does what ZeRO adds up between micro-batches.
void LearnedCalibrationTest::severalPlansTeachTheirOwn()
{
    const std::string table = m_folder.filePath("own.json").toStdString();
    const std::vector<std::string> plans{"tp=2",        "dp=4",        "pp=2 microbatches=4",
                                         "dp=2 zero=1", "dp=2 zero=3", "dp=2 microbatches=2 zero=3"};
    constexpr std::size_t kTaught = 3;
    for (const std::string& plan : plans) QVERIFY(record(plan, table));
    takeByLaw(table);
    std::vector<std::shared_ptr<const InMemoryTraceData>> traces;
    for (const std::string& plan : plans) traces.push_back(record(plan, table, true));
    const auto learned = learnFrom({traces.begin(), traces.begin() + kTaught});
    QVERIFY2(learned.ok(), learned.ok() ? "" : learned.error().message().c_str());
    for (std::size_t i = 0; i < plans.size(); ++i) {
        const auto step = predicted(*traces[i]->info.header.spec, *learned);
        QVERIFY2(step.ok(), step.ok() ? "" : step.error().message().c_str());
        const double error = step->seconds / stepSeconds(traces[i]) - 1;
        qInfo("%s: %+.2f %%", plans[i].c_str(), 100 * error);
        QVERIFY2(std::abs(error) < (i < kTaught ? 0.01 : 0.015), (plans[i] + ": " + std::to_string(error)).c_str());
    }
    // Gradients that are overwritten are not set to zero before.
    QVERIFY2(near(stepSeconds(traces[3]), stepSeconds(traces[4]), 0.005),
             std::to_string(stepSeconds(traces[4])).c_str());
}

void LearnedCalibrationTest::stepsThatDifferWidenTheBand()
{
    // Steps of 700 us each, and steps of 600 to 800: quartiles at 650 and 750.
    const auto bandOf = [](const std::vector<std::int64_t>& lengths) {
        Job job;
        std::int64_t begin = 0;
        for (const std::int64_t length : lengths) {
            for (const int rank : {0, 1}) job.kernel(rank, Job::product(), begin + 10, begin + 30);
            begin += length;
        }
        const auto learned = learnFrom({job.finish(lengths)});
        return learned.ok() ? learned->calibration.band.dense : -1;
    };
    const double even = bandOf({700, 700, 700, 700, 700}), uneven = bandOf({600, 650, 700, 750, 800});
    QVERIFY(even > 0);
    const double apart = 1.645 / 0.6745 * std::log(750.0 / 650.0) / 2;
    QVERIFY2(near(std::sqrt(uneven * uneven - even * even), apart, 1e-6), std::to_string(uneven).c_str());
}

void LearnedCalibrationTest::aFileHoldsAll()
{
    const auto trace = record("dp=2", m_folder.filePath("file.json").toStdString());
    QVERIFY(trace);
    const auto learned = learnFrom({trace});
    QVERIFY(learned.ok());
    const nlohmann::json text = toJson(learned->calibration);
    const auto read = calibrationFromJson(text.dump(), "a file");
    QVERIFY2(read.ok(), read.ok() ? "" : read.error().message().c_str());
    QCOMPARE(toJson(*read), text);
    LearnedCalibration again = *learned;
    again.calibration = *read;
    const auto before = predicted(*trace->info.header.spec, *learned);
    const auto after = predicted(*trace->info.header.spec, again);
    QVERIFY(before.ok() && after.ok());
    QCOMPARE(after->seconds, before->seconds);
    QCOMPARE(after->highSeconds, before->highSeconds);
    // The published set, too: nothing of a calibration is lost on the way.
    const auto published = loadCalibration("published");
    QVERIFY(published.ok());
    const auto copy = calibrationFromJson(toJson(*published).dump(), "published");
    QVERIFY2(copy.ok(), copy.ok() ? "" : copy.error().message().c_str());
    QCOMPARE(toJson(*copy), toJson(*published));
}

FOURWALLS_TEST(LearnedCalibrationTest, QCoreApplication)

} // namespace tst_learned_calibration

#include "tst_learned_calibration.moc"
