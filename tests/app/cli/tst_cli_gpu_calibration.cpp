// SPDX-License-Identifier: Apache-2.0
// calibrate --device cuda without a GPU: a stand-in whose times follow a made law. What is measured, in which order and
// within which time; and a prediction from the preset has the times of that law.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#ifndef Q_MOC_RUN
#include "model/cost/collective_time.h"
#include "model/cost/device_rates.h"
#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/run_spec.h"
#include "profiler/calibrate/gpu_calibration.h"
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>
#endif

namespace tst_cli_gpu_calibration {

using namespace fourwalls;
using namespace fourwalls::calibrate;
using namespace fourwalls::test;

/// Products at 400 TFLOP/s in a burst and 5/4 of the time when they last, 3/2 of that beside copying and 1.3 times beside an
/// all-reduce; a launch 4 us, 10 us more if the host waits, 1 us in a graph; each memory-bound kernel a rate of its own, which
/// rises with its size; attention a rate that rises with its length; collectives 5 us and 300 GB/s on the bus.
class Law final : public GpuBench {
public:
    double now = 0, factor = 1;
    int group = 1;
    std::vector<GpuMeasurement> asked;

    static double seconds(const GpuMeasurement& what)
    {
        const auto& [a, b, c] = what.extents;
        double time = 4e-6;
        if (memoryKernelOf(what.work)) return amountOf(what) / memoryRate(what.work, amountOf(what));
        switch (what.work) {
        case GpuWork::Product:
        case GpuWork::InputGradient:
        case GpuWork::WeightGradient: time = 2 * a * b * c / 400e12; break;
        case GpuWork::AttentionForward: time = 2 * a * a * b * c / attentionRate(a); break;
        case GpuWork::AttentionBackward: time = 5 * a * a * b * c / (0.8 * attentionRate(a)); break;
        case GpuWork::Copy: time = 2 * a / 2e12; break;
        case GpuWork::ToDevice:
        case GpuWork::FromDevice: time = a / 50e9; break;
        case GpuWork::RoundTrip: time = 14e-6; break;
        case GpuWork::GraphLaunch: time = 4e-6 + 1e-6 * a; break;
        case GpuWork::AllReduce: time = 5e-6 + a * 2 * 3 / 4 / 300e9; break;
        case GpuWork::AllGather:
        case GpuWork::ReduceScatter: time = 5e-6 + a * 3 / 4 / 300e9; break;
        default: break;
        }
        if (what.work == GpuWork::Product && what.sustained()) time *= 1.25;
        return (what.beside == Beside::Copying ? 1.5 : what.beside == Beside::AllReduce ? 1.3 : 1) * time;
    }
    static double attentionRate(double length) { return 200e12 * length / (length + 512); }
    static double memoryRate(GpuWork work, double bytes)
    {
        return (2e12 - 5e10 * static_cast<double>(static_cast<int>(work) - static_cast<int>(GpuWork::Add))) * bytes /
               (bytes + 1e6);
    }
    Result<GpuTimes> measure(const GpuMeasurement& what) override
    {
        asked.push_back(what);
        now += what.seconds;
        GpuTimes times;
        for (const double noise : {0.9, 1.0, 1.1, 1.0, 0.9, 1.1, 1.0, 0.9, 1.1, 1.0, 1.0})
            times.seconds.push_back(factor * noise * seconds(what));
        times.clockMhz = what.sustained() ? 1400 : 1900;
        times.powerWatts = 650;
        return times;
    }
    double elapsed() override { return now; }
    int gpus(std::string& why) override
    {
        why = group == 1 ? "there is one GPU" : "";
        return group;
    }
};

ClusterSpec device()
{
    ClusterSpec cluster;
    cluster.device.name = "made GPU";
    cluster.device.family = "hopper";
    cluster.device.memoryBytes = std::int64_t{80} << 30;
    cluster.device.memoryBytesPerSecond = 4e12;
    cluster.device.multiprocessors = 132;
    cluster.device.peakFlops[Precision::Bf16] = 800e12;
    return cluster;
}

class CliGpuCalibrationTest : public QObject {
    Q_OBJECT

private slots:
    void theMostUsefulComesFirst();
    void predictionsFollowTheLaw();
    void severalGpus();
    void theProgramPredictsByTheLaw();
    void withoutAGpuOneSentence();

private:
    QTemporaryDir m_folder;
};

void CliGpuCalibrationTest::theMostUsefulComesFirst()
{
    Law law;
    const auto measured = calibrateGpu(law, 30);
    QVERIFY(measured.ok());
    QVERIFY(law.now <= 30);
    // Bursts of all shapes and ten seconds of two of them; then whatever is short enough.
    QVERIFY(law.asked[0].extents == law.asked[16].extents && !law.asked[15].sustained() && law.asked[16].sustained());
    QVERIFY(law.asked[1].extents == law.asked[17].extents && law.asked[17].sustained() && !law.asked[18].sustained());
    QVERIFY(std::abs(sustainedSlowdown(*measured) - 1.25) < 1e-9);
    QVERIFY(std::any_of(measured->leftOut.begin(), measured->leftOut.end(), [](const std::string& line) {
        return line == "products beside copying: 4 measurements for want of time";
    }));
    const GpuMeasured& first = measured->measured.front();
    QCOMPARE(first.samples, std::size_t{11});
    const double exact = 2.0 * 8192 * 4096 * 4096 / 400e12;
    QVERIFY(std::abs(first.median / exact - 1) < 1e-9);
    QVERIFY(std::abs(first.low / exact - 0.9) < 1e-9 && std::abs(first.high / exact - 1.1) < 1e-9);
    QCOMPARE(first.clockMhz, 1900.0);

    Law none;
    const auto nothing = calibrateGpu(none, 0.1);
    QVERIFY(nothing.ok() && nothing->measured.empty());
    QVERIFY(!gpuPreset(*nothing, device()).ok());
}

void CliGpuCalibrationTest::predictionsFollowTheLaw()
{
    Law law;
    const auto measured = calibrateGpu(law, 1000);
    QVERIFY(measured.ok());
    QCOMPARE(measured->leftOut.size(), std::size_t{1}); // what wants several GPUs
    const auto preset = gpuPreset(*measured, device());
    QVERIFY2(preset.ok(), preset.ok() ? "" : preset.error().message().c_str());
    const QString path = m_folder.filePath("gpu.json");
    std::ofstream(path.toStdString()) << *preset;

    // As predict reads it.
    const auto object = nlohmann::json::parse(*preset);
    const auto calibration = calibrationFromJson(object["calibration"].dump(), "preset");
    QVERIFY2(calibration.ok(), calibration.ok() ? "" : calibration.error().message().c_str());
    const auto cluster = loadCluster(path.toStdString());
    QVERIFY2(cluster.ok(), cluster.ok() ? "" : cluster.error().message().c_str());
    const auto framework = loadFramework("fourwalls");
    QVERIFY(framework.ok());
    const auto rates = cost::deviceRates(cluster->device, Precision::Bf16, *framework, *calibration);
    QVERIFY(rates.ok());
    const double lasting = 400e12 / 1.25;
    for (const char* name : {"gemm", "gemm.input_gradient", "gemm.weight_gradient"}) {
        const auto rate = cost::measuredRate(*rates, name, {8192, 4096, 4096});
        QVERIFY2(rate && std::abs(*rate / lasting - 1) < 1e-9, name);
    }
    const double largest = amountOf({"", GpuWork::Add, {double{1 << 30}}});
    QVERIFY(std::abs(cost::memoryRate(*rates, MemoryClass::Contiguous) / Law::memoryRate(GpuWork::Add, largest) - 1) <
            1e-9);
    QVERIFY(std::abs(rates->kernelSeconds - 4e-6) < 1e-15);
    QVERIFY(std::abs(calibration->synchronousLaunchSeconds - 10e-6) < 1e-15);
    QVERIFY(std::abs(calibration->contention - 0.5) < 1e-9);
    for (const double length : {512.0, 2048.0, 16384.0})
        for (const bool backward : {false, true}) {
            const auto rate = cost::measuredAttention(*rates, backward, length, 128);
            QVERIFY(rate && std::abs(*rate / Law::attentionRate(length) / (backward ? 0.8 : 1) - 1) < 1e-9);
        }
    // The engine's kernel is nobody else's.
    const auto other = loadFramework("megatron-core");
    QVERIFY2(other.ok(), other.ok() ? "" : other.error().message().c_str());
    const auto otherRates = cost::deviceRates(cluster->device, Precision::Bf16, *other, *calibration);
    QVERIFY(otherRates.ok() && !cost::measuredAttention(*otherRates, false, 2048, 128));
    for (const MemoryKernel& kernel : memoryKernels()) {
        if (!kernel.measured) continue;
        const double bytes = amountOf({"", kernel.work, {double{1 << 22}}});
        const auto rate = cost::measuredRate(*rates, kernel.measured, {bytes});
        QVERIFY2(rate && std::abs(*rate / Law::memoryRate(kernel.work, bytes) - 1) < 1e-9, kernel.measured);
    }

    // Tables in the columns of kernel rates, with what NVML told.
    const auto& row = object["tables"]["products"][16]; // behind as many bursts
    QCOMPARE(row["context"].get<std::string>(), std::string("microbenchmark_sustained"));
    QCOMPARE(row["clock_mhz"].get<double>(), 1400.0);
    QCOMPARE(row["fraction_of_peak"].get<double>(), 0.4);
    for (const auto& [table, columns] :
         {std::pair{"products", std::vector{"m", "n", "k", "batch", "layout", "tflops", "op"}},
          std::pair{"attention",
                    std::vector{"pass", "kind", "heads", "kv_heads", "seq_q", "seq_k", "head_dim", "causal"}},
          std::pair{"memory_bound", std::vector{"op_class", "op", "kernel", "shapes", "bytes", "gb_per_s"}},
          std::pair{"host", std::vector{"what", "median_us", "p90_us"}}}) {
        QVERIFY2(!object["tables"][table].empty(), table);
        for (const auto& each : object["tables"][table]) {
            for (const char* column : columns) QVERIFY2(each.contains(column), column);
            for (const char* column : {"device", "samples", "context", "source"})
                QVERIFY2(each.contains(column), column);
            if (std::string(table) == "host") continue;
            const double low = each["low_us"], time = each["time_us"], high = each["high_us"];
            QVERIFY2(low < time && time < high, table);
        }
    }
    QVERIFY(std::any_of(object["tables"]["host"].begin(), object["tables"]["host"].end(), [](const auto& each) {
        return each["what"] == "graph of 100 kernels of one element, launched back to back" &&
               std::abs(each["median_us"].template get<double>() - 104) < 1e-6;
    }));
}

/// With several GPUs: collectives as curves, and what they cost the computation beside them.
void CliGpuCalibrationTest::severalGpus()
{
    Law law;
    law.group = 4;
    const auto measured = calibrateGpu(law, 1000);
    QVERIFY(measured.ok() && measured->leftOut.empty());
    ClusterSpec cluster = device();
    cluster.fabric = NodeFabric::NvLink;
    cluster.nodeLink.bytesPerSecond = 450e9;
    const auto preset = gpuPreset(*measured, cluster);
    QVERIFY2(preset.ok(), preset.ok() ? "" : preset.error().message().c_str());
    const QString path = m_folder.filePath("four.json");
    std::ofstream(path.toStdString()) << *preset;
    const auto object = nlohmann::json::parse(*preset);
    const auto calibration = calibrationFromJson(object["calibration"].dump(), "preset");
    QVERIFY2(calibration.ok(), calibration.ok() ? "" : calibration.error().message().c_str());
    const auto read = loadCluster(path.toStdString());
    QVERIFY2(read.ok(), read.ok() ? "" : read.error().message().c_str());
    QCOMPARE(read->devicesPerNode, 4);
    QVERIFY(std::abs(calibration->contention - 0.3) < 1e-9);

    const cost::CollectiveTimes times(*read, *calibration);
    const cost::GroupPlacement four = cost::placeGroup(4, 1, 4);
    for (const double bytes : {65536.0, 1048576.0, 268435456.0}) {
        const double reduce = times.seconds(cost::Collective::AllReduce, bytes, four);
        QVERIFY2(std::abs(reduce / (5e-6 + bytes * 1.5 / 300e9) - 1) < 1e-9, QByteArray::number(reduce));
        const double gather = times.seconds(cost::Collective::AllGather, bytes, four);
        QVERIFY2(std::abs(gather / (5e-6 + bytes * 0.75 / 300e9) - 1) < 1e-9, QByteArray::number(gather));
    }
    const auto& rows = object["tables"]["collectives"];
    QVERIFY(std::any_of(rows.begin(), rows.end(), [](const auto& row) {
        return row["operation"] == "allreduce" && row["payload_bytes"] == 1073741824.0 && row["ranks"] == 4 &&
               std::abs(row["busbw_gb_s"].template get<double>() / 300 - 1) < 1e-2;
    }));
    QVERIFY(std::any_of(object["tables"]["products"].begin(), object["tables"]["products"].end(),
                        [](const auto& row) { return row["comm_overlap"] == "yes (all-reduce of all GPUs)"; }));
    const Answer answer =
        run({"plan", "--model", "gpt3-1.3b", "--cluster", path, "--gpus", "4", "--batch", "16", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
}

/// What takes twice as long on the GPU takes twice as long in the step.
void CliGpuCalibrationTest::theProgramPredictsByTheLaw()
{
    double times[2] = {}; // [ms]
    for (const int factor : {1, 2}) {
        Law law;
        law.factor = factor;
        const auto measured = calibrateGpu(law, 1000);
        QVERIFY(measured.ok());
        const auto preset = gpuPreset(*measured, device());
        QVERIFY(preset.ok());
        const QString path = m_folder.filePath(QString("gpu%1.json").arg(factor));
        std::ofstream(path.toStdString()) << *preset;
        const Answer answer = run({"predict", "--model", "gpt3-1.3b", "--cluster", path, "--framework", "fourwalls",
                                   "--batch", "4", "--json"});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        times[factor - 1] = answer.json()["step_time_ms"].toDouble();
    }
    QVERIFY(times[0] > 0);
    QVERIFY2(std::abs(times[1] / times[0] - 2) < 1e-3, QByteArray::number(times[1] / times[0]));
}

void CliGpuCalibrationTest::withoutAGpuOneSentence()
{
    qputenv("FOURWALLS_CUDA_MODULE", "/nowhere/libfourwalls_cuda.so");
    const QString path = m_folder.filePath("none.json");
    const Answer answer = run({"calibrate", "--device", "cuda", "-o", path});
    qunsetenv("FOURWALLS_CUDA_MODULE");
    QCOMPARE(answer.exitCode, 1);
    QVERIFY2(answer.saysOneLine(), answer.err.constData());
    QVERIFY(!QFile::exists(path));
}

FOURWALLS_TEST(CliGpuCalibrationTest, QCoreApplication)

} // namespace tst_cli_gpu_calibration

#include "tst_cli_gpu_calibration.moc"
