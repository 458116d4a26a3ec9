// SPDX-License-Identifier: Apache-2.0
// Texts to string ids. Kernel names come as pointers that mostly repeat: a small table by address is asked first, and
// believed only if the text there is still the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

class StringTable {
public:
    StringTable() = default;
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;
    ~StringTable();

    struct Found {
        std::uint32_t id = 0; ///< 0: no room for another text
        bool added = false;   ///< its definition has to be written
    };

    /// The id of `length` bytes of text.
    Found find(const char* text, std::size_t length);
    /// The id of a zero-terminated text, asked for by its address first.
    Found findByAddress(const char* text);
    /// Takes back the last text added: its definition could not be written.
    void forgetLast();

    std::uint32_t count() const { return m_count; }

private:
    struct Entry {
        std::uint32_t check = 0;
        std::uint32_t id = 0; ///< 0: empty
        std::uint32_t length = 0;
        char* text = nullptr;
    };
    struct Address {
        const char* text = nullptr;
        const char* copy = nullptr;
        std::uint32_t id = 0;
    };
    static constexpr std::size_t kAddresses = 4096;
    static constexpr std::uint64_t kMostBytes = 64ULL << 20; ///< of all texts
    static constexpr std::uint32_t kMostTexts = 1U << 20;

    bool grow();
    Entry* slotOf(std::uint32_t check, const char* text, std::size_t length);

    Entry* m_entries = nullptr;
    std::size_t m_capacity = 0; // a power of two
    std::uint32_t m_count = 0;
    std::uint64_t m_bytes = 0;
    Entry* m_last = nullptr;
    Address m_addresses[kAddresses];
};

} // namespace fourwalls::collect::module
