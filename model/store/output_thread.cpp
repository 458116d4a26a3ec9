// SPDX-License-Identifier: Apache-2.0
// Blocks of rows from hand to hand.
#include "model/store/output_thread.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace fourwalls::store {
namespace {

/// Of one block. A few blocks at most are on their way, so that memory stays small.
constexpr std::size_t kBlockValues = 8192, kBlockBytes = std::size_t{256} << 10, kMostWaiting = 4;
constexpr std::size_t kMostColumns = 64; ///< of a row, mostly: more make a block larger

} // namespace

OutputThread::OutputThread(RowOutput& to)
    : m_to(to)
    , m_blocks(kMostWaiting)
    , m_outOfMemory(Error{ErrorCode::Io, "out of memory", "", "end other programs"})
    , m_thread([this] { run(); })
{}

void OutputThread::row(Table table, std::span<const Value> values)
{
    m_block.rows.push_back({table, values.size()});
    if (m_block.values.size() < m_block.used + values.size())
        m_block.values.resize(std::max(kBlockValues, m_block.used + values.size()));
    std::copy(values.begin(), values.end(), m_block.values.begin() + static_cast<std::ptrdiff_t>(m_block.used));
    m_block.used += values.size();
    for (const Value& value : values)
        if (value.isBytes()) m_block.bytes += value.bytes();
    if (m_block.used + kMostColumns > kBlockValues || m_block.bytes.size() >= kBlockBytes)
        m_block = m_blocks.handOver(std::move(m_block));
}

void OutputThread::run()
{
    while (std::optional<Block> block = m_blocks.take()) {
        const bool failed = !this->status().ok(); // then rows are dropped, so that nobody waits
        Status status;
        try {
            if (!failed) pass(*block);
            status = m_to.status();
        } catch (const std::bad_alloc&) {
            status = std::move(m_outOfMemory); // a copy would need memory
        }
        block->rows.clear();
        block->used = 0;
        block->bytes.clear();
        m_blocks.giveBack(std::move(*block));
        const std::lock_guard lock(m_mutex);
        if (m_status.ok()) m_status = std::move(status);
    }
}

void OutputThread::pass(Block& block)
{
    std::span<Value> rest(block.values.data(), block.used);
    const char* bytes = block.bytes.data();
    for (const Row& row : block.rows) {
        const std::span<Value> values = rest.first(row.values);
        for (Value& value : values) {
            if (!value.isBytes()) continue;
            value.data = bytes;
            bytes += value.size;
        }
        m_to.row(row.table, values);
        rest = rest.subspan(row.values);
    }
}

Status OutputThread::status() const
{
    const std::lock_guard lock(m_mutex);
    return m_status;
}

void OutputThread::end()
{
    if (!m_thread.joinable()) return;
    m_blocks.end();
    m_thread.join();
}

Status OutputThread::finish()
{
    m_block = m_blocks.handOver(std::move(m_block));
    end();
    return m_status.ok() ? m_to.finish() : m_status;
}

} // namespace fourwalls::store
