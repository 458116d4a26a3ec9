// SPDX-License-Identifier: Apache-2.0
// See memory_page.h. The page's template: torch/cuda/_memory_viz.py of PyTorch.
#include "model/import/common/memory_page.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

namespace {

/// The six bits that a character stands for; -1: none.
int bitsOf(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

class DecodedPage final : public ByteSource {
public:
    explicit DecodedPage(std::unique_ptr<ByteSource> text) : m_text(std::move(text)), m_buffer(std::size_t{1} << 16) {}

    Result<std::size_t> read(char* to, std::size_t size) override
    {
        std::size_t done = 0;
        while (done < size && !m_ended) {
            if (m_next == m_filled) {
                FOURWALLS_TRY_ASSIGN(m_filled, m_text->read(m_buffer.data(), m_buffer.size()));
                m_next = 0;
                if (m_filled == 0) end("the page ends within its snapshot");
                continue;
            }
            const char c = m_buffer[m_next++];
            const int bits = bitsOf(c);
            if (c == '"') {
                end("");
            } else if (bits >= 0) {
                m_bits = m_bits << 6 | static_cast<std::uint32_t>(bits);
                m_count += 6;
                if (m_count < 8) continue;
                m_count -= 8;
                to[done++] = static_cast<char>(m_bits >> m_count & 0xff);
            } else if (c != '=') {
                end("the snapshot in the page has other characters than those of base 64");
            }
        }
        return done;
    }
    std::int64_t position() const override { return m_text->position(); }
    std::string damage() const override { return m_damage.empty() ? m_text->damage() : m_damage; }

private:
    void end(const char* damage)
    {
        m_ended = true;
        m_damage = damage;
    }

    std::unique_ptr<ByteSource> m_text;
    std::vector<char> m_buffer;
    std::size_t m_next = 0, m_filled = 0;
    std::uint32_t m_bits = 0; ///< the last m_count of them belong to the next byte
    int m_count = 0;
    bool m_ended = false;
    std::string m_damage;
};

} // namespace

std::optional<std::size_t> snapshotInPage(std::string_view beginning)
{
    constexpr std::string_view kKey = "\"base64\"";
    const std::size_t viewer = beginning.find("MemoryViz.js");
    const std::size_t key = viewer == beginning.npos ? viewer : beginning.find(kKey, viewer);
    if (key == beginning.npos) return std::nullopt;
    const std::size_t colon = beginning.find_first_not_of(" \t\r\n", key + kKey.size());
    if (colon == beginning.npos || beginning[colon] != ':') return std::nullopt;
    const std::size_t quote = beginning.find_first_not_of(" \t\r\n", colon + 1);
    if (quote == beginning.npos || beginning[quote] != '"') return std::nullopt;
    return quote + 1;
}

std::unique_ptr<ByteSource> decodedPage(std::unique_ptr<ByteSource> text)
{
    return std::make_unique<DecodedPage>(std::move(text));
}

} // namespace fourwalls::importers
