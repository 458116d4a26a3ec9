// SPDX-License-Identifier: Apache-2.0
// See gzip_member.h.
#include "model/import/common/gzip_member.h"

#include <algorithm>
#include <cstdint>

#if defined(FOURWALLS_GZIP_BY_ZLIB)
#include <zlib.h>

#include <new>
#include <string_view>
#else
#include <isa-l/igzip_lib.h>
#endif

namespace fourwalls::importers {

namespace {

// The libraries count in 32 bits.
std::uint32_t countOf(std::span<char> bytes)
{
    return static_cast<std::uint32_t>(std::min(bytes.size(), std::size_t{1} << 30));
}

std::uint8_t* octetsOf(std::span<char> bytes)
{
    return reinterpret_cast<std::uint8_t*>(bytes.data());
}

} // namespace

#if defined(FOURWALLS_GZIP_BY_ZLIB)

struct GzipMember::State {
    z_stream stream{};
};

GzipMember::GzipMember() : m_state(std::make_unique<State>())
{
    constexpr int kGzipWithLargestWindow = 16 + MAX_WBITS;
    if (inflateInit2(&m_state->stream, kGzipWithLargestWindow) != Z_OK)
        throw std::bad_alloc(); // it fails for nothing else
}

GzipMember::~GzipMember()
{
    inflateEnd(&m_state->stream);
}

void GzipMember::restart()
{
    inflateReset(&m_state->stream);
}

GzipMember::Outcome GzipMember::unpack(std::span<char>& in, std::span<char>& out)
{
    z_stream& stream = m_state->stream;
    const std::uint32_t given = countOf(in), asked = countOf(out);
    stream.next_in = octetsOf(in);
    stream.avail_in = given;
    stream.next_out = octetsOf(out);
    stream.avail_out = asked;
    const int code = inflate(&stream, Z_NO_FLUSH);
    in = in.subspan(given - stream.avail_in);
    out = out.subspan(asked - stream.avail_out);
    if (code == Z_OK || code == Z_BUF_ERROR) return Outcome::More;
    if (code == Z_STREAM_END) return Outcome::Ended;
    // zlib tells a wrong checksum from other damage by its text alone.
    const bool checksum = stream.msg != nullptr && std::string_view(stream.msg) == "incorrect data check";
    return checksum ? Outcome::ChecksumWrong : Outcome::Damaged;
}

#else

struct GzipMember::State {
    inflate_state stream{};
};

GzipMember::GzipMember() : m_state(std::make_unique<State>())
{
    restart();
}

GzipMember::~GzipMember() = default;

void GzipMember::restart()
{
    isal_inflate_init(&m_state->stream);
    m_state->stream.crc_flag = ISAL_GZIP;
}

GzipMember::Outcome GzipMember::unpack(std::span<char>& in, std::span<char>& out)
{
    inflate_state& stream = m_state->stream;
    const std::uint32_t given = countOf(in), asked = countOf(out);
    stream.next_in = octetsOf(in);
    stream.avail_in = given;
    stream.next_out = octetsOf(out);
    stream.avail_out = asked;
    const int code = isal_inflate(&stream);
    in = in.subspan(given - stream.avail_in);
    out = out.subspan(asked - stream.avail_out);
    if (code == ISAL_INCORRECT_CHECKSUM) return Outcome::ChecksumWrong;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT) return Outcome::Damaged;
    return stream.block_state == ISAL_BLOCK_FINISH ? Outcome::Ended : Outcome::More;
}

#endif

} // namespace fourwalls::importers
