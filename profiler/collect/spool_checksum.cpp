// SPDX-License-Identifier: Apache-2.0
// CRC-32C by the processor's instruction, or eight bytes at a time by tables ("slicing by 8": table k holds the check of
// a byte that k bytes follow).
#include "profiler/collect/spool_checksum.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace fourwalls::collect {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78; // Castagnoli, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables makeTables()
{
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t check = byte;
        for (int bit = 0; bit < 8; ++bit) check = (check >> 1) ^ ((check & 1) != 0 ? kPolynomial : 0);
        tables[0][byte] = check;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

constexpr Tables kTables = makeTables();

std::uint64_t load8(const unsigned char* from)
{
    std::uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

#if defined(__x86_64__)
#define FOURWALLS_CRC_TARGET __attribute__((target("sse4.2")))
FOURWALLS_CRC_TARGET std::uint32_t next8(std::uint32_t check, std::uint64_t word)
{
    return static_cast<std::uint32_t>(__builtin_ia32_crc32di(check, word));
}
FOURWALLS_CRC_TARGET std::uint32_t next1(std::uint32_t check, unsigned char byte)
{
    return __builtin_ia32_crc32qi(check, byte);
}
bool hasInstruction()
{
    return __builtin_cpu_supports("sse4.2") != 0; // a look at a table that is filled when the program starts
}
#elif defined(__aarch64__)
#define FOURWALLS_CRC_TARGET __attribute__((target("+crc")))
FOURWALLS_CRC_TARGET std::uint32_t next8(std::uint32_t check, std::uint64_t word)
{
    return __crc32cd(check, word);
}
FOURWALLS_CRC_TARGET std::uint32_t next1(std::uint32_t check, unsigned char byte)
{
    return __crc32cb(check, byte);
}
bool hasInstruction()
{
    constexpr unsigned long kCrc32 = 1ul << 7; // HWCAP_CRC32 of asm/hwcap.h
    return (getauxval(AT_HWCAP) & kCrc32) != 0;
}
#endif

#if defined(FOURWALLS_CRC_TARGET)
FOURWALLS_CRC_TARGET std::uint32_t byInstruction(std::uint32_t seed, const void* bytes, std::size_t size)
{
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint32_t check = ~seed;
    for (; size >= 8; at += 8, size -= 8) check = next8(check, load8(at));
    for (; size > 0; ++at, --size) check = next1(check, *at);
    return ~check;
}
#endif

} // namespace

std::uint32_t crc32cByTable(std::uint32_t seed, const void* bytes, std::size_t size)
{
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint32_t check = ~seed;
    for (; size >= 8; at += 8, size -= 8) {
        const std::uint64_t word = load8(at) ^ check;
        check = 0;
        for (std::size_t k = 0; k < 8; ++k) check ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
    }
    for (; size > 0; ++at, --size) check = (check >> 8) ^ kTables[0][(check ^ *at) & 0xff];
    return ~check;
}

std::uint32_t crc32c(std::uint32_t seed, const void* bytes, std::size_t size)
{
#if defined(FOURWALLS_CRC_TARGET)
    if (hasInstruction()) return byInstruction(seed, bytes, size);
#endif
    return crc32cByTable(seed, bytes, size);
}

} // namespace fourwalls::collect
