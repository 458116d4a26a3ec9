// SPDX-License-Identifier: Apache-2.0
// Measurements in the columns of the tables of kernel rates: products, attention, memory_bound, collectives, host.
#include "profiler/calibrate/gpu_calibration.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace fourwalls::calibrate {

namespace {

using nlohmann::json;

/// What runs meanwhile, in the tables' words.
const char* overlapOf(Beside beside)
{
    switch (beside) {
    case Beside::Nothing: return "no";
    case Beside::Copying: return "copying";
    case Beside::AllReduce: return "yes (all-reduce of all GPUs)";
    }
    return "no";
}

json shareOf(double rate, double peak)
{
    return peak > 0 ? json(rate / peak) : json();
}

class Rows {
public:
    Rows(const GpuCalibration& calibration, const ClusterSpec& cluster)
        : m_gpus(calibration.gpus)
        , m_cluster(cluster)
        , m_peak(cluster.device.peak(Precision::Bf16).value_or(0))
    {
        for (const char* table : {"products", "attention", "memory_bound", "collectives", "host"})
            m_tables[table] = json::array();
        for (const GpuMeasured& measured : calibration.measured) add(measured);
    }
    json take() { return std::move(m_tables); }

private:
    void add(const GpuMeasured& m)
    {
        const json clock = m.clockMhz > 0 ? json(m.clockMhz) : json();
        const json power = m.powerWatts > 0 ? json(m.powerWatts) : json();
        json row{{"device", m_cluster.device.name},
                 {"samples", m.samples},
                 {"context", m.what.sustained() ? "microbenchmark_sustained" : "microbenchmark_burst"},
                 {"source", "fourwalls-cli calibrate --device cuda"},
                 {"clock_mhz", clock},
                 {"power_watts", power}};
        if (amountOf(m.what) == 0) return host(m, std::move(row));
        row["time_us"] = m.median * 1e6;
        if (isCollective(m.what.work)) return collective(m, std::move(row));
        row.update({{"low_us", m.low * 1e6},
                    {"high_us", m.high * 1e6},
                    {"spread", "p10-p90"},
                    {"comm_overlap", overlapOf(m.what.beside)}});
        if (isProduct(m.what.work)) return product(m, std::move(row));
        if (isAttention(m.what.work)) return attention(m, std::move(row));
        memoryBound(m, std::move(row));
    }

    void product(const GpuMeasured& m, json row)
    {
        const auto& [a, b, c] = m.what.extents;
        const double rate = amountOf(m.what) / m.median;
        row.update({{"precision", "bf16"},
                    {"m", a},
                    {"n", b},
                    {"k", c},
                    {"batch", 1},
                    {"layout", m.what.work == GpuWork::Product         ? "nn"
                               : m.what.work == GpuWork::InputGradient ? "tn"
                                                                       : "nt"},
                    {"tflops", rate * 1e-12},
                    {"fraction_of_peak", shareOf(rate, m_peak)},
                    {"op", "cublasLt"}});
        m_tables["products"].push_back(std::move(row));
    }

    void attention(const GpuMeasured& m, json row)
    {
        const auto& [a, b, c] = m.what.extents;
        row.update({{"precision", "bf16"},
                    {"pass", m.what.work == GpuWork::AttentionForward ? "fwd" : "bwd"},
                    {"kind", "engine"},
                    {"batch", 1},
                    {"heads", b},
                    {"kv_heads", b},
                    {"seq_q", a},
                    {"seq_k", a},
                    {"head_dim", c},
                    {"causal", true},
                    {"tflops", amountOf(m.what) / m.median * 1e-12}});
        m_tables["attention"].push_back(std::move(row));
    }

    void memoryBound(const GpuMeasured& m, json row)
    {
        double bytes = amountOf(m.what);
        if (const MemoryKernel* kernel = memoryKernelOf(m.what.work)) {
            const auto rows = static_cast<double>(rowsOf(m.what));
            bytes = kernel->leastBytes * rows * static_cast<double>(kRowWidth);
            row.update({{"op_class", kernel->opClass},
                        {"op", kernel->op},
                        {"kernel", "engine"},
                        {"shapes", std::to_string(rowsOf(m.what)) + "x" + std::to_string(kRowWidth)}});
        } else {
            row.update({{"op_class", m.what.work == GpuWork::Copy ? "copy_cast" : "host_copy"},
                        {"op", m.what.work == GpuWork::Copy       ? "copy on the device"
                               : m.what.work == GpuWork::ToDevice ? "host to device"
                                                                  : "device to host"},
                        {"kernel", nullptr},
                        {"shapes", nullptr}});
        }
        const bool crosses = m.what.work == GpuWork::ToDevice || m.what.work == GpuWork::FromDevice;
        const double peak = crosses ? m_cluster.device.hostBytesPerSecond : m_cluster.device.memoryBytesPerSecond;
        row.update({{"bytes", bytes},
                    {"gb_per_s", bytes / m.median * 1e-9},
                    {"fraction_of_peak", shareOf(bytes / m.median, peak)}});
        m_tables["memory_bound"].push_back(std::move(row));
    }

    void collective(const GpuMeasured& m, json row)
    {
        const double n = m_gpus, algorithm = amountOf(m.what) / m.median * 1e-9;
        const bool reduce = m.what.work == GpuWork::AllReduce;
        row.update({{"interconnect", m_cluster.nodeLink.bytesPerSecond > 0 ? json("one node") : json()},
                    {"operation", reduce                              ? "allreduce"
                                  : m.what.work == GpuWork::AllGather ? "allgather"
                                                                      : "reduce_scatter"},
                    {"ranks", m_gpus},
                    {"nodes", 1},
                    {"payload_bytes", m.what.extents[0]},
                    {"time_kind", "one rank, back to back with all ranks; out of place"},
                    {"p10_us", m.low * 1e6},
                    {"median_us", m.median * 1e6},
                    {"p90_us", m.high * 1e6},
                    {"algbw_gb_s", algorithm},
                    {"busbw_gb_s", algorithm * (reduce ? 2 : 1) * (n - 1) / n},
                    {"overlapped", "no"}});
        m_tables["collectives"].push_back(std::move(row));
    }

    void host(const GpuMeasured& m, json row)
    {
        std::string what = "kernel of one element, launched back to back";
        if (m.what.work == GpuWork::RoundTrip)
            what = "launch call of a kernel of one element to its end seen by the host";
        if (m.what.work == GpuWork::GraphLaunch)
            what = "graph of " + std::to_string(static_cast<int>(m.what.extents[0])) +
                   " kernels of one element, launched back to back";
        row.update({{"what", what}, {"median_us", m.median * 1e6}, {"p10_us", m.low * 1e6}, {"p90_us", m.high * 1e6}});
        m_tables["host"].push_back(std::move(row));
    }

    int m_gpus;
    const ClusterSpec& m_cluster;
    double m_peak;
    json m_tables = json::object();
};

} // namespace

nlohmann::json rateTables(const GpuCalibration& calibration, const ClusterSpec& cluster)
{
    return Rows(calibration, cluster).take();
}

} // namespace fourwalls::calibrate
