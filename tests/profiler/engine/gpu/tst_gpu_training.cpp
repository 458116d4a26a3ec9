// SPDX-License-Identifier: Apache-2.0
// Whole trainings on the CUDA device against the CPU: with the processor in place of the GPU, which is as lazy as one,
// and on a GPU where there is one. Every kind of network, plans with several ranks, what is recorded, memory, and what
// is said when something is missing.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/base/format.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/train/image_data.h"
#include "tests/profiler/engine/gpu/gpu_fixture.h"
#include "tests/profiler/engine/gpu/training_fixture.h"
#include "tests/support/test_program.h"

#include <QProcess>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace tst_gpu_training {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuTraining : public QObject {
    Q_OBJECT

private:
    // Ends the row where its GPU is missing.
    static bool choose(bool real)
    {
        gpu::useModule(real ? nullptr : &gpu::testing::hostModule());
        std::string why;
        if (moduleFor(real, why)) return true;
        endRowWithoutGpu(why);
        return false;
    }

private slots:
    void init() { gpu::testing::HostModuleState::get().failAfter = -1; }
    void cleanup() { gpu::useModule(nullptr); }

    void likeTheCpu_data()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<int>("net");
        QTest::addColumn<QByteArray>("plan");
        QTest::addColumn<int>("steps");
        const auto row = [](Net net, const char* plan, int steps) {
            for (const bool real : {false, true})
                QTest::addRow("%s, net %d: %s", real ? "GPU" : "processor", static_cast<int>(net), plan)
                    << real << static_cast<int>(net) << QByteArray(plan) << steps;
        };
        row(Net::Decoder, "", 20);
        row(Net::Decoder, "attention=unfused fuse=0 inplace=0 microbatches=2", 3);
        row(Net::Llama, "recompute=full", 3);
        row(Net::Llama, "recompute=selective attention=unfused", 3);
        row(Net::Experts, "", 3);
        row(Net::Clicks, "", 3);
        row(Net::Decoder, "offload=optimizer,activations", 3);
        row(Net::Decoder, "offload=parameters", 3);
        row(Net::Decoder, "dp=2", 3);
        row(Net::Decoder, "dp=2 zero=3", 3);
        row(Net::Decoder, "dp=2 zero=1 collective=ring overlap=0", 3);
        row(Net::Decoder, "tp=2 sp=1", 3);
        row(Net::Llama, "cp=2", 3);
        row(Net::Decoder, "pp=2 microbatches=2", 3);
        row(Net::Experts, "dp=2 ep=2", 3);
        row(Net::Clicks, "dp=2 ps=sync servers=1", 3);
    }
    void likeTheCpu()
    {
        QFETCH(bool, real);
        QFETCH(int, net);
        QFETCH(QByteArray, plan);
        QFETCH(int, steps);
        if (!choose(real)) return;
        const RunSpec spec = specOf(static_cast<Net>(net), plan.constData(), steps);
        const auto cpu = train(spec, DeviceKind::Cpu), gpu = train(spec, DeviceKind::Cuda);
        QVERIFY2(cpu.ok(), cpu.ok() ? "" : cpu.error().message().c_str());
        QVERIFY2(gpu.ok(), gpu.ok() ? "" : gpu.error().message().c_str());
        QCOMPARE(gpu->steps.size(), cpu->steps.size());
        for (std::size_t i = 0; i < cpu->steps.size(); ++i) {
            // f32 sums in another order; training amplifies what differs.
            QVERIFY2(std::abs(gpu->steps[i].loss - cpu->steps[i].loss) < 2e-5 * cpu->steps[i].loss,
                     qPrintable(QString("loss of step %1: %2 against %3")
                                    .arg(i)
                                    .arg(gpu->steps[i].loss, 0, 'g', 9)
                                    .arg(cpu->steps[i].loss, 0, 'g', 9)));
            QVERIFY(std::abs(gpu->steps[i].gradientNorm - cpu->steps[i].gradientNorm) <
                    1e-3 * cpu->steps[i].gradientNorm);
        }
    }

    void bf16FollowsF32_data()
    {
        QTest::addColumn<bool>("real");
        QTest::newRow("processor") << false;
        QTest::newRow("GPU") << true;
    }
    void bf16FollowsF32()
    {
        QFETCH(bool, real);
        if (!choose(real)) return;
        const auto wide = train(specOf(Net::Llama, "", 10), DeviceKind::Cuda);
        const auto narrow = train(specOf(Net::Llama, "", 10, Precision::Bf16), DeviceKind::Cuda);
        const auto again = train(specOf(Net::Llama, "", 10, Precision::Bf16), DeviceKind::Cuda);
        QVERIFY(wide.ok() && narrow.ok() && again.ok());
        for (std::size_t i = 0; i < 10; ++i) {
            QVERIFY(std::abs(narrow->steps[i].loss - wide->steps[i].loss) < 0.02 * wide->steps[i].loss);
            QCOMPARE(again->steps[i].loss, narrow->steps[i].loss); // the same bits
        }
        const auto tf32 = train(specOf(Net::Llama, "", 3, Precision::Tf32), DeviceKind::Cuda);
        QVERIFY(tf32.ok());
        QVERIFY(std::abs(tf32->steps[2].loss - wide->steps[2].loss) < 0.02 * wide->steps[2].loss);
    }

    // A network with every kind of layer of a ResNet, small enough for plain loops.
    void residualNetwork_data() { bf16FollowsF32_data(); }
    void residualNetwork()
    {
        QFETCH(bool, real);
        if (!choose(real)) return;
        std::string why;
        const gpu::Module* module = moduleFor(real, why);
        const ResNetShape shape{{1, 2, 1, 1}, 8, 32, 5};
        const auto run = [&](RankContext& rank, bool fuse) {
            ResNet model(rank, shape, 1, fuse);
            for (const auto& p : model.parameters().all()) p->gradientEmpty = true;
            const ImageData data(shape.imageSize, shape.classes, 1);
            const Batch batch = data.batch(rank, 0, 2, 0, 2);
            const auto state = model.forward(rank, batch, {});
            std::vector<double> values{model.loss(rank, batch, *state, 1.0)};
            model.backward(rank, batch, *state, {});
            for (const auto& p : model.parameters().all()) {
                const HostAccess host(p->gradient, HostAccess::Mode::Read);
                double squares = 0;
                for (std::int64_t i = 0; i < p->gradient.elements(); ++i) squares += std::pow(host.get(i), 2);
                values.push_back(std::sqrt(squares));
            }
            return values;
        };
        for (const bool fuse : {true, false}) {
            TestRank cpu(DType::F32);
            GpuRank gpu(*module, DType::F32);
            const auto expected = run(*cpu.context, fuse), actual = run(gpu.context, fuse);
            QCOMPARE(actual.size(), expected.size());
            QVERIFY(std::abs(actual[0] - expected[0]) < 1e-4 * expected[0]);
            for (std::size_t i = 1; i < expected.size(); ++i)
                QVERIFY2(std::abs(actual[i] - expected[i]) < 2e-2 * expected[i] + 1e-5,
                         qPrintable(QString("gradient %1: %2 against %3").arg(i).arg(actual[i]).arg(expected[i])));
        }
    }

    // Twenty steps of a whole ResNet-50: only where it does not take minutes.
    void resnet50OnTheGpu()
    {
        if (!choose(true)) return;
        RunSpec spec;
        spec.model = {"resnet50", ResNetSpec{50, 64, 10}};
        spec.training.steps = 20;
        spec.training.batch = 8;
        spec.training.optimizer = Optimizer::Sgd;
        spec.training.learningRate = 0.01;
        spec.cluster.name = "this-machine";
        const auto cpu = train(spec, DeviceKind::Cpu), gpu = train(spec, DeviceKind::Cuda);
        QVERIFY(cpu.ok() && gpu.ok());
        for (std::size_t i = 0; i < 20; ++i) // rounding grows from step to step in a network this deep
            QVERIFY(std::abs(gpu->steps[i].loss - cpu->steps[i].loss) < (i < 3 ? 1e-3 : 0.1) * cpu->steps[i].loss);
    }

    // Slices lie where the device was, inside each other and in order; memory adds up.
    void recordsItself_data() { bf16FollowsF32_data(); }
    void recordsItself()
    {
        QFETCH(bool, real);
        if (!choose(real)) return;
        RunSpec spec = specOf(Net::Decoder, "microbatches=2", 3);
        spec.training.device = DeviceKind::Cuda;
        QVERIFY(resolve(spec).ok());
        const ClockOrigin origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, origin));
        const auto report = train(spec, DeviceKind::Cuda, &trace, origin);
        QVERIFY2(report.ok(), report.ok() ? "" : report.error().message().c_str());
        QVERIFY(trace.finish(report->closing).ok());
        InMemoryTraceQuery query(trace.data());
        for (const auto& audit : query.info().audit)
            QVERIFY2(audit.severity == AuditSeverity::Info, audit.name.c_str());
        std::map<SliceKind, std::vector<std::pair<std::int64_t, std::int64_t>>> slices;
        QVERIFY(query
                    .scanSlices([&](const SliceView& s) {
                        slices[(**query.op(s.op)).kind].emplace_back(s.start.ns, s.end().ns);
                        return true;
                    })
                    .ok());
        QCOMPARE(slices[SliceKind::Step].size(), std::size_t{3});
        QVERIFY(slices[SliceKind::Kernel].size() > 3 * 2 * 30);
        auto& kernels = slices[SliceKind::Kernel];
        std::sort(kernels.begin(), kernels.end());
        for (std::size_t i = 1; i < kernels.size(); ++i) QVERIFY(kernels[i - 1].second <= kernels[i].first);
        const auto inside = [&](SliceKind inner, SliceKind outer, std::int64_t from) {
            return std::all_of(slices[inner].begin(), slices[inner].end(), [&](const auto& i) {
                return i.first < from || std::any_of(slices[outer].begin(), slices[outer].end(), [&](const auto& o) {
                           return o.first <= i.first && i.second <= o.second;
                       });
            });
        };
        const std::int64_t firstStep = slices[SliceKind::Step].front().first;
        QVERIFY(inside(SliceKind::Layer, SliceKind::Step, firstStep));
        QVERIFY(inside(SliceKind::Kernel, SliceKind::Step, firstStep));
        const auto summaries = query.memorySummaries();
        QVERIFY(summaries.ok());
        std::int64_t peak = 0;
        for (const auto& m : *summaries) peak = std::max(peak, m.peakBytes);
        QCOMPARE(peak, report->peakBytes);
        QVERIFY(report->peakBytes <= report->peakReservedBytes + (64 << 10)); // tokens are the host's
        const std::string device = query.info().header.ranks.at(0).device;
        QVERIFY2(real ? device.find("NVIDIA") != std::string::npos : device == "the processor as a GPU",
                 device.c_str());
    }

    // What the allocator says it reserved is what the GPU no longer has.
    void memoryIsTheDevices_data() { bf16FollowsF32_data(); }
    void memoryIsTheDevices()
    {
        QFETCH(bool, real);
        if (!choose(real)) return;
        std::string why;
        const gpu::Module* module = moduleFor(real, why);
        GpuRank rank(*module, DType::F32);
        gpu::Stream* const stream = module->openStream(0, nullptr, 0);
        std::int64_t before = 0, after = 0, total = 0;
        {
            const Tensor warm = rank.tensor({1 << 20}, DType::F32); // the context is there
            rank.device.zero(warm);
        }
        rank.allocator.trim();
        module->freeMemory(stream, &before, &total);
        std::vector<Tensor> held;
        for (int i = 1; i < 20; ++i) {
            held.push_back(rank.tensor({i * 500'000}, DType::F32));
            rank.device.zero(held.back());
        }
        module->freeMemory(stream, &after, &total);
        const auto taken = static_cast<double>(before - after);
        const auto reserved = static_cast<double>(rank.allocator.statistics().reserved);
        QVERIFY2(std::abs(taken - reserved) <= 0.01 * reserved, qPrintable(QString("%1 %2").arg(taken).arg(reserved)));
        held.clear();
        rank.allocator.trim();
        QCOMPARE(rank.allocator.statistics().reserved, std::int64_t{0});
        module->closeStream(stream);
    }

    void saysWhatIsMissing()
    {
        gpu::useModule(&gpu::testing::hostModule());
        auto& state = gpu::testing::HostModuleState::get();
        state.hasDriver = false;
        QCOMPARE(refusal(specOf(Net::Decoder, "", 3)), std::string("there is no NVIDIA driver on this machine"));
        state.hasDriver = true;
        QCOMPARE(refusal(specOf(Net::Decoder, "", 3)), std::string());
        RunOptions options;
        options.clock = ClockKind::Device;
        QVERIFY(!refusal(specOf(Net::Decoder, "", 3), options).empty());
        options = {};
        options.disturbances = {{DisturbanceKind::SlowRank, 0, 2.0, 0}};
        QVERIFY(!refusal(specOf(Net::Decoder, "", 3), options).empty());
        QVERIFY(!refusal(specOf(Net::Decoder, "", 3, Precision::Fp8)).empty());
        // A GPU that breaks in the middle.
        state.failAfter = 400;
        const auto broken = train(specOf(Net::Decoder, "", 3), DeviceKind::Cuda);
        QVERIFY(!broken.ok());
        QVERIFY2(broken.error().what.find("illegal memory access") != std::string::npos, broken.error().what.c_str());
        state.failAfter = -1;
        // A GPU that is too small.
        const std::int64_t capacity = std::exchange(state.capacity, 1 << 20);
        const auto full = train(specOf(Net::Decoder, "", 3), DeviceKind::Cuda);
        state.capacity = capacity;
        QVERIFY(!full.ok());
        QVERIFY2(full.error().what.find("out of memory") != std::string::npos, full.error().what.c_str());
    }

    // Without offloading the GPU's memory counts, with it the host's, too.
    void memoryThatARunNeeds()
    {
        gpu::useModule(&gpu::testing::hostModule());                                           // 2.1 GB
        const auto large = [](std::int64_t layers, std::int64_t ffnHidden, const char* plan) { // 12 bytes per weight
            RunSpec spec = specOf(Net::Decoder, plan, 3);
            auto& t = std::get<TransformerSpec>(spec.model.architecture);
            t.layers = layers;
            t.hidden = 1024;
            t.ffnHidden = ffnHidden;
            return spec;
        };
        const std::string alone = refusal(large(20, 4096, ""));
        QVERIFY2(alone.ends_with("and the GPU has " + formatBytes(2147483648.0)), alone.c_str());
        QCOMPARE(refusal(large(20, 4096, "offload=optimizer")), std::string());
        const std::string both = refusal(large(1000, 1'000'000, "offload=optimizer"));
        QVERIFY2(both.find("and the GPU and the host have ") != std::string::npos, both.c_str());
    }

    void families()
    {
        gpu::useModule(&gpu::testing::hostModule());
        auto& state = gpu::testing::HostModuleState::get();
        const auto family = [&](int major, int minor) {
            state.computeMajor = major;
            state.computeMinor = minor;
            const auto gpu = describeGpu();
            return gpu ? gpu->family : gpu.error().what;
        };
        QCOMPARE(family(8, 0), std::string("ampere"));
        QCOMPARE(family(8, 6), std::string("ampere"));
        QCOMPARE(family(8, 9), std::string("ada"));
        QCOMPARE(family(10, 3), std::string("blackwell"));
        QCOMPARE(family(12, 0), std::string(""));
        QCOMPARE(family(9, 0), std::string("hopper"));
    }

    // How often a step waits for the GPU does not depend on how many experts there are.
    void waitsOfAMixture()
    {
        gpu::useModule(&gpu::testing::hostModule());
        auto& state = gpu::testing::HostModuleState::get();
        const auto waitsOf = [&](std::int64_t experts, std::int64_t steps) {
            RunSpec spec = specOf(Net::Experts, "", steps);
            std::get<TransformerSpec>(spec.model.architecture).mixture.experts = experts;
            state.waits = 0;
            const auto report = train(spec, DeviceKind::Cuda);
            return report.ok() ? state.waits : -1;
        };
        const std::int64_t few = waitsOf(2, 3) - waitsOf(2, 2), many = waitsOf(8, 3) - waitsOf(8, 2);
        QVERIFY(few > 0);
        QCOMPARE(many, few);
    }

    // Weights from a file: every parameter is fetched as a whole, and a GPU that breaks meanwhile is an error.
    void weightsFromAFile_data()
    {
        QTest::addColumn<int>("net");
        QTest::addColumn<QByteArray>("plan");
        QTest::newRow("one rank") << static_cast<int>(Net::Decoder) << QByteArray("");
        QTest::newRow("server") << static_cast<int>(Net::Decoder) << QByteArray("dp=1 ps=sync servers=1");
        QTest::newRow("server of tables") << static_cast<int>(Net::Clicks) << QByteArray("dp=1 ps=sync servers=2");
    }
    void weightsFromAFile()
    {
        QFETCH(int, net);
        QFETCH(QByteArray, plan);
        gpu::useModule(&gpu::testing::hostModule());
        auto& state = gpu::testing::HostModuleState::get();
        QTemporaryDir directory;
        RunOptions save, load;
        save.saveWeightsDirectory = load.loadWeightsDirectory = directory.path().toStdString();
        const RunSpec one = specOf(static_cast<Net>(net), "", 2), spec = specOf(static_cast<Net>(net), plan, 2);
        QVERIFY(train(specOf(static_cast<Net>(net), "", 5), DeviceKind::Cpu, nullptr, {}, save).ok());
        const auto cpu = train(one, DeviceKind::Cpu, nullptr, {}, load);
        state.waits = 0;
        const auto fresh = train(spec, DeviceKind::Cuda);
        const std::int64_t without = std::exchange(state.waits, 0);
        const auto gpu = train(spec, DeviceKind::Cuda, nullptr, {}, load);
        QVERIFY(cpu.ok() && fresh.ok() && gpu.ok());
        QVERIFY(std::abs(gpu->steps[0].loss - cpu->steps[0].loss) < 2e-5 * cpu->steps[0].loss);
        QVERIFY(std::abs(fresh->steps[0].loss - cpu->steps[0].loss) > 1e-4 * cpu->steps[0].loss);
        // 28 parameters and less, of up to 4096 numbers.
        QVERIFY2(state.waits - without < 200, qPrintable(QString::number(state.waits - without)));
        for (int calls = 10; calls < 250; calls += 8) {
            state.failAfter = calls;
            const auto broken = train(spec, DeviceKind::Cuda, nullptr, {}, load);
            QVERIFY(!broken.ok());
            QVERIFY2(broken.error().what.find("illegal memory access") != std::string::npos,
                     broken.error().what.c_str());
        }
    }

    // The mark by which the module is known: FNV-1a, of the kernels' names, too.
    void marksOfModules()
    {
        namespace detail = gpu::detail;
        using namespace std::string_view_literals;
        QCOMPARE(detail::hashed(detail::kEmptyHash, "foobar"sv),
                 std::uint64_t{0x85944171f73967e8}); // its authors' test
        QVERIFY(detail::hashed(detail::kEmptyHash, "AddPieces;Choose;"sv) !=
                detail::hashed(detail::kEmptyHash, "Choose;AddPieces;"sv));         // kernels of equal sizes
        QCOMPARE(detail::hashed(detail::kEmptyHash, std::uint64_t{0x7261626f6f66}), // low bytes first
                 detail::hashed(detail::kEmptyHash, "foobar\0\0"sv));
    }

    // In a program of its own: the module is looked for once.
    void aModuleThatIsNotThere()
    {
        QProcess other;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("FOURWALLS_CUDA_MODULE", "/no/such/module.so");
        other.setProcessEnvironment(environment);
        other.start(QCoreApplication::applicationFilePath(), {"gpu_training", "-o", "-,txt", "resnet50OnTheGpu"});
        QVERIFY(other.waitForFinished(-1));
        const QByteArray said = other.readAllStandardOutput();
        QVERIFY2(said.contains("FOURWALLS_CUDA_MODULE names a file that cannot be read: /no/such/module.so"),
                 said.constData());
    }

    // This machine's own module, whatever it finds: it says one sentence or there is a GPU.
    void theRealModule()
    {
        const auto loaded = gpu::loadModule();
        if (loaded)
            QVERIFY(loaded->devices > 0);
        else
            QVERIFY2(loaded.error().what.size() > 20 && loaded.error().what.find('\n') == std::string::npos,
                     loaded.error().what.c_str());
    }
};

FOURWALLS_TEST(GpuTraining, QCoreApplication)

} // namespace tst_gpu_training

#include "tst_gpu_training.moc"
