// SPDX-License-Identifier: Apache-2.0
// Blocks of rows from hand to hand.
#include "model/import/common/row_feed.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fourwalls::importers {

namespace {

/// Of one block. A few blocks at most are on their way, so that memory stays small.
constexpr std::size_t kRowsOfFeedBlock = 512, kTextsOfFeedBlock = std::size_t{64} << 10, kMostRowBlocks = 4;

} // namespace

RowFeed::RowFeed() : m_outOfMemory(Error{ErrorCode::Io, "out of memory", "", "end other programs"}) {}

Status RowFeed::pass(ProfileVisitor& visitor, const std::function<Status(RowFeed&)>& read)
{
    RowFeed feed;
    feed.m_empty.reserve(kMostRowBlocks);
    feed.m_thread = std::thread([&feed, &read] { feed.run(read); });
    std::unique_lock lock(feed.m_mutex);
    while (true) {
        feed.m_changed.wait(lock, [&feed] { return feed.m_ended || !feed.m_waiting.empty(); });
        if (feed.m_waiting.empty()) return std::move(feed.m_status);
        Block block = std::move(feed.m_waiting.front());
        feed.m_waiting.pop_front();
        feed.m_changed.notify_all();
        lock.unlock();
        for (const ProfileRow& row : block.rows) visitor.row(row);
        block.rows.clear();
        block.used = 0;
        block.lane = {};
        lock.lock();
        if (feed.m_empty.size() < kMostRowBlocks) feed.m_empty.push_back(std::move(block));
    }
}

void RowFeed::add(const ProfileRow& row)
{
    const std::size_t bytes = row.lane.size() + row.detail.size();
    if (m_block.rows.size() >= kRowsOfFeedBlock || (m_block.used > 0 && m_block.used + bytes > m_block.texts.size()))
        handOver();
    if (m_block.rows.capacity() == 0) m_block.rows.reserve(kRowsOfFeedBlock);
    // Only while there are no texts in it: rows refer to their places.
    if (m_block.texts.size() < bytes) m_block.texts.resize(std::max(kTextsOfFeedBlock, bytes));
    if (m_block.lane.empty() || m_block.lane != row.lane) m_block.lane = copied(row.lane);
    ProfileRow& own = m_block.rows.emplace_back(row);
    own.lane = m_block.lane;
    own.detail = copied(row.detail);
}

std::string_view RowFeed::copied(std::string_view text)
{
    if (text.empty()) return {};
    char* const to = m_block.texts.data() + m_block.used;
    std::copy(text.begin(), text.end(), to);
    m_block.used += text.size();
    return {to, text.size()};
}

void RowFeed::handOver()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_unwanted || m_waiting.size() < kMostRowBlocks; });
    if (!m_unwanted) m_waiting.push_back(std::move(m_block));
    m_block = {};
    if (!m_empty.empty()) {
        m_block = std::move(m_empty.back());
        m_empty.pop_back();
    }
    lock.unlock();
    m_changed.notify_all();
}

bool RowFeed::unwanted()
{
    const std::lock_guard lock(m_mutex);
    return m_unwanted;
}

void RowFeed::run(const std::function<Status(RowFeed&)>& read)
{
    Status status;
    try {
        status = read(*this);
        handOver();
    } catch (const std::bad_alloc&) {
        status = std::move(m_outOfMemory); // a copy would need memory
    }
    const std::lock_guard lock(m_mutex);
    m_status = std::move(status);
    m_ended = true;
    m_changed.notify_all();
}

void RowFeed::end()
{
    if (!m_thread.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_unwanted = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

} // namespace fourwalls::importers
