// SPDX-License-Identifier: Apache-2.0
// See document_draws.h.
#include "model/cost/document_draws.h"

#include "model/base/random.h"

#include <algorithm>
#include <numeric>

namespace fourwalls::cost {

void DocumentDraws::draw(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed)
{
    if (lengths == m_lengths && tokens == m_tokens && seed == m_seed) return;
    m_lengths = lengths;
    m_tokens = tokens;
    m_seed = seed;
    m_works.clear();
    m_passes.clear();
    m_attended = 0;
    if (lengths.empty()) return;
    const std::vector<double> keys = attendedKeys(lengths, tokens, seed);
    m_attended = std::accumulate(keys.begin(), keys.end(), 0.0) / static_cast<double>(keys.size());
    m_works.reserve(keys.size());
    for (const double each : keys) m_works.push_back(static_cast<float>(each / m_attended));
}

double DocumentDraws::drawnPasses(const Shape& shape) const
{
    const auto [replicas, microbatches, stages, samples, meetEachPass] = shape;
    constexpr double kMostDrawn = 1 << 18;
    constexpr std::int64_t kFewest = 4, kMost = 4096;
    const double sequences = static_cast<double>(replicas) * microbatches * static_cast<double>(samples);
    const std::int64_t steps =
        std::clamp(static_cast<std::int64_t>(kMostDrawn / std::min(sequences, kMostDrawn)), kFewest, kMost);
    const RandomStream random = RandomStream::named(m_seed, "drawn steps");
    std::uint64_t drawn = 0;
    const auto microbatch = [&] {
        double sum = 0;
        for (std::int64_t i = 0; i < samples; ++i) sum += m_works[random.below(drawn++, m_works.size())];
        return sum / static_cast<double>(samples);
    };
    std::vector<double> slowest(meetEachPass ? static_cast<std::size_t>(microbatches) : 0);
    const double behind = stages - 1;
    double excess = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        std::fill(slowest.begin(), slowest.end(), 0.0);
        double longest = 0, all = 0;
        for (int replica = 0; replica < replicas; ++replica) {
            double sum = 0, most = 0;
            for (int m = 0; m < microbatches; ++m) {
                const double work = microbatch();
                sum += work;
                most = std::max(most, work);
                if (meetEachPass)
                    slowest[static_cast<std::size_t>(m)] = std::max(slowest[static_cast<std::size_t>(m)], work);
            }
            all += sum;
            longest = std::max(longest, sum + behind * most);
        }
        if (meetEachPass)
            longest = std::accumulate(slowest.begin(), slowest.end(), 0.0) +
                      behind * *std::max_element(slowest.begin(), slowest.end());
        // Against the mean of what was drawn here, which is not quite 1.
        const double mean = all / replicas / microbatches;
        excess += longest - mean * (microbatches + behind);
    }
    return std::max(0.0, excess / static_cast<double>(steps));
}

double DocumentDraws::unevenPasses(const ParallelPlan& plan, std::int64_t samples, bool meetEachPass)
{
    if (m_works.size() < 2) return 0; // all sequences are the same
    const Shape shape{plan.dp, plan.microbatches, plan.pp, std::max<std::int64_t>(1, samples), meetEachPass};
    const auto found = m_passes.find(shape);
    if (found != m_passes.end()) return found->second;
    return m_passes[shape] = drawnPasses(shape);
}

} // namespace fourwalls::cost
