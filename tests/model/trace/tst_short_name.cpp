// SPDX-License-Identifier: Apache-2.0
// Names on bars and in tables.
#include <QTest>

#include "model/trace/short_name.h"
#include "tests/support/test_program.h"

#include <set>
#include <string>
#include <vector>

namespace tst_short_name {

using namespace fourwalls;

class ShortNameTest : public QObject {
    Q_OBJECT
private slots:
    void keepsWhatDistinguishes_data();
    void keepsWhatDistinguishes();
    void rowsNeverReadTheSame();
};

void ShortNameTest::keepsWhatDistinguishes_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* label, const char* name, const char* expected) {
        QTest::newRow(label) << QString::fromUtf8(name) << QString::fromUtf8(expected);
    };
    row("Python", "examples/train_ddp.py(180): main", "main · train_ddp.py:180");
    row("Python on Windows", "C:\\x y\\model.py(7): <lambda>", "<lambda> · model.py:7");
    row("built-in", "<built-in method relu of type object at 0x7f00>", "relu · built-in");
    row("built-in of a class", "<built-in method item of Tensor object at 0x7f00>", "item · Tensor");
    row("module", "nn.Module: Linear_3", "Linear_3");
    row("operator", "aten::mm", "aten::mm");
    row("copy", "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)");
    row("words", "my step (warm)", "my step (warm)");
    row("plain kernel", "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
    row("elementwise",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3> >(int, "
        "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
        "elementwise · add<float>");
    row("elementwise, binary",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
        "c10::BFloat16, "
        "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, X)",
        "elementwise · Mul<BFloat16>");
    row("reduction",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
        "float>, unsigned int, "
        "float, 4> >(at::native::ReduceOp<float>)",
        "reduce · Mean<float>");
    row("lambda",
        "void at::native::elementwise_kernel<128, 4, "
        "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::"
        "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}> >(int)",
        "elementwise · direct_copy");
    row("anonymous",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, 64, 64>(float*)",
        "CatArrayBatchedCopy<float>");
    row("unnamed", "at::native::<unnamed>::CatArrayBatchedCopy<float>(float*)", "CatArrayBatchedCopy<float>");
    row("cutlass", "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(cutlass_80::Params)",
        "cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1");
    row("attention",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, cutlass::bfloat16_t>, "
        "false>(flash::Params)",
        "flash_fwd<bfloat16_t>");
    row("return type", "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float>(X)",
        "gemvx<int>");
    row("NCCL", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "AllReduce_Sum_f32_RING_LL");
    row("mangled, not written out",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_149kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffleINS_"
        "34Gridwise",
        "kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle");
    row("mangled, without a namespace", "_Z6kernelIfEvT_", "kernel");
    row("no mangled name", "_Zebra", "_Zebra");
    row("mangled, a length beyond the end", "_ZN99kernel", "_ZN99kernel");
    row("generic NCCL", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic_4");
    row("autograd", "autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0 · autograd");
    row("broken", "void <<<(((", "void <<<(((");
    row("empty", "", "");
}

void ShortNameTest::keepsWhatDistinguishes()
{
    QFETCH(QString, name);
    QFETCH(QString, expected);
    QCOMPARE(QString::fromStdString(shortName(name.toStdString())), expected);
}

void ShortNameTest::rowsNeverReadTheSame()
{
    QCOMPARE(shortName("ncclDevKernel_Generic(x)", "all_reduce 23.4 MB"), std::string("all_reduce 23.4 MB"));
    QCOMPARE(shortName("ncclDevKernel_AllGather_RING_LL(x)", "all_gather 1 kB; grid [2, 1, 1] block [96, 1, 1]"),
             std::string("all_gather 1 kB"));
    QCOMPARE(shortName("ncclDevKernel_AllGather_RING_LL(x)", "grid [2, 1, 1] block [96, 1, 1]"),
             std::string("AllGather_RING_LL"));
    const std::vector<std::string> names{"void elementwise_kernel<4, add<float>>(int)",
                                         "void elementwise_kernel<8, add<float>>(int)",
                                         "void elementwise_kernel<4, add<float>>(int)", "aten::mm"};
    const std::vector<std::string> shown = shortNames(names);
    QCOMPARE(shown.size(), names.size());
    QVERIFY(shown[0] != shown[1]);
    QCOMPARE(shown[0], shown[2]);
    QVERIFY(shown[0].starts_with("elementwise"));
    QCOMPARE(shown[3], std::string("aten::mm"));
    // Two of three that are alike for long: each is told by the word in which it differs from its like.
    const std::string same(60, 'x');
    const std::vector<std::string> three{"void k<1, " + same + ", a>(int)", "void k<2, " + same + ", b>(int)",
                                         "void k<2, " + same + ", c>(int)"};
    const std::vector<std::string> told = shortNames(three);
    QCOMPARE((std::set<std::string>{told.begin(), told.end()}).size(), three.size());
    // What tells them apart has at most 40 letters.
    for (std::size_t i = 0; i < told.size(); ++i)
        QVERIFY2(told[i].size() <= shortName(three[i]).size() + std::string(" · ").size() + 40, told[i].c_str());
}

FOURWALLS_TEST(ShortNameTest, QCoreApplication)

} // namespace tst_short_name

#include "tst_short_name.moc"
