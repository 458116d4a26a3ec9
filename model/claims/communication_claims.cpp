// SPDX-License-Identifier: Apache-2.0
// Claims about traffic and networks. The published traffic is that of a naive scheme in which every device sends to
// every other one; beside it stands what ring collectives send.
#include "model/claims/claim_text.h"
#include "model/claims/claims.h"
#include "model/spec/rank_layout.h"
#include "model/spec/run_spec.h"
#include "model/trace/metrics.h"

#include <cmath>

namespace fourwalls::claims {

namespace {

constexpr double kPeta = 1e15, kExa = 1e18, kDay = 86'400;

/// Llama-3 70B on one epoch of C4, as the source gives it. Mini-batches are samples / batch, not rounded.
struct Epoch {
    double parameters = 70e9, tokens = 156e9, layers = 80, hidden = 8192;
    double samples = 364.6e6, batch = 2048, devices = 8;
    double miniBatches() const { return samples / batch; }
};

Claim communicationClaim(std::string id, std::string statement, double claimed, std::string unit, std::string because,
                         std::string working)
{
    return claimOf(Wall::Communication, std::move(id), std::move(statement), claimed, std::move(unit),
                   std::move(because), std::move(working));
}

/// Traffic per epoch by method, in bytes, under the naive scheme.
struct NaiveTraffic {
    explicit NaiveTraffic(const Epoch& e)
    {
        const double others = e.devices - 1, n = e.miniBatches();
        dataParallel = 2 * n * e.parameters * e.devices * others;
        shardedEachWay = 2 * n * e.parameters * others;
        tensorBackward = 4 * n * e.parameters * e.layers * others;
        tensorForward = 4 * e.layers * e.tokens * e.hidden * others * e.devices;
        pipelineEachWay = 2 * e.tokens * e.hidden * others;
    }
    double dataParallel, shardedEachWay, tensorBackward, tensorForward, pipelineEachWay;
};

/// TP 8 x PP 8 x DP 16 on 1024 devices.
double threeDimensionalTraffic(const Epoch& e)
{
    const double tp = 8, pp = 8, dp = 16, n = e.miniBatches();
    const double backward =
        2 * n * e.parameters * dp * (2 * e.layers * (tp - 1) / pp + (dp - 1)) + 2 * e.tokens * e.hidden * (pp - 1);
    const double forward = 2 * e.tokens * e.hidden * (2 * e.layers * tp * (tp - 1) + (pp - 1));
    return backward + forward;
}

/// Bytes that all devices together send per epoch for data parallelism with ring all-reduce of bf16 gradients.
double ringDataParallel(const Epoch& e)
{
    return e.miniBatches() * e.devices * 2 * (e.devices - 1) / e.devices * 2 * e.parameters;
}

void addTraffic(std::vector<Claim>& claims)
{
    const Epoch e;
    const NaiveTraffic naive(e);
    const std::string inputs =
        "P 70e9, T 156e9 tokens, L 80, H 8192, G 8, N 364.6e6 / 2048 = " + figure(e.miniBatches()) +
        " mini-batches, 2 bytes";
    claims.push_back(judged(
        communicationClaim(
            "dp-traffic", "Data parallel training of Llama-3 70B sends 1396 PB per epoch of C4 on 8 devices", 1396,
            "PB",
            "the arithmetic is right for devices that each send everything to every other one; ring all-reduce sends " +
                figure(ringDataParallel(e) / kPeta) + " PB, a factor " +
                figure(naive.dataParallel / ringDataParallel(e)) + " less",
            "2 N P G (G - 1); " + inputs),
        naive.dataParallel / kPeta, 0.01));
    claims.push_back(judged(
        communicationClaim("fsdp-traffic", "FSDP sends 175 PB per epoch each way", 175, "PB",
                           "one gather of all parameters to G - 1 devices per mini-batch; the formula's \"L times\" "
                           "is not in the figure, and must not be, because P already holds all layers",
                           "2 N P (G - 1); " + inputs),
        naive.shardedEachWay / kPeta, 0.01));
    claims.push_back(judged(
        communicationClaim("tp-backward-traffic", "Tensor parallel backward sends 26,622 PB per epoch", 26'622, "PB",
                           "the source's own formula gives this in PB of 10^15; its figure is that divided by "
                           "1.024^2, so it mixes 1000s and 1024s (" +
                               figure(naive.tensorBackward / kPeta / 1.048576) +
                               "). Tensor parallelism also never sends weights: in reality activations go both ways",
                           "4 N P L (G - 1); " + inputs),
        naive.tensorBackward / kPeta, 0.01));
    claims.push_back(judged(
        communicationClaim("tp-forward-traffic", "Tensor parallel forward sends 21,840 PB per epoch", 21'840, "PB",
                           "mixes 1000s and 1024s as above (" + figure(naive.tensorForward / kPeta / 1.048576) +
                               "); ring all-reduce of the same activations sends 2 (G - 1) / G of each buffer per "
                               "device, " +
                               figure(2 * e.layers * 2 * e.tokens * e.hidden * 2 * (e.devices - 1) / kPeta) + " PB",
                           "4 L T H (G - 1) G; " + inputs),
        naive.tensorForward / kPeta, 0.01));
    claims.push_back(
        judged(communicationClaim("pp-traffic", "Pipeline parallel sends 17.9 PB per epoch each way", 17.9, "PB",
                                  "activations cross G - 1 boundaries once: this is also what real pipelines send",
                                  "2 T H (G - 1); " + inputs),
               naive.pipelineEachWay / kPeta, 0.01));

    const double exa = threeDimensionalTraffic(e) / kExa;
    claims.push_back(judged(
        communicationClaim("3d-traffic", "TP 8 x PP 8 x DP 16 on 1024 devices sends 85 EB per epoch", 85, "EB",
                           "the arithmetic is right, under the naive send-to-everyone scheme",
                           "2 N P Gdp (2 L (Gtp - 1) / Gpp + Gdp - 1) + 2 T H (Gpp - 1) + 2 T H (2 L Gtp (Gtp - 1) "
                           "+ Gpp - 1); " +
                               inputs),
        exa, 0.01));
    const double days = 85e18 * 8 / 51.2e12 / kDay;
    claims.push_back(judged(
        communicationClaim("one-switch-20-days", "One 51.2 Tb/s switch would need about 20 days for 85 EB", 20, "days",
                           "51.2 Tb/s are 6.4 TB/s; 20 days would need 51.2 TB/s: bits were taken for bytes",
                           "85e18 B x 8 / 51.2e12 b/s / 86,400 s"),
        days, 0.1));
    claims.push_back(judged(communicationClaim("switches-100-epochs", "100 epochs in 100 days need 20 such switches",
                                               20, "switches", "the same confusion of bits and bytes",
                                               "an epoch a day: 85 EB / (6.4 TB/s x 86,400 s)"),
                            std::ceil(days), 0.1));
    Claim internet =
        communicationClaim("internet-2.5-days", "85 EB is 2.5 days of the whole internet", 2.5, "days",
                           "no figure for the internet's traffic is given; published estimates differ by a factor of "
                           "three (85 EB in 2.5 days means 34 EB a day)",
                           "85 EB / 2.5 days = 34 EB a day");
    claims.push_back(internet);

    const double perSample = threeDimensionalTraffic(e) / e.samples;
    claims.push_back(judged(communicationClaim("bytes-per-sample", "Over 100 GB are sent per sample", 100, "GB",
                                               "under the naive scheme; the time of a sample is " +
                                                   figure(kDay / e.samples * 1e3) + " ms when an epoch takes a day",
                                               "3-D traffic per epoch / 364.6e6 samples"),
                            perSample / 1e9, 0, Relation::AtLeast));
    claims.push_back(judged(
        communicationClaim("ports-800g", "100 GB per sample in 1 ms take 1,000 ports of 800G", 1000, "ports",
                           "with the rounded figures of the source; with its own epoch of 85 EB in a day it would be " +
                               figure(perSample / (kDay / e.samples) * 8 / 800e9) + " ports",
                           "100e9 B x 8 / 1e-3 s / 800e9 b/s"),
        100e9 * 8 / 1e-3 / 800e9, 0.01));
    claims.push_back(judged(communicationClaim("dp-moves-gb", "Per sample, data parallel moves gigabytes", 1, "GB",
                                               "per sample of the epoch above", "2 N P G (G - 1) / 364.6e6"),
                            naive.dataParallel / e.samples / 1e9, 0, Relation::AtLeast));
    claims.push_back(judged(communicationClaim("pp-moves-mb", "Per sample, pipeline parallel moves megabytes", 1, "MB",
                                               "both ways, per sample", "2 x 2 T H (G - 1) / 364.6e6"),
                            2 * naive.pipelineEachWay / e.samples / 1e6, 0, Relation::AtLeast));
    claims.push_back(
        judged(communicationClaim(
                   "tp-moves-hundreds-of-gb", "Per sample, tensor parallel moves hundreds of gigabytes", 100, "GB",
                   "forward and backward under the naive scheme; most of it would be weights, which tensor parallelism "
                   "never sends",
                   "(4 N P L (G - 1) + 4 L T H (G - 1) G) / 364.6e6"),
               (naive.tensorBackward + naive.tensorForward) / e.samples / 1e9, 0, Relation::AtLeast));
}

/// Efficiency of a step that computes for one unit and then reduces for `ratio` / bandwidth.
double scaleFactor(double ratio, double bandwidth)
{
    return 1 / (1 + ratio / bandwidth);
}

void addScaling(std::vector<Claim>& claims)
{
    // The first point fixes how much is reduced per unit of computation, the second one can be checked.
    const double ratio = 5 * (1 / 0.70 - 1);
    Claim first = communicationClaim(
        "scale-factor-5", "5 GB/s of all-reduce bandwidth per device give a scale factor of 70 %", 70, "%",
        "depends on how much is reduced per second of computation, which is not stated; it holds when "
        "reduction takes " +
            figure(ratio / 5) + " of the computation's time",
        "1 / (1 + t_comm / t_comp)");
    claims.push_back(first);
    claims.push_back(judged(communicationClaim("scale-factor-20", "20 GB/s give a scale factor of 90 %", 90, "%",
                                               "follows from the 70 % at 5 GB/s when nothing is hidden",
                                               "1 / (1 + 5 (1/0.7 - 1) / 20)"),
                            100 * scaleFactor(ratio, 20), 0.02));
    claims.push_back(
        judged(communicationClaim("fills-400g", "20 GB/s fill a 400G NIC", 50, "GB/s",
                                  "a 400 Gb/s NIC carries 50 GB/s each way: 20 GB/s use 40 % of it, and a ring sends "
                                  "2 (n - 1) / n of the buffer, at most 40 GB/s for 20 GB/s of algorithm bandwidth",
                                  "400e9 / 8, against 20 GB/s"),
               20, 0.05));
    // Utilisation: what is not hidden behind computation is latency and software that does not get faster.
    claims.push_back(communicationClaim(
        "faster-network-used-less",
        "From 1 to 100 Gb/s the utilisation of the network falls from near "
        "100 % to about 40 %",
        40, "%",
        "true in kind: an alpha-beta link reaches S / (S + alpha beta), so that the utilisation at a "
        "fixed message size falls as beta grows; the figure depends on message size and software, which "
        "the source does not state (40 % at 100 Gb/s and 2.2 MB messages when alpha is " +
            figure(1.5 * 2.2e6 / 12.5e9 * 1e6) + " us)",
        "S / (S + alpha beta)"));
}

Result<ClusterSpec> hgx()
{
    return loadCluster("dgx-h100");
}

Status addHardware(std::vector<Claim>& claims)
{
    FOURWALLS_TRY_ASSIGN(const ClusterSpec h100, hgx());
    claims.push_back(judged(communicationClaim("pcie5", "PCIe 5.0 x16 moves 128 GB/s", 128, "GB/s",
                                               "both directions together; one direction is 63 GB/s after line coding",
                                               "32 GT/s x 16 lanes x 128/130 / 8, twice"),
                            2 * 32e9 * 16 * 128.0 / 130 / 8 / 1e9, 0.02));
    claims.push_back(judged(
        communicationClaim("nvlink-h100", "NVLink on an HGX H100 moves 900 GB/s both ways through NVSwitch", 900,
                           "GB/s", "18 links of 25 GB/s each way; half of it per direction is what a collective sees",
                           "2 x " + figure(h100.nodeLink.bytesPerSecond / 1e9) + " GB/s of the cluster preset"),
        2 * h100.nodeLink.bytesPerSecond / 1e9, 0.01));
    claims.push_back(judged(communicationClaim("hbm-h100", "HBM of an H100 moves 3350 GB/s", 3350, "GB/s",
                                               "data sheet of the SXM part", "device preset"),
                            h100.device.memoryBytesPerSecond / 1e9, 0.01));
    return {};
}

void addGroups(std::vector<Claim>& claims)
{
    ParallelPlan plan;
    plan.tp = 8;
    plan.pp = 4;
    plan.dp = 3;
    const RankLayout layout(plan);
    claims.push_back(
        judged(communicationClaim("allreduce-groups", "TP 8 x PP 4 x DP 3 has 32 all-reduce groups", 32, "groups",
                                  "one group per tensor shard and stage, of " +
                                      std::to_string(layout.groupSize(GroupKind::Data)) + " devices",
                                  "96 ranks / 3 members, from the rank layout"),
               layout.groupCount(GroupKind::Data), 0));
    const double perDevice = 175e9 / (8 * 4) * 2;
    claims.push_back(
        judged(communicationClaim("allreduce-10gb", "Each device of such a group reduces 10 GB", 10, "GB",
                                  "bf16 gradients of a 175 B model, which the source implies but does not name",
                                  "175e9 / (8 x 4) x 2 B"),
               perDevice / 1e9, 0.15));
    claims.push_back(
        judged(communicationClaim("ring-sends", "A ring all-reduce of 8 ranks sends 1.75 times the buffer per rank",
                                  1.75, "buffers", "bandwidth-optimal: 2 (G - 1) / G", "2 x 7 / 8"),
               busBandwidthFactor(CollectiveOp::AllReduce, 8), 1e-9));
}

} // namespace

Result<std::vector<Claim>> communicationClaims()
{
    std::vector<Claim> claims;
    addTraffic(claims);
    addScaling(claims);
    FOURWALLS_TRY(addHardware(claims));
    addGroups(claims);
    return claims;
}

} // namespace fourwalls::claims
