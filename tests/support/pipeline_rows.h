// SPDX-License-Identifier: Apache-2.0
// Test rows of pipelines: every schedule, with as many chunks as it wants, at some sizes.
#pragma once

#include <QtTest>

#include "model/spec/pipeline_schedule.h"

#include <initializer_list>
#include <tuple>
#include <utility>

namespace fourwalls::test {

/// What a row says of its pipeline; pipelineOfRow reads it.
inline void addPipelineColumns()
{
    QTest::addColumn<int>("schedule");
    QTest::addColumn<int>("chunks");
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("microbatches");
}

/// sizes: stages and micro-batches.
inline void addPipelineRows(std::initializer_list<std::pair<int, int>> sizes)
{
    addPipelineColumns();
    const std::tuple<const char*, PipelineSchedule, int> kinds[] = {
        {"naive", PipelineSchedule::Naive, 1},     {"gpipe", PipelineSchedule::GPipe, 1},
        {"1f1b", PipelineSchedule::OneFOneB, 1},   {"interleaved", PipelineSchedule::Interleaved, 3},
        {"zb", PipelineSchedule::ZeroBubbleH1, 1}, {"zb2p", PipelineSchedule::ZeroBubble2p, 1},
        {"zbv", PipelineSchedule::ZeroBubbleV, 2}};
    for (const auto& [word, schedule, chunks] : kinds)
        for (const auto& [stages, microbatches] : sizes)
            QTest::addRow("%s %dx%d", word, stages, microbatches)
                << static_cast<int>(schedule) << chunks << stages << microbatches;
}

inline PipelineShape pipelineOfRow()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    return {static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches};
}

} // namespace fourwalls::test
