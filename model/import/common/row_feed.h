// SPDX-License-Identifier: Apache-2.0
// Rows from the thread that reads a file to the one that works with them: either takes about as long as the other.
#pragma once

#include "model/base/block_queue.h"
#include "model/import/common/profile_rows.h"

#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace fourwalls::importers {

class RowFeed {
public:
    /// Calls read(feed) on a thread of its own and visitor.row() here, with the rows that it adds, in their order.
    /// Returns what read returned, or that there is no memory; what visitor throws ends the reading.
    static Status pass(ProfileVisitor& visitor, const std::function<Status(RowFeed&)>& read);

    /// Lane and detail are copied; everything else that a row refers to has to stay until pass() returns.
    void add(const ProfileRow& row);
    /// Nobody takes rows any more.
    bool unwanted() { return m_blocks.isRefused(); }

    ~RowFeed() { end(); }
    RowFeed(const RowFeed&) = delete;
    RowFeed& operator=(const RowFeed&) = delete;

private:
    struct Block {
        std::vector<ProfileRow> rows;
        std::vector<char> texts; ///< `used` of them
        std::size_t used = 0;
        std::string_view lane; ///< the last one, in texts
    };
    RowFeed();
    void run(const std::function<Status(RowFeed&)>& read);
    std::string_view copied(std::string_view text);
    void end();

    BlockQueue<Block> m_blocks;
    Block m_block;        ///< of the reading thread
    Status m_status;      ///< the reading thread's, until it ends the blocks
    Status m_outOfMemory; ///< made while there is memory
    std::thread m_thread; ///< uses everything above
};

} // namespace fourwalls::importers
