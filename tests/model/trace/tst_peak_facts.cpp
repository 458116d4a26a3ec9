// SPDX-License-Identifier: Apache-2.0
// What kernels multiply, which peak that is, and when there is no MFU.
#include <QTest>

#include "model/trace/collective_timing.h"
#include "model/trace/figures.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/operator_roofline.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <string>

namespace tst_peak_facts {

using namespace fourwalls;
using fourwalls::test::Builder;
using fourwalls::test::kMs;

namespace {

constexpr const char* kTf32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32";
constexpr const char* kH100 = "NVIDIA H100 80GB HBM3";

bool near(double a, double b)
{
    return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

TraceHeader imported(const std::string& device)
{
    TraceHeader header = test::headerOf(1, TraceSource::Imported);
    header.ranks.front().device = device;
    return header;
}

/// One step of 10 ms with a matrix kernel of 1 ms and another kernel of 3 ms.
TraceMetrics oneStep(const std::string& device, const std::string& kernel, double flops,
                     const TraceClosing& closing = {})
{
    Builder builder(1, imported(device));
    builder.step(0, 0, 0, 10 * kMs);
    builder.work(0, kernel, Phase::Forward, 0, 1 * kMs, flops);
    builder.work(0, "void elementwise_kernel<float>", Phase::Forward, 1 * kMs, 4 * kMs);
    auto query = builder.finish(closing);
    auto metrics = computeMetrics(query);
    return metrics.ok() ? *metrics : TraceMetrics{};
}

} // namespace

class PeakFactsTest : public QObject {
    Q_OBJECT
private slots:
    void namesSayWhatIsMultiplied_data();
    void namesSayWhatIsMultiplied();
    void operandsTellWhereNamesDoNot();
    void whatStandsBesideAProductIsNone();
    void partsOfOneNameAreDifferentDevices();
    void mfuIsOfTheArithmeticThatRan();
    void noMfuWithoutAPeak_data();
    void noMfuWithoutAPeak();
    void aKernelAboveItsRoofProvesItWrong();
    void countedFlopsAreNoRate();
    void requestsToADeviceMakeOperatorsLaunches();
    void sharesAreNeverNegative();
    void fewKnownProductsAreNoMfu();
};

void PeakFactsTest::namesSayWhatIsMultiplied_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* expected) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(expected);
    };
    row("ampere_sgemm_128x64_tn", "f32");
    row("volta_scudnn_128x64_relu_interior_nn_v1", "f32");
    row("void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(P)", "f32");
    row("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(P)", "tf32");
    row(kTf32, "tf32");
    row("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8", "f32");
    row("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", "bf16");
    row("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "f16");
    row("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "f16");
    row("turing_h1688gemm_128x128_ldg8_nn", "f16");
    row("void cutlass::Kernel<cutlass_70_wmma_tensorop_f16_s161616gemm_f16_32x32_64x2_tn_align8>(P)", "f16");
    row("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "f64");
    row("cutlass_80_tensorop_i16832gemm_s8_128x128_64x4_tn_align16", "int8");
    row("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128", "fp8");
    row("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "bf16");
    row("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN", "f16");
    row("nvjet_sm100_qqtst_128x256_128x6_2x1_v_bz_TNT", "fp8");
    row("nvjet_sm90_sss_64x32_64x9_4x1_h_bz_TNN", "tf32");
    row("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64", "bf16");
    row("Cijk_Ailk_Bljk_HHS_BH_MT64x64x64_MI16x16x16x1", "f16");
    row("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", "f32");
    row("Cijk_Ailk_Bljk_DB_MT64x64x16", "f64");
    row("Cijk_Alik_Bljk_F8BS_BH_MT128x128x128", "fp8");
    row("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8", "bf16");
    row("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, cutlass::half_t>>(P)", "f16");
    row("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(A)", "bf16");
    row("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKv", "fp8");
    row("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "bf16");
    row("triton_tem_fused_mm_5", "unknown");
    row("attn_fwd", "unknown");
}

void PeakFactsTest::namesSayWhatIsMultiplied()
{
    QFETCH(QString, name);
    QFETCH(QString, expected);
    const std::string_view word = fourwalls::name(arithmeticOf(name.toStdString()).type);
    QCOMPARE(QString::fromLatin1(word.data(), static_cast<qsizetype>(word.size())), expected);
}

void PeakFactsTest::operandsTellWhereNamesDoNot()
{
    QCOMPARE(arithmeticOf("attn_fwd", "grid [1] block [2]" + operandDetail("c10::BFloat16")).type, Arithmetic::Bf16);
    QCOMPARE(arithmeticOf("attn_fwd", operandDetail("float")).type, Arithmetic::AnyF32);
    QCOMPARE(arithmeticOf(kTf32, operandDetail("float")).type, Arithmetic::Tf32); // the name is exact
    QVERIFY(arithmeticOf("cutlass_80_tensorop_f16_s16832spgemm_f16_128x128").sparse);
    QVERIFY(!arithmeticOf("cutlass_80_tensorop_f16_s16816gemm_f16_128x128").sparse);
}

void PeakFactsTest::whatStandsBesideAProductIsNone()
{
    QVERIFY(isMatrixKernel("volta_sgemm_128x64_nt"));
    QVERIFY(isMatrixKernel("volta_scudnn_128x64_relu_interior_nn_v1"));
    QVERIFY(isMatrixKernel("attn_fwd"));
    QVERIFY(!isMatrixKernel("void cudnn::ops::nchwToNhwcKernel<float>(P)"));
    QVERIFY(!isMatrixKernel("cask_cudnn_infer::computeOffsetsKernel(P)"));
    QVERIFY(!isMatrixKernel("void fbgemm_gpu::permute_2D_data_kernel<false, int>(int)"));
    QVERIFY(!isMatrixKernel("triton_poi_fused_convolution_3"));
    QVERIFY(!isMatrixKernel("void cublasLt::splitKreduce_kernel<32, 16, int, float>(P)"));
}

void PeakFactsTest::partsOfOneNameAreDifferentDevices()
{
    const auto pcie = deviceDatasheet("NVIDIA H100 PCIe"), sxm = deviceDatasheet(kH100);
    QVERIFY(pcie && sxm);
    QCOMPARE(*pcie->peak(Arithmetic::Bf16), 756e12);
    QCOMPARE(*sxm->peak(Arithmetic::Bf16), 989e12);
    QCOMPARE(pcie->linkKind, std::string("pcie"));
    QCOMPARE(sxm->linkKind, std::string("nvlink"));
    QCOMPARE(deviceDatasheet("Tesla V100-PCIE-32GB")->linkBytesPerSecond, 15.75e9);
    QCOMPARE(deviceDatasheet("Tesla V100-SXM2-32GB")->linkBytesPerSecond, 150e9);
    QVERIFY(deviceDatasheet("A100-SXM4-80GB")); // older drivers leave the maker out
    // TF32 and f32 are the same thing only where there is no TF32.
    QVERIFY(!sxm->peak(Arithmetic::AnyF32));
    QCOMPARE(*deviceDatasheet("Tesla V100-SXM2-32GB")->peak(Arithmetic::AnyF32), 15.7e12);
    QVERIFY(!deviceDatasheet("Tesla V100-SXM2-32GB")->peak(Arithmetic::Bf16));
    for (const char* unknown :
         {"CPU", "accelerator", "device 0", "", "NVIDIA A100", "NVIDIA RTX 5000 Ada Generation Laptop GPU"})
        QVERIFY2(!deviceDatasheet(unknown), unknown);
}

void PeakFactsTest::mfuIsOfTheArithmeticThatRan()
{
    // 212 GFLOP in 1 ms are 212 TFLOP/s, three times the f32 rate and 43 % of TF32's 494.5 TFLOP/s; in a step of 10 ms 4.3 %.
    const TraceMetrics m = oneStep(kH100, kTf32, 212e9);
    QVERIFY(m.mfu.has_value());
    QVERIFY(near(*m.mfu, 212e9 / (494.5e12 * 10e-3)));
    QCOMPARE(m.mfuAbsent, NoMfu::None);
    QCOMPARE(m.peak.peakWords(), std::string("tf32, NVIDIA H100 80GB HBM3, datasheet"));
    QVERIFY(near(*m.peak.flopsKnown, 0.25)); // 1 of 4 ms
    QVERIFY(near(*m.peak.matrixKnown, 1));
    QVERIFY(near(*m.flopsPerSecond, 21.2e12));
    double sum = 0;
    for (const auto& [part, share] : m.waterfall.parts()) {
        QVERIFY2(share >= 0, infoOf(part).key);
        sum += share;
        if (part == WaterfallPart::OtherCompute) QVERIFY(near(share, 0.3)); // nobody knows what those 3 ms computed
    }
    QVERIFY(near(sum, 1));
}

void PeakFactsTest::noMfuWithoutAPeak_data()
{
    QTest::addColumn<QString>("device");
    QTest::addColumn<QString>("kernel");
    QTest::addColumn<double>("flops");
    QTest::addColumn<int>("reason");
    QTest::newRow("unknown device") << "accelerator" << kTf32 << 1e9 << int(NoMfu::UnknownDevice);
    QTest::newRow("unknown arithmetic") << kH100 << "attn_fwd" << 1e9 << int(NoMfu::UnknownArithmetic);
    QTest::newRow("no rate") << "Tesla V100-SXM2-32GB"
                             << "some_bf16_gemm" << 1e9 << int(NoMfu::NoRate);
    QTest::newRow("no FLOPs") << kH100 << kTf32 << 0.0 << int(NoMfu::NoFlops);
}

void PeakFactsTest::noMfuWithoutAPeak()
{
    QFETCH(QString, device);
    QFETCH(QString, kernel);
    QFETCH(double, flops);
    QFETCH(int, reason);
    // What an older import took for the peak does not count.
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e12;
    closing.peakSource = "datasheet";
    const TraceMetrics m = oneStep(device.toStdString(), kernel.toStdString(), flops, closing);
    QVERIFY(!m.mfu && !m.hfu);
    QCOMPARE(int(m.mfuAbsent), reason);
    QVERIFY(!m.waterfall.empty());
    QVERIFY(near(m.waterfall[WaterfallPart::Compute], 0.4));
    QVERIFY(!m.waterfall.at(WaterfallPart::Achieved));
    QCOMPARE(m.flopsPerSecond.has_value(), flops > 0);
}

void PeakFactsTest::aKernelAboveItsRoofProvesItWrong()
{
    // 2000 TFLOP/s in TF32: four times what the device has.
    const TraceMetrics m = oneStep(kH100, kTf32, 2e12);
    QVERIFY(!m.mfu);
    QCOMPARE(m.mfuAbsent, NoMfu::AboveRoof);
    QCOMPARE(m.peak.breach->op, std::string(kTf32));
    QVERIFY(near(m.peak.breach->times, 2000 / 494.5));
    QVERIFY(near(m.peak.breach->share, 0.25));
    // Winograd gets along with fewer FLOPs than are counted: it proves nothing.
    QVERIFY(!oneStep("Tesla V100-SXM2-32GB", "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 20e9)
                 .peak.breach);
}

/// What it counts and does not compute is no rate of the device: 7 GFLOP in 10 us are 700 TFLOP/s on a V100.
void PeakFactsTest::countedFlopsAreNoRate()
{
    TraceHeader header = test::headerOf(1, TraceSource::Imported);
    header.ranks[0].device = "Tesla V100-SXM2-32GB";
    Builder builder(1, header);
    builder.step(0, 0, 0, 10 * kMs);
    builder.work(0, "cudnn::winograd_nonfused::winogradForwardFilter4x4", Phase::Forward, 0, 2 * kMs, 1e12);
    builder.work(0, "volta_sgemm_128x64_nt", Phase::Forward, 2 * kMs, 3 * kMs, 1e10);
    auto query = builder.finish({});
    const auto roofs = operatorRoofline(query);
    QVERIFY(roofs.ok());
    for (const RooflinePoint& point : roofs->operators) {
        QCOMPARE(point.flopsPerSecond().has_value(), point.name == "volta_sgemm_128x64_nt");
        QVERIFY(!point.aboveRoof);
    }
}

/// A profile of the processor alone of a job on devices: its operators launch, which is no rate.
void PeakFactsTest::requestsToADeviceMakeOperatorsLaunches()
{
    const auto launchesOnly = [](std::string transport) {
        TraceHeader header;
        header.source = TraceSource::Imported;
        header.ranks.resize(1);
        InMemoryTrace trace(std::move(header));
        trace.defineGroup({"dp", {RankId{0}}, std::move(transport)});
        OpInfo op;
        op.name = "aten::addmm";
        op.activity = Activity::Compute;
        op.flops = 1e12;
        {
            const auto producer = trace.openProducer();
            const TrackId track = trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 0});
            producer->slice({track, trace.defineOp(op), Instant{0}, Duration{1000}, {}, {}});
        }
        return trace.finish({}).ok() && hasLaunchesOnly(InMemoryTraceQuery(trace.data()));
    };
    QVERIFY(launchesOnly(std::string(kRequestsOnly)));
    QVERIFY(!launchesOnly("gloo"));
}

void PeakFactsTest::sharesAreNeverNegative()
{
    // A measured peak that is too low by 1 %: rounding. By half: another peak.
    for (const double peak : {0.99e12, 0.5e12}) {
        TraceHeader header = test::headerOf(1);
        Builder builder(1, header);
        builder.step(0, 0, 0, 10 * kMs);
        builder.work(0, "matmul", Phase::Forward, 0, 10 * kMs, 1e10);
        TraceClosing closing;
        closing.peakFlopsPerDevice = peak;
        closing.peakSource = "matrix-product sweep";
        auto query = builder.finish(closing);
        const auto m = computeMetrics(query);
        QVERIFY(m.ok());
        double sum = 0;
        for (const auto& [part, share] : m->waterfall.parts()) {
            QVERIFY2(share >= 0, infoOf(part).key);
            sum += share;
        }
        QVERIFY(near(sum, 1));
        QCOMPARE(m->mfu.has_value(), peak > 0.9e12);
        if (m->mfu) QCOMPARE(*m->mfu, 1.0);
    }
}

void PeakFactsTest::fewKnownProductsAreNoMfu()
{
    Builder builder(1, imported(kH100));
    builder.step(0, 0, 0, 10 * kMs);
    builder.work(0, kTf32, Phase::Forward, 0, 1 * kMs, 1e9);
    builder.work(0, "ampere_sgemm_128x64_tn", Phase::Forward, 1 * kMs, 3 * kMs);
    auto query = builder.finish();
    const auto m = computeMetrics(query);
    QVERIFY(m.ok());
    QCOMPARE(m->mfuAbsent, NoMfu::FewFlops);
    QVERIFY(near(*m->peak.matrixKnown, 1.0 / 3));
}

FOURWALLS_TEST(PeakFactsTest, QCoreApplication)

} // namespace tst_peak_facts

#include "tst_peak_facts.moc"
