// SPDX-License-Identifier: Apache-2.0
// How rows of published tables are read: frameworks, devices and words, and what is said of those that nobody has.
#include <QTest>

#include "model/compare/csv_table.h"
#include "model/compare/published_row.h"
#include "model/compare/published_words.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace tst_published_rows {

using namespace fourwalls;
using namespace fourwalls::compare;

class PublishedRowsTest : public QObject {
    Q_OBJECT

private slots:
    void wordsAreReadOrSaid();
    void recipesOfThirdParties();
    void nothingIsSubstitutedSilently_data();
    void nothingIsSubstitutedSilently();
    void machinesOfDevicePresets();
};

void PublishedRowsTest::wordsAreReadOrSaid()
{
    const auto parsed = CsvTable::parse(
        "id,framework,notes,network,precision,gpu,gpus,layers,hidden,seq,tp,pp,dp,ep,experts,recompute,offload,"
        "global_batch,micro_batch,iter_s,zero_stage\n"
        "bytes,PyTorch FSDP,,8x50 GB/s,bf16,H100,64,32,4096,4096,1,1,64,,,none,,64,1,1,3\n"
        "bits,PyTorch FSDP,,\"NVLink 900 GB/s, 8x400 Gb/s\",bf16,H100,64,32,4096,4096,1,1,64,,,none,,64,1,1,3\n"
        "device,torchtitan,not compiled,400 Gb/s per GPU,bf16,H100,64,32,4096,4096,1,1,64,,,none,,64,1,1,\n"
        "unknown,InternEvo,zero1=8,,bf16,A800,64,32,4096,4096,1,1,64,,,\"norm, act\",CPU AdamW,64,1,1,1\n"
        "words,MaxText,multi-token prediction,RoCE,fp8,H800,64,32,4096,4096,1,1,64,,,full,disk,64,1,1,3\n"
        "experts,Megatron-Core,,8x400Gb/s,NVFP4,B300,64,32,4096,4096,2,1,32,64,64,none,,64,1,1,\n"
        "recipe,Megatron-Core,\"dispatcher=deepep, overlap_moe_expert_parallel_comm, cp_comm_type=all_gather, "
        "experts side by side\","
        "8x400Gb/s,bf16,H100,64,32,4096,4096,2,1,32,16,64,none,,64,1,1,\n"
        "adapters,Megatron-Core,LoRA fine-tuning,8x400Gb/s,bf16,H100,64,32,4096,4096,2,1,32,,,none,,64,1,1,\n"
        "graphs,Megatron-Core,\"cuda_graph_scope=attn moe_router; grad_reduce_in_fp32=False; recomputed: moe_act, "
        "layernorm, mla_up_proj (a file)\",8x400Gb/s,bf16,H100,64,32,4096,4096,2,1,32,16,64,,,64,1,1,\n",
        "test");
    QVERIFY2(parsed.ok(), parsed.ok() ? "" : parsed.error().message().c_str());
    std::vector<PublishedRow> rows;
    for (std::size_t i = 0; i < parsed->rows(); ++i) {
        const auto row = publishedRow(*parsed, i);
        QVERIFY2(row.ok() && row->skipped.empty(), row.ok() ? row->skipped.c_str() : row.error().message().c_str());
        rows.push_back(*row);
    }
    const auto says = [](const PublishedRow& row, const char* what) {
        return std::any_of(row.assumed.begin(), row.assumed.end(),
                           [&](const std::string& text) { return text.starts_with(what); });
    };
    // 50 GB/s are the 400 Gb/s of the next row, whose links inside the node are no network.
    QCOMPARE(rows[0].spec.cluster.nicLink.bytesPerSecond, 50e9);
    QCOMPARE(rows[1].spec.cluster.nicLink.bytesPerSecond, 50e9);
    QCOMPARE(rows[1].spec.cluster.nicsPerNode, 8);
    QCOMPARE(rows[2].spec.cluster.nicsPerNode, 8);
    QVERIFY(!says(rows[0], "network") && !says(rows[2], "network"));
    QCOMPARE(rows[2].spec.framework, std::string("torchtitan"));
    QCOMPARE(rows[2].spec.plan.zero, 3);
    QVERIFY(says(rows[2], "zero_stage=3"));
    // What was usual on that device stands for a framework without a preset; its words are told.
    QVERIFY(says(rows[3], "framework=internevo (said: InternEvo)"));
    QCOMPARE(rows[3].spec.plan.shard, 8);
    QVERIFY(rows[3].spec.plan.offloadOptimizer);
    QVERIFY(says(rows[3], "recompute=none (said: norm, act)") && says(rows[3], "network=8x200 Gb/s"));
    QCOMPARE(rows[3].spec.cluster.nodeLink.bytesPerSecond, 200e9);
    QVERIFY(says(rows[4], "framework=torchtitan-compiled (said: MaxText)") &&
            says(rows[4], "offload=none (said: disk)"));
    QVERIFY(says(rows[4], "network=8x400 Gb/s (said: RoCE)") && says(rows[4], "fp8=") &&
            says(rows[4], "heads of pred"));
    // More groups of experts than replicas: the tensor group holds different ones.
    QCOMPARE(rows[5].spec.plan.ep, 64);
    QCOMPARE(rows[5].spec.plan.expertTensor, 1);
    QVERIFY(says(rows[5], "etp=1") && rows[5].spec.training.precision == Precision::Fp4);
    const ParallelPlan& recipe = rows[6].spec.plan;
    QVERIFY(recipe.dispatch == ExpertDispatch::OncePerNode && recipe.overlapExperts);
    QVERIFY(recipe.context == ContextExchange::Gather && !rows[5].spec.plan.overlapExperts);
    const auto groups = [&](std::size_t row) { return rows[row].spec.model.transformer()->mixture.groups; };
    QVERIFY(groups(6) == 64 && groups(5) == 1); // one expert a token, dealt out in turn
    QVERIFY(rows[8].framework.capturesAttention && rows[8].framework.eager && !rows[6].framework.capturesAttention);
    QCOMPARE(rows[8].framework.reduceBytes, 2.0);
    QCOMPARE(rows[6].framework.reduceBytes, 4.0);
    // Of the named modules those that the network has.
    QCOMPARE(rows[8].spec.plan.recomputeModules, unsigned{kRecomputeLayerNorm} | kRecomputeExpertActivation);
    QVERIFY(!says(rows[8], "recompute=") && says(rows[6], "flash_attn=1"));
    QCOMPARE(rows[7].spec.training.loraRank, std::int64_t{16});
    QVERIFY(says(rows[7], "lora_rank=16") && rows[6].spec.training.loraRank == 0);
    QVERIFY(affirms("with torch.compile", "compile") && !affirms("not compiled", "compile"));
    QVERIFY(!affirms("uncompiled", "compile") && !affirms("an exploration", "lora"));
    QCOMPARE(numberAfter("zero1: 16", "zero1").value_or(0), 16);
    QVERIFY(!numberAfter("sharded", "shard"));
}

void PublishedRowsTest::nothingIsSubstitutedSilently_data()
{
    QTest::addColumn<QString>("column");
    QTest::addColumn<QString>("said");
    QTest::addColumn<QString>(
        "assumed"); // what is listed begins so; empty: nothing of that field; after "!": nothing does
    const auto row = [](const char* column, const char* said, const char* assumed) {
        QTest::addRow("%s %s", column, said) << column << said << assumed;
    };
    row("schedule", "dualpipe", "schedule=zbv (said: dualpipe)");
    row("schedule", "v-half", "schedule=zbv (said: v-half)");
    row("schedule", "chimera", "schedule=1f1b (said: chimera)");
    row("schedule", "", "schedule=1f1b");
    row("schedule", "1F1B", "");
    row("schedule", "GPipe", "");
    row("framework", "Megatron-LM 2019", "framework=megatron-2021 (said: Megatron-LM 2019)");
    row("framework", "PyTorch DDP", "framework=fsdp (said: PyTorch DDP)");
    row("framework", "nanotron", "framework=fsdp (said: nanotron)");
    row("framework", "FSDP with Megatron tensor parallelism", "framework=megatron-2023 (said: FSDP with");
    row("framework", "Megatron-like (Meta) mcore", "framework=llama3-2024 (said: Megatron-like (Meta) mcore)");
    row("framework", "DeepSpeed ZeRO-3 2021", "");
    row("framework", "PyTorch FSDP", "");
    row("recompute", "full, 10 of 80 layers", "recompute=none (said: full, 10 of 80 layers)");
    row("recompute", "full, 60 of 80 layers", "recompute=full (said: full, 60 of 80 layers)");
    row("recompute", "full, 80 of 80 layers", "");
    row("offload", "optimizer 50%", "offload=optimizer (said: optimizer 50%)");
    row("offload", "optimizer", "");
    row("precision", "fp8 rowwise", "fp8=one scale for a tensor (said: fp8 rowwise)");
    row("precision", "fp8 tensorwise", "!fp8=");
    row("precision", "mixed", "precision=bf16 (said: mixed)");
    row("gpu", "V100", "precision=f16 (said: bf16");
    row("zero_stage", "3", "plan=as said (megatron-2021 has no zero=3)");
}

void PublishedRowsTest::nothingIsSubstitutedSilently()
{
    QFETCH(QString, column);
    QFETCH(QString, said);
    QFETCH(QString, assumed);
    std::map<QString, QString> cells{{"id", "x"},
                                     {"framework", "Megatron-LM 2021"},
                                     {"schedule", "1F1B"},
                                     {"gpu", "A100"},
                                     {"gpus", "64"},
                                     {"layers", "80"},
                                     {"hidden", "4096"},
                                     {"seq", "2048"},
                                     {"tp", "1"},
                                     {"pp", "8"},
                                     {"dp", "8"},
                                     {"recompute", "none"},
                                     {"offload", "none"},
                                     {"precision", "bf16"},
                                     {"global_batch", "64"},
                                     {"micro_batch", "1"},
                                     {"iter_s", "1"},
                                     {"zero_stage", "1"},
                                     {"network", "8x200 Gb/s"}};
    cells[column] = said;
    QStringList names, values;
    for (const auto& [name, value] : cells) {
        names << name;
        values << '"' + value + '"';
    }
    const auto parsed = CsvTable::parse((names.join(',') + "\n" + values.join(',') + "\n").toStdString(), "test");
    QVERIFY2(parsed.ok(), parsed.ok() ? "" : parsed.error().message().c_str());
    const auto row = publishedRow(*parsed, 0);
    QVERIFY2(row.ok() && row->skipped.empty(), row.ok() ? row->skipped.c_str() : row.error().message().c_str());
    const bool isListed = !assumed.isEmpty() && !assumed.startsWith('!');
    const QString begin = assumed.isEmpty() ? column + '=' : isListed ? assumed : assumed.mid(1);
    const bool listed = std::any_of(row->assumed.begin(), row->assumed.end(),
                                    [&](const std::string& text) { return text.starts_with(begin.toStdString()); });
    std::string all;
    for (const std::string& text : row->assumed) all += text + "; ";
    QVERIFY2(listed == isListed, all.c_str());
}

void PublishedRowsTest::recipesOfThirdParties()
{
    const auto parsed = CsvTable::parse(
        "id,framework,notes,network,precision,gpu,gpus,gpus_per_node,layers,hidden,seq,tp,pp,dp,recompute,global_batch,"
        "micro_batch,iter_s,zero_stage\n"
        "narrow,PyTorch FSDP,gradients in 16 bits (a file),,bf16,H100,8,8,32,4096,4096,1,1,8,full,8,1,1,3\n"
        "old,PyTorch FSDP,before PyTorch 2.1,,bf16,H100,8,8,32,4096,4096,1,1,8,full,8,1,1,3\n"
        "early,Megatron-Core 0.6.0,,,bf16,H100,8,8,32,4096,4096,2,1,4,,8,1,1,\n"
        "late,Megatron-Core 0.8.0,,,bf16,H100,8,8,32,4096,4096,2,1,4,,8,1,1,\n"
        "small nodes,PyTorch FSDP,,InfiniBand,bf16,H100,16,4,32,4096,4096,1,1,16,,16,1,1,3\n"
        "first nemo,NeMo Framework 23.03,,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,\n"
        "nemo,NeMo 24.12,,,bf16,H100,8,8,32,4096,4096,1,1,8,,8,1,1,\n"
        "pax,Paxml (JAX),,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "pax te,Paxml (JAX) with Transformer Engine,,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "maxtext,MaxText 25.10 (JAX),,,bf16,H100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "jax,JAX (October 2023),,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "later pax,Paxml 2025 (JAX),,,bf16,H100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "nemo v,NeMo v23.08,,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,\n"
        "many,NeMo 24.12 (2304 GPUs),,,bf16,H100,8,8,32,4096,4096,1,1,8,,8,1,1,\n"
        "xtuner,\"PyTorch FSDP2 (XTuner, InternLM)\",,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n"
        "opt in,Megatron-LM 2023,,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,\n"
        "internevo,InternEvo,,,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,1\n"
        "automodel,NeMo AutoModel (PyTorch FSDP2),,,bf16,H100,8,8,32,4096,2048,1,1,8,,8,1,1,2\n"
        "states,PyTorch FSDP,all states in 16 bits; loss in 16 bits; fused optimizer; attention of "
        "cuDNN,,bf16,H100,8,8,"
        "32,4096,2048,1,1,8,,8,1,1,3\n"
        "fused,PyTorch FSDP,\"fused kernels: norm, rotary, loss in "
        "place\",,bf16,A100,8,8,32,4096,2048,1,1,8,,8,1,1,3\n",
        "test");
    QVERIFY2(parsed.ok(), parsed.ok() ? "" : parsed.error().message().c_str());
    std::vector<PublishedRow> rows;
    for (std::size_t i = 0; i < parsed->rows(); ++i) {
        const auto row = publishedRow(*parsed, i);
        QVERIFY2(row.ok() && row->skipped.empty(), row.ok() ? row->skipped.c_str() : row.error().message().c_str());
        rows.push_back(*row);
    }
    QCOMPARE(rows[0].framework.reduceBytes, 2.0);
    QCOMPARE(rows[1].framework.reduceBytes, 4.0);
    QVERIFY(rows[0].framework.recomputeStopsEarly && !rows[1].framework.recomputeStopsEarly);
    QCOMPARE(rows[2].spec.framework, std::string("megatron-2023"));
    QCOMPARE(rows[3].spec.framework, std::string("megatron-core"));
    QCOMPARE(rows[4].spec.cluster.devicesPerNode, 4);
    QCOMPARE(rows[4].spec.cluster.nicsPerNode, 4); // of eight for eight devices
    QCOMPARE(rows[5].spec.framework, std::string("megatron-2022"));
    QCOMPARE(rows[6].spec.framework, std::string("megatron-core"));
    QCOMPARE(rows[7].spec.framework, std::string("xla-2023"));
    QCOMPARE(rows[8].spec.framework, std::string("xla-2023-te"));
    QCOMPARE(rows[9].spec.framework, std::string("torchtitan-compiled"));
    QVERIFY(!rows[5].spec.plan.fusedAttention && !rows[7].spec.plan.fusedAttention && rows[9].spec.plan.fusedAttention);
    QVERIFY(!rows[7].framework.fusedSoftmax && rows[8].framework.fusedSoftmax);
    const char* others[] = {"xla-2023", "torchtitan-compiled", "megatron-2022", "megatron-core",
                            "fsdp",     "megatron-2023"};
    for (std::size_t i = 0; i < std::size(others); ++i) QCOMPARE(rows[10 + i].spec.framework, std::string(others[i]));
    QCOMPARE(rows[16].framework.reduceBytes, 2.0);
    QCOMPARE(rows[16].framework.gradientOverlap, GradientOverlap::Always);
    QCOMPARE(rows[17].spec.framework, std::string("automodel"));
    const FrameworkPreset &states = rows[18].framework, &fused = rows[19].framework;
    QVERIFY(states.weightBytes == 2 && states.stateBytes == 4 && states.reduceBytes == 2 && states.gradientBytes == 2);
    QVERIFY(states.optimizerBytes == 14 && states.lossBytesPerLogit == 12 && states.attentionKernel == "flash3");
    QVERIFY(fused.fusedNorm && fused.fusedRotary && !fused.fusedActivation && fused.attentionCopies > 0);
    QVERIFY(fused.lossBytesPerLogit == 6 && fused.weightBytes == 4 && fused.attentionKernel == "flash2");
    // Fused attention that nobody speaks of is a doubt where somebody has to ask for it.
    const auto doubts = [&](std::size_t row) {
        return std::ranges::any_of(rows[row].doubts, [](const Doubt& each) { return each.assumed == "flash_attn=1"; });
    };
    QVERIFY(doubts(15) && doubts(14) && !doubts(6) && !doubts(9));
}

void PublishedRowsTest::machinesOfDevicePresets()
{
    const auto parsed = CsvTable::parse("id,gpu,gpu_mem_gb,gpus,precision,framework,layers,hidden,seq,tp,pp,dp,"
                                        "global_batch,micro_batch,iter_s\n"
                                        "h20,H20,,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "l40s,L40S,,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "l4,L4,,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "t4,Tesla T4,,8,fp16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "3090,RTX 3090,,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "pcie,A100-PCIe,40,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "tpu,TPU v4,,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "large,H100,96,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n"
                                        "held,\"H100 (HBM2e, 500W)\",96,8,bf16,PyTorch FSDP,8,1024,1024,1,1,8,8,1,1\n",
                                        "test");
    QVERIFY(parsed.ok());
    // Bytes of memory and 16-bit FLOP/s of the data sheets, and the rate of a link.
    const struct {
        double memory, peak, link;
    } sheets[] = {{102e9, 148e12, 450e9},   {48.3e9, 362e12, 31.5e9}, {23.6e9, 121e12, 31.5e9},
                  {15.8e9, 65e12, 15.75e9}, {25.4e9, 71e12, 31.5e9},  {42.3e9, 312e12, 31.5e9}};
    for (std::size_t i = 0; i < std::size(sheets); ++i) {
        const auto row = publishedRow(*parsed, i);
        QVERIFY2(row.ok() && row->skipped.empty(), row.ok() ? row->skipped.c_str() : row.error().message().c_str());
        const ClusterSpec& cluster = row->spec.cluster;
        QVERIFY2(std::abs(static_cast<double>(cluster.device.memoryBytes) / sheets[i].memory - 1) < 0.05,
                 row->id.c_str());
        QVERIFY2(std::abs(*cluster.device.peak(Precision::F16) / sheets[i].peak - 1) < 0.01, row->id.c_str());
        QVERIFY2(std::abs(cluster.nodeLink.bytesPerSecond / sheets[i].link - 1) < 0.05, row->id.c_str());
        QVERIFY(std::any_of(row->assumed.begin(), row->assumed.end(),
                            [](const std::string& text) { return text.starts_with("cluster="); }));
    }
    QVERIFY(!publishedRow(*parsed, std::size(sheets))->skipped.empty());
    // A limit of power that nobody speaks of is a doubt.
    const PublishedRow silent = *publishedRow(*parsed, 7), said = *publishedRow(*parsed, 8);
    const auto doubts = [](const PublishedRow& row) {
        return std::ranges::count_if(row.doubts, [](const Doubt& each) {
            return each.assumed.starts_with("power=500 W") && each.spec.cluster.device.powerWatts == 700;
        });
    };
    QCOMPARE(doubts(silent), 1);
    QCOMPARE(doubts(said), 0);
    QCOMPARE(said.spec.cluster.device.powerWatts, 500.0);
}

FOURWALLS_TEST(PublishedRowsTest, QCoreApplication)

} // namespace tst_published_rows

#include "tst_published_rows.moc"
