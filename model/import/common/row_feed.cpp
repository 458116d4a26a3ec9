// SPDX-License-Identifier: Apache-2.0
// Blocks of rows from hand to hand.
#include "model/import/common/row_feed.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace fourwalls::importers {

namespace {

/// Of one block. A few blocks at most are on their way, so that memory stays small.
constexpr std::size_t kRowsOfFeedBlock = 512, kTextsOfFeedBlock = std::size_t{64} << 10, kMostRowBlocks = 4;

} // namespace

RowFeed::RowFeed()
    : m_blocks(kMostRowBlocks)
    , m_outOfMemory(Error{ErrorCode::Io, "out of memory", "", "end other programs"})
{}

Status RowFeed::pass(ProfileVisitor& visitor, const std::function<Status(RowFeed&)>& read)
{
    RowFeed feed;
    feed.m_thread = std::thread([&feed, &read] { feed.run(read); });
    while (std::optional<Block> block = feed.m_blocks.take()) {
        for (const ProfileRow& row : block->rows) visitor.row(row);
        block->rows.clear();
        block->used = 0;
        block->lane = {};
        feed.m_blocks.giveBack(std::move(*block));
    }
    return std::move(feed.m_status);
}

void RowFeed::add(const ProfileRow& row)
{
    const std::size_t bytes = row.lane.size() + row.detail.size();
    if (m_block.rows.size() >= kRowsOfFeedBlock || (m_block.used > 0 && m_block.used + bytes > m_block.texts.size()))
        m_block = m_blocks.handOver(std::move(m_block));
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

void RowFeed::run(const std::function<Status(RowFeed&)>& read)
{
    try {
        m_status = read(*this);
        m_blocks.handOver(std::move(m_block));
    } catch (const std::bad_alloc&) {
        m_status = std::move(m_outOfMemory); // a copy would need memory
    }
    m_blocks.end();
}

void RowFeed::end()
{
    if (!m_thread.joinable()) return;
    m_blocks.refuse();
    m_thread.join();
}

} // namespace fourwalls::importers
