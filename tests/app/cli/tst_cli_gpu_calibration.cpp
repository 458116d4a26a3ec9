// SPDX-License-Identifier: Apache-2.0
// calibrate --device cuda without a GPU: a stand-in whose times follow a made law. What is measured, in which order and
// within which time; and a prediction from the preset has the times of that law.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#ifndef Q_MOC_RUN
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
#endif

namespace tst_cli_gpu_calibration {

using namespace fourwalls;
using namespace fourwalls::calibrate;
using namespace fourwalls::test;

/// Products at 400 TFLOP/s in a burst and 5/4 of the time when they last, 3/2 of that beside copying; every call 4 us.
class Law final : public GpuBench {
public:
    double now = 0, factor = 1;
    std::vector<GpuMeasurement> asked;

    static double seconds(const GpuMeasurement& what)
    {
        const auto& [a, b, c] = what.extents;
        double time = 4e-6;
        switch (what.work) {
        case GpuWork::Product:
        case GpuWork::InputGradient:
        case GpuWork::WeightGradient: time = 2 * a * b * c / 400e12; break;
        case GpuWork::AttentionForward: time = 2 * a * a * b * c / 200e12; break;
        case GpuWork::AttentionBackward: time = 5 * a * a * b * c / 160e12; break;
        case GpuWork::Add: time = a / 2e12; break;
        case GpuWork::Copy: time = 2 * a / 2e12; break;
        case GpuWork::ToDevice:
        case GpuWork::FromDevice: time = a / 50e9; break;
        case GpuWork::Launch: break;
        }
        if (what.work == GpuWork::Product && what.sustained()) time *= 1.25;
        return what.beside == Beside::Copying ? 1.5 * time : time;
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
    void theProgramPredictsByTheLaw();
    void withoutAGpuOneSentence();

private:
    QTemporaryDir m_folder;
};

void CliGpuCalibrationTest::theMostUsefulComesFirst()
{
    Law law;
    const auto measured = calibrateGpu(law, gpuSchedule(), 30);
    QVERIFY(measured.ok());
    QVERIFY(law.now <= 30);
    // A burst and ten seconds of two shapes; then whatever is short enough.
    QVERIFY(law.asked[0].extents == law.asked[1].extents && !law.asked[0].sustained() && law.asked[1].sustained());
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
    const auto nothing = calibrateGpu(none, gpuSchedule(), 0.1);
    QVERIFY(nothing.ok() && nothing->measured.empty());
    QVERIFY(!gpuPreset(*nothing, device()).ok());
}

void CliGpuCalibrationTest::predictionsFollowTheLaw()
{
    Law law;
    const auto measured = calibrateGpu(law, gpuSchedule(), 1000);
    QVERIFY(measured.ok() && measured->leftOut.empty());
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
    QVERIFY(std::abs(rates->memoryBytes / 2e12 - 1) < 1e-9);
    QVERIFY(std::abs(rates->kernelSeconds - 4e-6) < 1e-15);
    QVERIFY(std::abs(rates->attentionForward / 200e12 - 1) < 1e-9);
    QVERIFY(std::abs(rates->attentionBackward / 160e12 - 1) < 1e-9);
    QVERIFY(std::abs(calibration->contention - 0.5) < 1e-9);

    // Tables in the columns of kernel rates, with what NVML told.
    const auto& row = object["tables"]["products"][1];
    QCOMPARE(row["context"].get<std::string>(), std::string("microbenchmark_sustained"));
    QCOMPARE(row["clock_mhz"].get<double>(), 1400.0);
    QCOMPARE(row["fraction_of_peak"].get<double>(), 0.4);
    QVERIFY(!object["tables"]["attention"].empty() && !object["tables"]["memory_bound"].empty());
}

/// What takes twice as long on the GPU takes twice as long in the step.
void CliGpuCalibrationTest::theProgramPredictsByTheLaw()
{
    double times[2] = {}; // [ms]
    for (const int factor : {1, 2}) {
        Law law;
        law.factor = factor;
        const auto measured = calibrateGpu(law, gpuSchedule(), 1000);
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
