// SPDX-License-Identifier: Apache-2.0
// Rows are worked out on one thread and put on another: a finish does nearly as much of the one as of the other.
#pragma once

#include "model/base/block_queue.h"
#include "model/store/row_output.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fourwalls::store {

/// Passes rows on, in their order, on a thread of its own. The output behind it is that thread's until finish().
class OutputThread final : public RowOutput {
public:
    explicit OutputThread(RowOutput& to);
    ~OutputThread() override { end(); }
    OutputThread(const OutputThread&) = delete;
    OutputThread& operator=(const OutputThread&) = delete;

    void row(Table table, std::span<const Value> values) override;
    /// What the output behind it had met when it took the last block of rows.
    Status status() const override;
    Status finish() override;

private:
    struct Row {
        Table table;
        std::size_t values;
    };
    /// Rows on their way.
    struct Block {
        std::vector<Row> rows;
        std::vector<Value> values; ///< as many as may be; `used` of them are rows'
        std::size_t used = 0;
        std::string bytes; ///< of texts and blobs, one behind the other
    };
    void run();
    void pass(Block& block);
    void end();

    RowOutput& m_to;
    BlockQueue<Block> m_blocks;
    Block m_block; ///< the caller's
    mutable std::mutex m_mutex;
    Status m_status;      ///< guarded by it
    Status m_outOfMemory; ///< made while there is memory
    std::thread m_thread; ///< uses everything above
};

} // namespace fourwalls::store
