// SPDX-License-Identifier: Apache-2.0
// Blocks of work from the thread that fills them to the one that empties them and gives them back to be filled again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace fourwalls {

/// One thread fills, one takes. At most `most` full blocks wait, so that memory does not depend on how many there are.
template <class Block>
class BlockQueue {
public:
    explicit BlockQueue(std::size_t most) : m_most(most)
    {
        m_empty.reserve(most + 1); // giving back asks for no memory
    }
    BlockQueue(const BlockQueue&) = delete;
    BlockQueue& operator=(const BlockQueue&) = delete;

    /// Hands a full block over, waiting while as many wait as may, and returns one to fill: one that was given back, or a
    /// new one. After refuse() the block is dropped.
    Block handOver(Block full)
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_refused || m_waiting.size() < m_most; });
        if (!m_refused) m_waiting.push_back(std::move(full));
        Block next{};
        if (!m_empty.empty()) {
            next = std::move(m_empty.back());
            m_empty.pop_back();
        }
        lock.unlock();
        m_changed.notify_all();
        return next;
    }
    /// No block comes any more.
    void end()
    {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
        m_changed.notify_all();
    }
    /// Whether nobody takes blocks any more.
    bool isRefused()
    {
        const std::lock_guard lock(m_mutex);
        return m_refused;
    }

    /// The next full block; absent behind the last one.
    std::optional<Block> take()
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_ended || !m_waiting.empty(); });
        if (m_waiting.empty()) return std::nullopt;
        std::optional<Block> block(std::move(m_waiting.front()));
        m_waiting.pop_front();
        lock.unlock();
        m_changed.notify_all();
        return block;
    }
    void giveBack(Block empty)
    {
        const std::lock_guard lock(m_mutex);
        if (m_empty.size() <= m_most) m_empty.push_back(std::move(empty)); // all but the one that is filled
    }
    /// No block is taken any more: whoever fills waits no longer.
    void refuse()
    {
        const std::lock_guard lock(m_mutex);
        m_refused = true;
        m_changed.notify_all();
    }

private:
    const std::size_t m_most;
    std::mutex m_mutex; ///< guards everything below
    std::condition_variable m_changed;
    std::deque<Block> m_waiting;
    std::vector<Block> m_empty;
    bool m_ended = false, m_refused = false;
};

} // namespace fourwalls
