// SPDX-License-Identifier: Apache-2.0
// From the words of a queue to the rows of a batch. Records that can never be part of a trace are counted and left
// out here; what depends on definitions is left to finishing.
#pragma once

#include "model/store/record_words.h"
#include "model/store/recording.h"

#include <cstdint>
#include <functional>
#include <string>

namespace fourwalls::store {

class RecordIntake {
public:
    /// textOf: the string of an interned id.
    RecordIntake(Batch& batch, std::function<std::string(std::int64_t)> textOf)
        : m_batch(batch)
        , m_textOf(std::move(textOf))
    {}

    /// Takes the record that `head` begins.
    void take(const WordHead& head, WordQueue::Reader& in);
    std::int64_t invalidRecords() const { return m_invalid; }

private:
    void takeSlice(const WordHead& head, WordQueue::Reader& in);
    void takeAllocation(const WordHead& head, WordQueue::Reader& in);
    void takeFree(const WordHead& head, WordQueue::Reader& in);
    void takeCounter(const WordHead& head, WordQueue::Reader& in);
    void takeCollective(const WordHead& head, WordQueue::Reader& in);
    void takeFlow(const WordHead& head, WordQueue::Reader& in);
    void takeStep(const WordHead& head, WordQueue::Reader& in);
    void takeEvent(const WordHead& head, WordQueue::Reader& in);
    bool keepSpan(std::int64_t start, std::int64_t duration);
    bool keepTime(std::int64_t at);

    Batch& m_batch;
    std::function<std::string(std::int64_t)> m_textOf;
    std::int64_t m_invalid = 0;
};

} // namespace fourwalls::store
