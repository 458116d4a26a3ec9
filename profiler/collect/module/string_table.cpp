// SPDX-License-Identifier: Apache-2.0
// Open addressing by the text's check; texts are copied once.
#include "profiler/collect/module/string_table.h"

#include "profiler/collect/spool_checksum.h"

#include <cstdlib>
#include <cstring>

namespace fourwalls::collect::module {

StringTable::~StringTable()
{
    for (std::size_t i = 0; i < m_capacity; ++i) std::free(m_entries[i].text);
    std::free(m_entries);
}

StringTable::Entry* StringTable::slotOf(std::uint32_t check, const char* text, std::size_t length)
{
    for (std::size_t at = check;; ++at) {
        Entry& entry = m_entries[at & (m_capacity - 1)];
        if (entry.id == 0) return &entry;
        if (entry.check == check && entry.length == length && std::memcmp(entry.text, text, length) == 0) return &entry;
    }
}

bool StringTable::grow()
{
    Entry* const old = m_entries;
    const std::size_t oldCapacity = m_capacity;
    const std::size_t capacity = oldCapacity == 0 ? 4096 : oldCapacity * 2;
    auto* entries = static_cast<Entry*>(std::calloc(capacity, sizeof(Entry)));
    if (entries == nullptr) return false;
    m_entries = entries;
    m_capacity = capacity;
    for (std::size_t i = 0; i < oldCapacity; ++i) {
        if (old[i].id != 0) *slotOf(old[i].check, old[i].text, old[i].length) = old[i];
    }
    std::free(old);
    return true;
}

StringTable::Found StringTable::find(const char* text, std::size_t length)
{
    if (length == 0) return {};
    if (m_count + 1 > m_capacity / 2 && !grow() && m_count + 1 >= m_capacity) return {};
    const std::uint32_t check = crc32c(0, text, length);
    Entry* const entry = slotOf(check, text, length);
    if (entry->id != 0) return {entry->id, false};
    if (m_count == kMostTexts || m_bytes + length > kMostBytes) return {};
    auto* copy = static_cast<char*>(std::malloc(length + 1));
    if (copy == nullptr) return {};
    std::memcpy(copy, text, length);
    copy[length] = '\0';
    *entry = {check, ++m_count, static_cast<std::uint32_t>(length), copy};
    m_bytes += length;
    m_last = entry;
    return {m_count, true};
}

StringTable::Found StringTable::findByAddress(const char* text)
{
    if (text == nullptr) return {};
    // Addresses of texts differ in their low bits; a multiplication spreads them.
    const auto key = static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15ULL) >> 52);
    Address& address = m_addresses[key % kAddresses];
    if (address.text == text && std::strcmp(address.copy, text) == 0) return {address.id, false};
    std::size_t length = std::strlen(text);
    const Found found = find(text, length);
    if (found.id != 0) {
        address = {text, slotOf(crc32c(0, text, length), text, length)->text, found.id};
    }
    return found;
}

void StringTable::forgetLast()
{
    if (m_last == nullptr) return;
    for (Address& address : m_addresses) {
        if (address.id == m_last->id) address = {};
    }
    // The slot stays taken under an id that nobody is given again: a text of this check and no length is never asked for.
    m_last->length = 0;
    m_last = nullptr;
}

} // namespace fourwalls::collect::module
