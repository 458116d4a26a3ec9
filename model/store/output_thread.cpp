// SPDX-License-Identifier: Apache-2.0
// Blocks of rows from hand to hand.
#include "model/store/output_thread.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fourwalls::store {
namespace {

/// Of one block. A few blocks at most are on their way, so that memory stays small.
constexpr std::size_t kBlockValues = 8192, kBlockBytes = std::size_t{256} << 10, kMostWaiting = 4;
constexpr std::size_t kMostColumns = 64; ///< of a row, mostly: more make a block larger

} // namespace

OutputThread::OutputThread(RowOutput& to)
    : m_to(to)
    , m_outOfMemory(Error{ErrorCode::Io, "out of memory", "", "end other programs"})
{
    m_empty.reserve(kMostWaiting); // the thread asks for no memory of its own
    m_thread = std::thread([this] { run(); });
}

void OutputThread::row(Table table, std::span<const Value> values)
{
    m_block.rows.push_back({table, values.size()});
    if (m_block.values.size() < m_block.used + values.size())
        m_block.values.resize(std::max(kBlockValues, m_block.used + values.size()));
    std::copy(values.begin(), values.end(), m_block.values.begin() + static_cast<std::ptrdiff_t>(m_block.used));
    m_block.used += values.size();
    for (const Value& value : values)
        if (value.isBytes()) m_block.bytes += value.bytes();
    if (m_block.used + kMostColumns > kBlockValues || m_block.bytes.size() >= kBlockBytes) handOver();
}

void OutputThread::handOver()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_waiting.size() < kMostWaiting; });
    m_waiting.push_back(std::move(m_block));
    m_block = {};
    if (!m_empty.empty()) {
        m_block = std::move(m_empty.back());
        m_empty.pop_back();
    }
    m_changed.notify_all();
}

void OutputThread::run()
{
    std::unique_lock lock(m_mutex);
    while (true) {
        m_changed.wait(lock, [this] { return m_ended || !m_waiting.empty(); });
        if (m_waiting.empty()) return;
        Block block = std::move(m_waiting.front());
        m_waiting.pop_front();
        m_changed.notify_all();
        const bool failed = !m_status.ok(); // then rows are dropped, so that nobody waits
        lock.unlock();
        Status status;
        try {
            if (!failed) pass(block);
            status = m_to.status();
        } catch (const std::bad_alloc&) {
            status = std::move(m_outOfMemory); // a copy would need memory
        }
        block.rows.clear();
        block.used = 0;
        block.bytes.clear();
        lock.lock();
        if (m_status.ok()) m_status = std::move(status);
        if (m_empty.size() < kMostWaiting) m_empty.push_back(std::move(block));
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
    {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

Status OutputThread::finish()
{
    handOver();
    end();
    return m_status.ok() ? m_to.finish() : m_status;
}

} // namespace fourwalls::store
