// SPDX-License-Identifier: Apache-2.0
// See step_recorder.h.
#include "profiler/engine/train/step_recorder.h"

#include <cmath>
#include <string>

namespace fourwalls::engine {

StepRecorder::StepRecorder(Recorder& recorder, const TrainingSettings& training, const char* samples)
    : m_recorder(recorder)
    , m_samples(training.batch)
    , m_tokens(training.batch * training.sequence)
    , m_loss(recorder.defineCounter("loss", CounterUnit::None, false))
    , m_rate(recorder.defineCounter("lr", CounterUnit::None, false))
    , m_norm(recorder.defineCounter("grad_norm", CounterUnit::None, false))
    , m_throughput(recorder.defineCounter(((m_tokens > 0 ? "tokens" : samples) + std::string("_per_s")).c_str(),
                                          CounterUnit::PerSecond, false))
{}

void StepRecorder::record(const StepProgress& progress, Instant start, Instant end)
{
    Recorder& r = m_recorder;
    const std::int64_t tokens = r.disturbance().tokens().value_or(m_tokens);
    const Instant last{end.ns - 1}; // inside the step: its end is where the next one may begin
    // A run that has diverged goes on, but says so: what is not a number is unknown, not zero.
    const bool sound = std::isfinite(progress.loss) && std::isfinite(progress.gradientNorm);
    if (r.rank().value == 0) { // what all ranks know alike
        if (sound) {
            r.counter(m_loss, last, progress.loss);
            r.counter(m_norm, last, progress.gradientNorm);
        }
        r.counter(m_rate, last, progress.learningRate);
        r.counter(m_throughput, last,
                  static_cast<double>(tokens > 0 ? tokens : m_samples) / progress.duration.seconds());
    }
    StepRecord record;
    record.step = StepIndex{static_cast<std::int32_t>(progress.step)};
    record.range = {start, end};
    if (std::isfinite(progress.loss)) record.loss = progress.loss;
    record.learningRate = progress.learningRate;
    if (std::isfinite(progress.gradientNorm)) record.gradientNorm = progress.gradientNorm;
    record.samples = m_samples;
    record.tokens = tokens;
    if (progress.warmup) record.state = StepState::Warmup;
    r.step(record);
}

} // namespace fourwalls::engine
