// SPDX-License-Identifier: Apache-2.0
// Stacks of memory snapshots: whose line a buffer is named by, its operator, and what it is for.
#include "model/import/snapshot/memory_snapshot.h"
#include "model/import/snapshot/snapshot_lives.h"
#include "model/import/snapshot/snapshot_stacks.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_snapshot_stacks {

using namespace fourwalls;
using namespace fourwalls::importers;
using enum MemoryCategory;

namespace {

struct Frame {
    std::string function, file;
    std::int64_t line = 0;
};

std::int32_t add(SnapshotStacks& stacks, const std::vector<Frame>& frames)
{
    std::vector<std::int32_t> calls;
    for (const Frame& each : frames) calls.push_back(stacks.call(each.function, each.file, each.line));
    return stacks.stack(calls);
}

const std::string kTorch = "/env/lib/python3.12/site-packages/torch/";
const std::vector<Frame> kAllocator{
    {"torch::unwind::unwind()", "??"},
    {"torch::cuda::(anonymous namespace)::gather_with_cpp()", "memory_snapshot.cpp"},
    {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)",
     "CUDACachingAllocator.cpp"},
    {"at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)", "??"}};

std::vector<Frame> from(std::vector<Frame> outer)
{
    std::vector<Frame> all = kAllocator;
    all.insert(all.end(), outer.begin(), outer.end());
    return all;
}

/// Entries one microsecond apart; buffers by address.
class History {
public:
    History() { m_snapshot.entries = std::make_unique<SnapshotEntries>(std::string()); }
    SnapshotStacks& stacks() { return m_snapshot.stacks; }
    History& alloc(std::int64_t address, std::int32_t stack) { return entry(SnapshotAction::Alloc, address, stack); }
    History& free(std::int64_t address, std::int32_t stack)
    {
        return entry(SnapshotAction::FreeCompleted, address, stack);
    }
    History& outOfMemory() { return entry(SnapshotAction::OutOfMemory, -1, -1); }
    SnapshotPurposes purposes()
    {
        SnapshotHistory& history = m_snapshot.history.emplace_back(*m_snapshot.entries);
        history.append(0, m_snapshot.entries->list.size());
        return purposesOf(m_snapshot, 0);
    }

private:
    History& entry(SnapshotAction action, std::int64_t address, std::int32_t stack)
    {
        SnapshotEntry made;
        made.action = action;
        made.address = address;
        made.size = 64;
        made.timeUs = ++m_time;
        made.frame = stack;
        m_snapshot.entries->list.push_back(made);
        return *this;
    }
    MemorySnapshot m_snapshot;
    std::int64_t m_time = 0;
};

} // namespace

class SnapshotStacksTest : public QObject {
    Q_OBJECT

private slots:
    /// As PyTorch writes stacks by default: the allocator's own frames first, Python's between the interpreter's.
    void aBufferIsNamedByTheUsersLine()
    {
        SnapshotStacks stacks;
        const std::int32_t id =
            add(stacks, from({{"at::_ops::empty_strided::call(c10::ArrayRef<long>)", "??"},
                              {"at::_ops::mul_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&)", "??"},
                              {"at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)", "??"},
                              {"torch::autograd::THPVariable_mul(_object*, _object*)", ""},
                              {"step", "C:\\Users\\me\\optimizer.py", 77},
                              {"_PyEval_EvalFrameDefault", "??"},
                              {"wrapper", kTorch + "optim/optimizer.py", 533},
                              {"<module>", "/home/me/train.py", 9}}));
        QCOMPARE(stacks.name(id), std::string("step · optimizer.py:77"));
        QCOMPARE(stacks.atenOperator(id), std::string("aten::mul"));
        QCOMPARE(stacks.role(id), StackRole::Optimizer);
        const std::string text = stacks.text(id, SnapshotStacks::Frames::All);
        QCOMPARE(std::count(text.begin(), text.end(), '\n'), std::ptrdiff_t{12}); // the operator and twelve frames
        QVERIFY(text.starts_with("aten::mul\ntorch::unwind::unwind\n"));
        QVERIFY(text.find("step · C:\\Users\\me\\optimizer.py:77\n") != std::string::npos);
        QCOMPARE(stacks.text(id, SnapshotStacks::Frames::Python),
                 "aten::mul\nstep · C:\\Users\\me\\optimizer.py:77\nwrapper · " + kTorch +
                     "optim/optimizer.py:533\n<module> · /home/me/train.py:9");
    }

    void whoseLineItIs_data()
    {
        QTest::addColumn<QString>("inner");
        QTest::addColumn<QString>("name");
        const auto row = [](const std::string& file, const char* name) {
            QTest::newRow(file.c_str()) << QString::fromStdString(file) << name;
        };
        row(kTorch + "functional.py", "main · train.py:5");
        row("D:\\env\\Lib\\site-packages\\torch\\functional.py", "main · train.py:5");
        row("/home/me/pytorch/torch/functional.py", "main · train.py:5");
        row("/tmp/torchinductor_me/ab/cabd.py", "main · train.py:5");
        row("/env/site-packages/einops/einops.py", "main · train.py:5");
        row("<frozen importlib._bootstrap>", "main · train.py:5");
        row("/env/site-packages/transformers/models/llama/modeling_llama.py", "f · modeling_llama.py:3");
        // An environment or a project that is called torch is not PyTorch.
        row("/home/me/torch/models/net.py", "f · net.py:3");
    }
    void whoseLineItIs()
    {
        QFETCH(QString, inner);
        QFETCH(QString, name);
        SnapshotStacks stacks;
        const std::int32_t id = add(stacks, {{"f", inner.toStdString(), 3}, {"main", "/home/me/train.py", 5}});
        QCOMPARE(QString::fromStdString(stacks.name(id)), name);
        SnapshotStacks alone;
        QCOMPARE(alone.name(add(alone, {{"f", kTorch + "nn/functional.py", 3}})), std::string("f · functional.py:3"));
    }

    void withoutPythonTheNodeOrTheOperatorNames()
    {
        SnapshotStacks stacks;
        const std::vector<Frame> engine{
            {"torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", ""},
            {"torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??"},
            {"__clone", "??"}};
        std::vector<Frame> frames =
            from({{"at::_ops::bmm::call(at::Tensor const&)", "??"},
                  {"torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)", "??"}});
        frames.insert(frames.end(), engine.begin(), engine.end());
        const std::int32_t node = add(stacks, frames);
        QCOMPARE(stacks.name(node), std::string("BmmBackward0 · autograd"));
        QCOMPARE(stacks.atenOperator(node), std::string("aten::bmm"));
        QCOMPARE(stacks.role(node), StackRole::Backward);
        QVERIFY(stacks.inBackward(node));
        QCOMPARE(stacks.name(add(
                     stacks, from({{"at::_ops::zeros_like::call(at::Tensor const&)", "??"}, {"start_thread", "??"}}))),
                 std::string("aten::zeros_like"));
        QCOMPARE(stacks.name(add(stacks, from({{"my::Kernel<int>::run(int)", "??"}}))),
                 std::string("at::detail::empty_generic"));
    }

    void cppNamesLoseWhatOnlyTheCompilerWants()
    {
        QCOMPARE(withoutArguments("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)"),
                 std::string("torch::autograd::Node::operator()"));
        QCOMPARE(withoutArguments("at::Tensor at::details::mul<at::Tensor>(at::Tensor const&, c10::ScalarType)"),
                 std::string("at::details::mul<…>"));
        QCOMPARE(withoutArguments("at::(anonymous namespace)::f(long)"), std::string("at::(anonymous namespace)::f"));
        QCOMPARE(withoutArguments("c10::wrap<at::Tensor (at::Tensor const&), &at::f>::call(long)"),
                 std::string("c10::wrap<…>::call"));
        QCOMPARE(withoutArguments(""), std::string());
        for (const char* hostile : {"<<<<", ">>>>", "((((", "operator", "operator()", "a<(b", "<(", "operator<("})
            withoutArguments(hostile);
        QCOMPARE(operatorOfOverload("index_Tensor"), std::string("index"));
        QCOMPARE(operatorOfOverload("add__Tensor"), std::string("add_"));
        QCOMPARE(operatorOfOverload("sum_dim_IntList"), std::string("sum"));
        QCOMPARE(operatorOfOverload("empty_memory_format"), std::string("empty"));
        QCOMPARE(operatorOfOverload("_to_copy"), std::string("_to_copy"));
        QCOMPARE(operatorOfOverload("zeros_like"), std::string("zeros_like"));
    }

    void equalStacksAreOne()
    {
        SnapshotStacks stacks;
        const std::int32_t a = add(stacks, {{"f", "a.py", 1}, {"g", "b.py", 2}});
        QCOMPARE(add(stacks, {{"f", "a.py", 1}, {"g", "b.py", 2}}), a);
        QVERIFY(add(stacks, {{"f", "a.py", 1}}) != a);
        QCOMPARE(stacks.size(), std::size_t{2});
        QCOMPARE(add(stacks, {}), -1);
        QCOMPARE(stacks.role(-1), StackRole::None);
    }

    /// Two steps of forward, backward and optimizer.
    void aStepsBuffersHaveTheirPurposes()
    {
        History history;
        const std::int32_t forward = add(history.stacks(), {{"forward", "/home/me/model.py", 5},
                                                            {"_call_impl", kTorch + "nn/modules/module.py", 1},
                                                            {"main", "/home/me/train.py", 1}});
        const std::int32_t backward =
            add(history.stacks(), from({{"torch::autograd::generated::MulBackward0::apply(int)", "??"}}));
        const std::int32_t optimizer =
            add(history.stacks(), {{"step", "/home/me/my_optimizer.py", 7}, {"main", "/home/me/train.py", 2}});
        const std::int32_t zero =
            add(history.stacks(), {{"zero_grad", kTorch + "optim/optimizer.py", 7}, {"main", "/home/me/train.py", 3}});
        const std::int32_t load = add(history.stacks(), {{"main", "/home/me/train.py", 4}});
        const std::int32_t setUp =
            add(history.stacks(), {{"_apply", kTorch + "nn/modules/module.py", 9}, {"main", "/home/me/train.py", 5}});
        const std::int32_t blas = add(history.stacks(), {{"at::cuda::getCurrentCUDABlasHandle()", "??"},
                                                         {"forward", "/home/me/model.py", 6},
                                                         {"_call_impl", kTorch + "nn/modules/module.py", 1}});
        const std::int32_t nccl =
            add(history.stacks(), {{"c10d::ProcessGroupNCCL::allreduce(int)", "??"}, {"main", "/home/me/train.py", 6}});
        history.alloc(1, setUp)
            .alloc(2, load)
            .alloc(3, forward)
            .alloc(4, forward)
            .free(4, forward)
            .alloc(5, blas); // entries 0 to 3, 5
        history.alloc(6, backward).alloc(7, backward).free(7, backward).free(3, backward).alloc(8, nccl); // 6, 7, 10
        history.alloc(9, optimizer).alloc(10, optimizer).free(10, optimizer);                             // 11, 12
        history.free(6, zero).alloc(11, forward).free(90, optimizer).free(91, zero).free(92, backward).free(93, load);
        const SnapshotPurposes purposes = history.purposes();
        QVERIFY(purposes.freesSayWho);
        const std::vector<std::pair<std::size_t, MemoryCategory>> expected{
            {0, Weights},   {1, Other},       {2, Activations},  {3, Temporaries},     {5, Workspace},
            {6, Gradients}, {7, Temporaries}, {10, CommBuffers}, {11, OptimizerState}, {12, Temporaries}};
        for (const auto& [entry, category] : expected)
            QVERIFY2(purposes.of(entry) == category, std::to_string(entry).c_str());
        // Alive when the next backward pass begins.
        QCOMPARE(purposes.of(15), Activations);
        QVERIFY((purposes.before == std::unordered_map<std::int64_t, MemoryCategory>{
                                        {90, OptimizerState}, {91, Gradients}, {92, Activations}}));
    }

    /// Only Python frames: the thread of the backward pass has none, but the gradient it begins with has.
    void theThreadOfTheBackwardPassHasNoPython()
    {
        History history;
        const std::int32_t forward =
            add(history.stacks(), {{"forward", "model.py", 5}, {"_call_impl", kTorch + "nn/modules/module.py", 1}});
        const std::int32_t begins = add(history.stacks(), {{"_make_grads", kTorch + "autograd/__init__.py", 2},
                                                           {"backward", kTorch + "_tensor.py", 3},
                                                           {"main", "train.py", 1}});
        const std::int32_t goesOn = add(history.stacks(), {{"main", "train.py", 2}});
        history.alloc(1, -1)
            .alloc(2, forward)
            .alloc(3, begins)
            .alloc(4, -1)
            .free(2, -1)
            .alloc(5, -1)
            .free(5, -1)
            .alloc(6, goesOn)
            .alloc(7, -1);
        const SnapshotPurposes purposes = history.purposes();
        QCOMPARE(purposes.of(0), Other);
        QCOMPARE(purposes.of(1), Activations);
        QCOMPARE(purposes.of(3), Gradients);
        QCOMPARE(purposes.of(5), Temporaries);
        QCOMPARE(purposes.of(8), Other);
    }

    /// Where memory ran out in the optimizer, nobody knows which of its buffers would have stayed.
    void aFailureLeavesTheLastBuffersUnsorted()
    {
        History history;
        const std::int32_t optimizer = add(history.stacks(), {{"step", kTorch + "optim/adam.py", 7}});
        history.alloc(1, optimizer).alloc(2, optimizer).outOfMemory();
        const SnapshotPurposes purposes = history.purposes();
        QCOMPARE(purposes.of(0), Other);
        QCOMPARE(purposes.of(1), Other);
    }

    /// context="state" and older versions: frees carry the stack of who allocated.
    void freesWithTheMakersStackSayNothingOfWhoFrees()
    {
        History history;
        const std::int32_t optimizer = add(history.stacks(), {{"step", kTorch + "optim/adam.py", 7}});
        for (int i = 0; i < 20; ++i) history.alloc(i, optimizer).free(i, optimizer);
        history.free(50, optimizer);
        const SnapshotPurposes purposes = history.purposes();
        QVERIFY(!purposes.freesSayWho);
        QVERIFY(purposes.before.empty());
    }
};

FOURWALLS_TEST(SnapshotStacksTest, QCoreApplication)

} // namespace tst_snapshot_stacks

#include "tst_snapshot_stacks.moc"
