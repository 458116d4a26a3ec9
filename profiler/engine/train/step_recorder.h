// SPDX-License-Identifier: Apache-2.0
// What a rank records about a step that is over: its StepRecord, the counters of the whole run, and losses that are no
// numbers any more.
#pragma once

#include "model/spec/training_settings.h"
#include "profiler/engine/core/recorder.h"
#include "profiler/engine/core/run_options.h"

namespace fourwalls::engine {

class StepRecorder {
public:
    /// samples: what one sample is called ("images"), where the samples have no tokens. recorder: outlives this.
    StepRecorder(Recorder& recorder, const TrainingSettings& training, const char* samples);

    void record(const StepProgress& progress, Instant start, Instant end);

private:
    Recorder& m_recorder;
    std::int64_t m_samples = 0, m_tokens = 0; // per step
    CounterId m_loss, m_rate, m_norm, m_throughput;
};

} // namespace fourwalls::engine
